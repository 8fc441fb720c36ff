"""Kubernetes objects out of manifest files and out of a live cluster, as one stream of plain mappings."""
