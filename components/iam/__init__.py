"""Roles, their policies, and access for people."""
