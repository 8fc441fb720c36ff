"""The admission webhook's objects in a cluster: one source for the component, the manifests and the Helm chart."""
