"""Capacity planning: what keeps running when zones, node groups, spot capacity or nodes fail."""
