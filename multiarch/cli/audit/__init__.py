"""``multiarch audit``: what is ready for arm64 nodes."""
