"""Previews as the engine writes them, read into steps."""
