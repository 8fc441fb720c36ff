"""A cluster of real nodes on this machine."""
