"""Which nodes pods would get from a plan's autoscalers, and why."""
