"""The noun ``webhook``."""
