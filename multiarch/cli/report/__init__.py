"""``multiarch report``: one page about a stack or its cluster."""
