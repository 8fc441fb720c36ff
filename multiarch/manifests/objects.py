"""Kubernetes objects in a stream of documents, lists of objects unpacked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from multiarch.manifests.owners import WorkloadKey
from multiarch.manifests.values import ManifestError, ObjectReference, Value, name_yaml_type


@dataclass(frozen=True, slots=True)
class Object:
    """One object of the stream; ``namespace`` is ``default`` where none is written."""

    kind: str
    name: str
    namespace: str
    owner: WorkloadKey | None
    value: Value

    @property
    def key(self) -> WorkloadKey:
        """What no two objects of a cluster share."""
        return WorkloadKey(self.namespace, self.kind, self.name)


def unpack_objects(
    document: object, number: int, kind_of_items: str = "", parent: Value | None = None
) -> Iterator[Object]:
    """Unpack one document; a typed list's items (``PodList``) need no kind of their own.

    ``number`` is the document's in its stream, from 1. Raises ManifestError for what is not a Kubernetes object.
    """
    if document is None:
        return
    place = ObjectReference(number)
    value = Value(document, place) if parent is None else Value(document, place, parent.parent, parent.key)
    if not isinstance(value.raw, Mapping):
        raise ManifestError(f"is {name_yaml_type(document)}, not a Kubernetes object.", place, value.path)
    kind = value["kind"].text(kind_of_items)
    if not kind:
        raise ManifestError("has no kind.", place, value.path, hint="A Kubernetes object has apiVersion and kind.")
    if kind.endswith("List") and isinstance(value.raw.get("items"), list):
        for item in value["items"].items():
            yield from unpack_objects(item.raw, number, kind.removesuffix("List"), item)
        return
    metadata = value["metadata"]
    name = metadata["name"].text()
    namespace = metadata["namespace"].text("default")
    if not name:
        prefix = metadata["generateName"].text()
        name = f"{prefix}{number}" if prefix else ""
    named = ObjectReference(number, kind, f"{namespace}/{name}" if name else "")
    there = Value(document, named, value.parent, value.key)
    yield Object(kind, name, namespace, _owner(there["metadata"]["ownerReferences"], namespace), there)


def _owner(references: Value, namespace: str) -> WorkloadKey | None:
    """Return the controller, or else the first owner."""
    owners = list(references.items())
    chosen = next((each for each in owners if each["controller"].truth()), owners[0] if owners else None)
    if chosen is None:
        return None
    return WorkloadKey(namespace, chosen["kind"].required_text(), chosen["name"].required_text())
