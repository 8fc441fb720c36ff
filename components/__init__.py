"""Pulumi components: they declare what the plan says, by subject, one file per component.

The wheel installs this package as ``multiarch_eks`` (see setup.py), so its modules import one another relatively.
"""
