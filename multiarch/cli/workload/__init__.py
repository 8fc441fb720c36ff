"""``multiarch workload``: change which nodes pods may use."""
