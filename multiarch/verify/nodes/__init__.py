"""Nodes held against their plan: what EC2, Kubernetes and the node itself say, and where they disagree."""
