"""What is known about images, and finding it out: one cache, look-ups, registry clients, pull secrets."""
