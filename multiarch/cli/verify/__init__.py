"""``multiarch verify``: what really runs on a cluster's nodes."""
