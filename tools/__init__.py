"""Pins of the real tools (Go module files) and the script that builds what is missing."""
