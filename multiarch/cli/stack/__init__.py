"""``multiarch stack``: write, check, explain, render and pin stack files."""
