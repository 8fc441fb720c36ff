"""YAML texts: what kubectl takes their values for, and where everything in them stands."""
