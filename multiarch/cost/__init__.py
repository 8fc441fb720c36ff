"""What nodes cost in a month, by node group, architecture, capacity type and team."""
