"""The former name of :mod:`multiarch_eks.ci`."""

from .ci import CiRoles, CiRolesArgs, Environment

__all__ = ["CiRoles", "CiRolesArgs", "Environment"]
