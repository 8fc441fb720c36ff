"""``multiarch capacity``: what keeps running when something fails."""
