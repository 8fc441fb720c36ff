"""``multiarch webhook``: the admission webhook that adds the arm64 toleration."""
