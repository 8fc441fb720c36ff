"""Images: which architectures one has, by what its index, its manifests and its binaries say."""
