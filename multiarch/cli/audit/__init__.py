"""``multiarch audit``: what runs, or would run, and on which architectures it can."""
