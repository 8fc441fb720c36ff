"""Registry credentials: docker's configuration, ECR, Kubernetes' image pull secrets."""
