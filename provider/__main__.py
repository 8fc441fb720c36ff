"""The plugin's program: serve the components to the Pulumi engine that starts it."""

from multiarch_eks.provider.host import main

main()
