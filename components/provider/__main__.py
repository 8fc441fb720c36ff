"""``python -m multiarch_eks.provider``: serve the components to a Pulumi engine."""

from .host import main

main()
