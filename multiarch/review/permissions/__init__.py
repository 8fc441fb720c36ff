"""What a change permits that was not permitted before, and which settings become weaker."""
