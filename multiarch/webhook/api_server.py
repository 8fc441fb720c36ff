"""The API server that the webhook runs under: the two calls that the webhook makes, for pull secrets and Events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from multiarch.kubernetes.access import ClusterAccess
from multiarch.kubernetes.cluster import Cluster, open_cluster
from multiarch.kubernetes.resources import Resource

_EVENTS = Resource("Event", "events.k8s.io", "events")


def _own_cluster() -> Cluster:
    return open_cluster(ClusterAccess())


class ApiServer:
    """A connection to the API server. Use it with ``with``, in one thread at a time."""

    def __init__(self, opened: Callable[[], Cluster] = _own_cluster) -> None:
        """Open the cluster that the webhook runs in, or that of a kubeconfig. Raises MultiarchError without one."""
        self._cluster = opened()

    def __enter__(self) -> Self:
        """Return itself."""
        self._cluster.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self._cluster.__exit__(kind, error, trace)

    def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return a Secret as the API server sends it, or None if it does not exist. Raises MultiarchError."""
        return self._cluster.secret(namespace, name)

    def create_event(self, event: Mapping[str, Any]) -> None:
        """Create an Event. Raises MultiarchError."""
        self._cluster.create(_EVENTS, event["metadata"]["namespace"], event)
