"""The image of the command line and the webhook for both architectures, built from the Containerfile with buildah.

The base, and the image that Git comes from, are stand-ins: the Containerfile's own can't be pulled here. They are made
of Debian's packages (Python 3.11, pip, CA certificates; Git), and a registry on this machine serves them under the
images' names. So the build shows that the Containerfile works, that nothing in it needs an emulator, and that the
result runs on both architectures. It does not show the base's own Python (3.11.16, built by the Docker project; that of
Debian is 3.11.2), its size, or its digest.
"""
