"""What a preview of the Pulumi engine would change, as a digest that a reviewer can decide from."""
