"""What writes shipped files."""
