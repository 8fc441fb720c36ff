"""Errors of reading a cluster, each with what to do."""

from __future__ import annotations

import re

from multiarch.errors import MultiarchError, OutsideError
from multiarch.kubernetes.resources import ApiResource

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

    def __init__(self, verb: str, resource: ApiResource, namespace: str | None, name: str | None, said: str) -> None:
        """``said`` is the API server's message, with the name that it knows the caller by."""
        user = _USER.search(said)
        what = f"{resource.plural} {name}" if name else resource.plural
        where = f"in namespace {namespace}" if namespace else "in the whole cluster"
        kind = "a Role there" if namespace else "a ClusterRole"
        names = f', resourceNames: ["{name}"]' if name else ""
        rule = f'{{apiGroups: ["{resource.group}"], resources: ["{resource.plural}"], verbs: ["{verb}"]{names}}}'
        super().__init__(
            f"{user[1] if user else 'The user'} may not {verb} {what} {where}.",
            hint=f"Grant it with this rule in {kind}: {rule}.",
            status=403,
        )
