"""``multiarch image``: the platforms of one image, and whether its binaries match them."""
