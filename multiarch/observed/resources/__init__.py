"""The resources of a Pulumi program: properties, unknown values, secrets, and node groups as they are declared."""
