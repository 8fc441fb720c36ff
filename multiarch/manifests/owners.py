"""What objects are called, and what owns them: from a pod to its ReplicaSet to the Deployment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from multiarch.manifests.values import to_mapping, to_string


@dataclass(frozen=True, slots=True, order=True)
class WorkloadKey:
    """The object at the end of the chain of owners. A bare pod is its own workload."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        """``Deployment/api``."""
        return f"{self.kind}/{self.name}"


def name_deployment(key: WorkloadKey, labels: Mapping[str, str]) -> WorkloadKey:
    """Return the Deployment of a ReplicaSet, which a label of its pods tells; other workloads as they are.

    Source: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#pod-template-hash-label
    """
    made = labels.get("pod-template-hash", "")
    if key.kind != "ReplicaSet" or not made or not key.name.endswith(f"-{made}"):
        return key
    return WorkloadKey(key.namespace, "Deployment", key.name.removesuffix(f"-{made}"))


def get_workload_key(content: Mapping[str, object]) -> WorkloadKey:
    """Return what an object is called; one without a namespace is in ``default``."""
    metadata = to_mapping(content.get("metadata"))
    name = to_string(metadata.get("name")) or to_string(metadata.get("generateName"))
    return WorkloadKey(_namespace(metadata), to_string(content.get("kind")) or "(no kind)", name)


def get_owner(content: Mapping[str, object]) -> WorkloadKey | None:
    """Return the object's controller, or its first owner where none is one."""
    metadata = to_mapping(content.get("metadata"))
    listed = metadata.get("ownerReferences")
    references = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    chosen = next((each for each in references if each.get("controller") is True), next(iter(references), None))
    if chosen is None or chosen.get("kind") == "Node":
        # A static pod's owner is its node; the pod is what there is to change.
        return None
    return WorkloadKey(_namespace(metadata), to_string(chosen.get("kind")), to_string(chosen.get("name")))


def map_owners(objects: Iterable[Mapping[str, object]]) -> dict[WorkloadKey, WorkloadKey]:
    """Return owners of objects by what they own."""
    return {get_workload_key(each): owner for each in objects if (owner := get_owner(each)) is not None}


def find_top_owner(start: WorkloadKey, owners: Mapping[WorkloadKey, WorkloadKey]) -> WorkloadKey:
    """Go from owner to owner; one that owns itself ends the way."""
    here, been = start, {start}
    while (above := owners.get(here)) is not None and above not in been:
        here = above
        been.add(above)
    return here


def _namespace(metadata: Mapping[str, object]) -> str:
    return to_string(metadata.get("namespace")) or "default"
