"""``multiarch image``: what an image has for each architecture."""
