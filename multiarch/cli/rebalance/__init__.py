"""``multiarch rebalance``: move pods back to arm64 nodes."""
