"""What runs in the cluster: its objects and Helm releases, with what each needs in AWS."""
