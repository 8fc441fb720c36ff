"""Pulumi components: they declare what the plan says, one file per component."""
