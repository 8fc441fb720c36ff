"""What exists, read once."""
