"""What a change does to nodes: which are replaced, at what pace, which pods they take, which versions they have."""
