"""A registry on this machine with made-up images, so that the commands that ask registries can be tried."""
