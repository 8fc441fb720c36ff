"""Moving pods that could run on arm64 off amd64 nodes: which, in which order, and doing it by the eviction API."""
