"""``multiarch cost``: what stacks and clusters cost in a month."""
