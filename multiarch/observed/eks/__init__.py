"""An EKS cluster as AWS and its API server describe it, whatever tool made it."""
