"""Kubernetes objects as written: values with their path, kinds, pod templates, containers, selectors, quantities."""
