"""The admission webhook: adds the toleration of arm64 nodes to pods whose images support them."""
