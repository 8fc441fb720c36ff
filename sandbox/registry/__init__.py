"""A registry on this machine with made-up images, so that the commands that query registries can be tried."""
