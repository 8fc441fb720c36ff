"""The architectures of an image, by its index, its manifests, its config and its binaries."""
