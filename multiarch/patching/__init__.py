"""Changing which nodes a pod may use: transforms, edits of manifests, patches."""
