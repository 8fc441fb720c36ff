"""Kubernetes objects as they are written: values with their place, kinds, pod templates, selectors, quantities."""
