"""What a stack declares in AWS: network, control plane, add-ons, node groups, keys and logs."""
