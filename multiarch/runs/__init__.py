"""What each command gathers and calls."""
