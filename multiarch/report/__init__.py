"""One self-contained page about a stack or its cluster, for people."""
