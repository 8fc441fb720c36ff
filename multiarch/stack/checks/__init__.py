"""What a stack may not be, beyond its node groups and network: contradictions that are rejected before any AWS call."""
