"""What a pod requires of a node, and whether a node can give it, with the reason."""
