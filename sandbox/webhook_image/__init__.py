"""The webhook's image for both architectures, built from the Containerfile with buildah.

The base is a stand-in: the Containerfile's own can't be pulled here. It is made of Debian's packages (Python 3.11, pip,
CA certificates), and a registry on this machine serves it under the base's name. So the build shows that the
Containerfile works, that nothing in it needs an emulator, and that the result runs on both architectures. It does not
show the base's own Python (3.11.16, built by the Docker project; Debian's is 3.11.2), its size, or its digest.
"""
