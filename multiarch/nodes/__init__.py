"""A node group's plan: architecture, AMI, labels, taints, user data. Pure functions over facts."""
