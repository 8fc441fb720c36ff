"""``multiarch stack``: from a stack file to what it means."""
