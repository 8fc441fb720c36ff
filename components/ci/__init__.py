"""Roles that CI assumes without stored credentials, for a program of their own."""

from .permissions import State
from .roles import CiRoles, CiRolesArgs, Environment
from .trust import GitHub, GitLab

__all__ = ["CiRoles", "CiRolesArgs", "Environment", "GitHub", "GitLab", "State"]
