"""Which architecture the image of every running container has, and how that is known."""
