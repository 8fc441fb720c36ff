"""``multiarch review``: what a merge request would change, for the person who decides about it."""
