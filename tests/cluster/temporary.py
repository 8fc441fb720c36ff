"""Objects that are in a cluster as long as a test needs them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for


@contextlib.contextmanager
def applied(kube: Kube, items: Iterable[Object]) -> Iterator[list[Object]]:
    """Apply objects in their order and yield what the API server made of them; at the end those that are new go.

    Raises:
        KubeError: the API server rejects one.
        ClusterError: one of them would not go.
    """
    ours: list[Object] = []
    stored: list[Object] = []
    try:
        for item in items:
            before = find(kube, item)
            stored.append(kube.apply(item))
            if before is None:
                ours.append(item)
        yield stored
    finally:
        remove(kube, ours)


def remove(kube: Kube, items: Sequence[Object]) -> None:
    """Delete objects, the last one first, and wait until they are gone, with all that is in their namespaces."""
    for item in reversed(items):
        kube.delete(item, grace=0)
    wait_for(lambda: not _left(kube, items), "what was applied to go", timeout=60, pause=0.2)


def _left(kube: Kube, items: Sequence[Object]) -> bool:
    """Return whether an object is still there. No kubelet removes the pods of a namespace."""
    for space in (each["metadata"]["name"] for each in items if each["kind"] == "Namespace"):
        for pod in kube.list("v1", "Pod", space):
            kube.delete({"apiVersion": "v1", "kind": "Pod", **pod}, grace=0)
    return any(find(kube, item) for item in items)


def find(kube: Kube, item: Object) -> Object | None:
    """Return what the API server has of an object; None if it is not there."""
    meta = item["metadata"]
    return kube.get(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace"))
