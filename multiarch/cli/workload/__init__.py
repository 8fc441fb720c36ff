"""``multiarch workload``: changing which nodes pods may use."""
