"""Mixed amd64 and arm64 (Graviton) node groups in Amazon EKS, from a few lines of YAML per team.

The package is pure Python without Pulumi: facts, plans and checks. ``components/`` declares
what is planned here to the Pulumi engine.
"""

__version__ = "0.1.0"
