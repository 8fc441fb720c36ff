"""Every pod spec in a document, in objects of any kind, with its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice

from multiarch.errors import KeyPath
from multiarch.manifests.containers import CONTAINER_LISTS, find_pod_specs
from multiarch.manifests.image_fields import list_field_images
from multiarch.manifests.kinds import find_pod_spec, find_pod_template
from multiarch.manifests.objects import Object, unpack_objects
from multiarch.manifests.selectors import LabelSelector
from multiarch.manifests.values import Labels, Value


@dataclass(frozen=True, slots=True)
class PodSpecPlace:
    """A pod's spec in an object.

    ``where`` is the path from the document to the object, ``path`` from there to the spec. ``namespace`` is ``default``
    where none is written; ``written`` is the object itself.
    """

    kind: str
    name: str
    namespace: str
    labels: Labels
    where: KeyPath
    path: KeyPath
    spec: Value
    written: Mapping[str, object] = field(repr=False)

    @property
    def title(self) -> str:
        """``Deployment shop/api``."""
        return self.spec.reference.title


@dataclass(frozen=True, slots=True)
class UnknownContainers:
    """Containers or an image in an object of an unknown kind, not in a template: what reads them is unknown."""

    title: str
    path: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects to change: those that meet every condition. An empty condition is met by all.

    ``names`` and ``namespaces`` may hold ``*`` and ``?``; kinds are compared without regard to case.
    """

    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    labels: LabelSelector = field(default_factory=LabelSelector)

    def selects(self, template: PodSpecPlace) -> bool:
        """Return whether a template's object is selected."""
        return (
            (not self.kinds or template.kind.lower() in {kind.lower() for kind in self.kinds})
            and _any_fits(self.names, template.name)
            and _any_fits(self.namespaces, template.namespace)
            and self.labels.matches(dict(template.labels))
        )

    @property
    def everything(self) -> bool:
        """Whether it selects every object."""
        return self == Selection()


def find_templates(document: object, number: int) -> Iterator[PodSpecPlace | UnknownContainers]:
    """Yield the pod specs of one loaded document in its order, lists of objects unpacked.

    Kubernetes' own kinds have one at a known path. In objects of other kinds it is every mapping ``spec`` that has
    containers, below a key ``template`` or ``…Template``; other containers, and the first image of a known field, are
    yielded as :class:`UnknownContainers`.
    Raises ManifestError for what is not a Kubernetes object.
    """
    if isinstance(document, list) and document and all(_says_its_kind(each) for each in document):
        for index, element in enumerate(document):
            for each in unpack_objects(element, number):
                yield from _templates(each, (index,))
        return
    for each in unpack_objects(document, number):
        yield from _templates(each, ())


def _says_its_kind(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("kind"), str)


def _templates(each: Object, above: KeyPath) -> Iterator[PodSpecPlace | UnknownContainers]:
    where = get_path(each.value)
    for spec in _specs(each):
        if isinstance(spec, UnknownContainers):
            yield spec
            continue
        yield PodSpecPlace(
            kind=each.kind,
            name=each.name,
            namespace=each.namespace,
            labels=each.value["metadata"]["labels"].pairs(),
            where=(*above, *where),
            path=get_path(spec)[len(where) :],
            spec=spec,
            written=each.value.mapping(),
        )


def _specs(each: Object) -> Iterator[Value | UnknownContainers]:
    path = find_pod_spec(each.kind, each.value["apiVersion"].text())
    if path is not None:
        found = find_pod_template(each.kind, each.value)
        yield each.value.at(path) if found is None else found.value["spec"]
        return
    for path, written in find_pod_specs(each.value.mapping()):
        spec = each.value.at(path)
        lists = [spec[key].path for key in CONTAINER_LISTS if key in written]
        yield spec if _in_a_template(spec) else UnknownContainers(spec.reference.title, lists[0])
    for path, _ in islice(list_field_images(each.value.mapping()), 1):
        yield UnknownContainers(each.value.reference.title, each.value.at(path).path)


def _in_a_template(value: Value) -> bool:
    if value.key != "spec" or value.parent is None:
        return False
    above: Value | None = value.parent
    while above is not None and isinstance(above.key, int):
        above = above.parent
    return above is not None and isinstance(above.key, str) and above.key.lower().endswith(("template", "templates"))


def get_path(value: Value) -> KeyPath:
    """Return the keys and indexes from the top of the document to a value."""
    return () if value.parent is None else (*get_path(value.parent), value.key)


def _any_fits(patterns: tuple[str, ...], text: str) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)
