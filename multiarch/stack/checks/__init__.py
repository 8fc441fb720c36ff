"""What a stack may not be, beyond its node groups and network: contradictions that are refused before any AWS call."""
