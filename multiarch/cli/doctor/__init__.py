"""``multiarch doctor``: whether `pulumi up` can run here."""
