"""The stand-in for the kubernetes provider: objects go to a cluster on this machine, or as manifests to a folder."""
