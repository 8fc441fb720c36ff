"""The stand-in for the eks provider: the component ``eks:index:Cluster``, made of the aws stand-in's resources."""
