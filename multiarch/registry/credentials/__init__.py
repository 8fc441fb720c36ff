"""Who to be at which registry: docker's configuration, ECR, Kubernetes' pull secrets."""
