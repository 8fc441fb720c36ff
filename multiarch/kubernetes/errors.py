"""Errors of reading a cluster, each with what to do."""

from __future__ import annotations

import re

from multiarch.errors import MultiarchError, OutsideError

_USER = re.compile(r'User "([^"]*)"')


class KubeconfigError(MultiarchError):
    """A kubeconfig that does not say how to reach a cluster. The message names the file."""


class ClusterError(OutsideError):
    """A cluster that can't be reached or does not do what was requested. ``status`` is that of HTTP, if it answered."""

    def __init__(self, message: str, *, hint: str = "", status: int | None = None) -> None:
        """Neither message nor hint holds a credential."""
        super().__init__(message, hint=hint)
        self.status = status


class ConflictError(ClusterError):
    """An object that was changed or deleted since it was read."""


class ForbiddenError(ClusterError):
    """Something that RBAC does not allow: ``verb`` on ``resource``; ``namespace`` None is the whole cluster."""

    def __init__(
        self, *, verb: str, resource: str, group: str, namespace: str | None, name: str | None, user: str | None
    ) -> None:
        """``user`` is the name that the API server knows the caller by."""
        what = f"{resource} {name}" if name else resource
        where = f"in namespace {namespace}" if namespace else "in the whole cluster"
        kind = "a Role there" if namespace else "a ClusterRole"
        names = f', resourceNames: ["{name}"]' if name else ""
        rule = f'{{apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{verb}"]{names}}}'
        super().__init__(
            f"{user or 'The user'} may not {verb} {what} {where}.",
            hint=f"Grant it with this rule in {kind}: {rule}.",
            status=403,
        )


def find_user(message: str) -> str | None:
    """Return the name that the API server knows the caller by, from its message about a missing right."""
    found = _USER.search(message)
    return found.group(1) if found else None
