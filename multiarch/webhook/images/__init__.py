"""What is known about images, and finding it out: memory, look-ups, pull secrets, a cache that replicas share."""
