"""The stand-in for the kubernetes provider: server-side apply to a cluster on this machine, or manifests in a folder."""
