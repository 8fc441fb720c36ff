"""``multiarch simulate``: which nodes pods would get."""
