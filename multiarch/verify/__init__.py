"""What runs on a cluster's nodes, and the proof of it."""
