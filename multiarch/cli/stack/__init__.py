"""``multiarch stack``: commands about stack files."""
