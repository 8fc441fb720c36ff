"""Whether `pulumi up` can run here: pure judgement of a plan and of what was read."""
