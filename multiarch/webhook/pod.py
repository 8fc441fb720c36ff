"""What of a pod matters to the decision: its images, and where its own rules let it go.

A pod is read in two steps. The JSON is decoded into structures that have only the fields below, and the rules on nodes
stay raw bytes (:class:`WrittenPod`). Those bytes and the images are the :data:`PodKey`: the replicas of a Deployment
have the same one, although the names of their service account's volumes differ, so the second step, :func:`read_pod`,
is done once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Raw, Struct

from multiarch.errors import MultiarchError
from multiarch.facts.admission import DECISION_ANNOTATION, OPT_OUT_ANNOTATION
from multiarch.facts.tolerations import Toleration
from multiarch.manifests.selectors import Operator
from multiarch.manifests.values import ManifestError, Value
from multiarch.scheduling.affinity import NodeAffinity, read_node_affinity
from multiarch.scheduling.architectures import Exclusion, list_exclusions, wrap_pod_spec
from multiarch.scheduling.tolerations import read_tolerations
from multiarch.webhook.model import NO_SECRETS, PodImage, PullSecretNames

_LONGEST_RULES = 16 * 1024
"""Bytes of one field with rules on nodes. Others wait while it is read, which takes up to 0.1 s; usual ones have less
than 1 KiB.
"""


class InvalidPodError(MultiarchError):
    """A pod that the API server would reject, or whose rules are too long; the message is a clause."""


class _Container(Struct, gc=False):
    image: str | None = None


class _ImageVolume(Struct, gc=False):
    reference: str | None = None


class _Volume(Struct, gc=False):
    image: _ImageVolume | None = None


class _Spec(Struct, gc=False, rename="camel"):
    init_containers: list[_Container] | None = None
    containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None
    node_name: str | None = None
    tolerations: Raw = Raw()
    node_selector: Raw = Raw()
    affinity: Raw = Raw()
    os: Raw = Raw()
    image_pull_secrets: Raw = Raw()


class _Annotations(Struct, gc=False):
    opt_out: str | None = msgspec.field(default=None, name=OPT_OUT_ANNOTATION)
    decision: str | None = msgspec.field(default=None, name=DECISION_ANNOTATION)


class _Owner(Struct, gc=False):
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Metadata(Struct, gc=False, rename="camel"):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    annotations: _Annotations | None = None
    owner_references: list[_Owner] | None = None


class WrittenPod(Struct, gc=False):
    """A pod's JSON with the fields that are read here; all else in it is skipped."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None

    @property
    def name(self) -> str:
        """The name, or ``generateName`` with ``*`` behind it."""
        if self.metadata is None:
            return ""
        return self.metadata.name or (f"{self.metadata.generate_name}*" if self.metadata.generate_name else "")

    @property
    def namespace(self) -> str:
        """The namespace, empty if the pod does not say it."""
        return (self.metadata and self.metadata.namespace) or ""

    @property
    def owner(self) -> str:
        """``Kind/name`` of the controller, or the empty string."""
        if self.metadata is not None and self.metadata.owner_references:
            for each in self.metadata.owner_references:
                if each.controller:
                    return f"{each.kind}/{each.name}"
        return ""


PodKey = tuple[object, ...]
"""Hashable; equal for pods that :func:`read_pod` reads alike."""
_NO_SPEC = _Spec()


def get_pod_key(written: WrittenPod, namespace: str) -> PodKey:
    """Return the part of a pod that the decision depends on."""
    spec, metadata = written.spec or _NO_SPEC, written.metadata
    annotations = None if metadata is None else metadata.annotations
    return (
        namespace,
        tuple([each.image for each in spec.init_containers]) if spec.init_containers else (),
        tuple([each.image for each in spec.containers]) if spec.containers else (),
        tuple([each.image for each in spec.ephemeral_containers]) if spec.ephemeral_containers else (),
        tuple([each.image.reference for each in spec.volumes if each.image is not None]) if spec.volumes else (),
        spec.node_name,
        bytes(spec.tolerations),
        bytes(spec.node_selector),
        bytes(spec.affinity),
        bytes(spec.os),
        bytes(spec.image_pull_secrets),
        metadata is not None,
        annotations is not None,
        None if annotations is None else annotations.opt_out,
        None if annotations is None else annotations.decision,
    )


@dataclass(frozen=True, slots=True)
class AdmittedPod:
    """A pod as the decision sees it.

    ``images`` has each image once, in the order of init containers (sidecars are among them), containers, ephemeral
    containers and image volumes; ``without_image`` counts those that name none, which another webhook may fill in
    later. ``spec`` has the rules on nodes only. ``excluded`` are the architectures that they exclude. ``decided`` is
    what an earlier invocation wrote into the annotation, empty if there is none. ``annotations_at`` are the keys that
    lead to the innermost mapping for annotations that exists.
    """

    images: tuple[PodImage, ...]
    without_image: int
    containers: int
    spec: Value
    affinity: NodeAffinity
    tolerations: tuple[Toleration, ...]
    excluded: tuple[Exclusion, ...]
    node_name: str
    opt_out: str | None
    decided: str | None
    annotations_at: tuple[str, ...]
    secrets: PullSecretNames

    @property
    def scheduled_by_name(self) -> str:
        """What names the pod's node: ``nodeName``, or each term of its affinity; empty if nothing does."""
        if self.node_name:
            return f"nodeName is {self.node_name}"
        terms = self.affinity.required
        if terms and all(any(field.operator is Operator.IN for field in each.fields) for each in terms):
            return "the node affinity names a node"
        return ""


def read_pod(written: WrittenPod, namespace: str, readable_secrets: frozenset[str]) -> AdmittedPod:
    """Read a pod; ``readable_secrets`` (NAMESPACE/NAME) are kept of its pull secrets.

    Raises InvalidPodError for rules on nodes that the API server rejects, and for those that are longer than 16 KiB.
    """
    spec, metadata = written.spec or _NO_SPEC, written.metadata
    rules = wrap_pod_spec(dict(_rules(spec)))
    try:
        affinity, tolerations = read_node_affinity(rules), read_tolerations(rules["tolerations"])
        excluded = list_exclusions(rules)
        secrets = _secrets(rules, namespace, readable_secrets)
    except ManifestError as error:
        # Its number of a document is for files with several.
        raise InvalidPodError(error.message.removeprefix("document 1: ").rstrip(".")) from None
    run = [each.image for part in _lists(spec) for each in part or ()]
    mounted = [each.image.reference for each in spec.volumes or () if each.image is not None]
    images = [*(PodImage(each) for each in run if each), *(PodImage(each, mounted=True) for each in mounted if each)]
    annotations = None if metadata is None else metadata.annotations
    return AdmittedPod(
        images=tuple(dict.fromkeys(images)),
        without_image=len(run) + len(mounted) - len(images),
        containers=len(spec.containers or ()),
        spec=rules,
        affinity=affinity,
        tolerations=tolerations,
        excluded=excluded,
        node_name=spec.node_name or "",
        opt_out=None if annotations is None else annotations.opt_out,
        decided=None if annotations is None else annotations.decision,
        annotations_at=() if metadata is None else ("metadata",) if annotations is None else _ANNOTATIONS,
        secrets=secrets,
    )


_ANNOTATIONS = ("metadata", "annotations")


def _lists(spec: _Spec) -> tuple[list[_Container] | None, ...]:
    return spec.init_containers, spec.containers, spec.ephemeral_containers


def _rules(spec: _Spec) -> Iterator[tuple[str, object]]:
    """Yield what a pod says about nodes and pull secrets, as plain values; what is missing or null is omitted."""
    for name, raw in (
        ("tolerations", spec.tolerations),
        ("nodeSelector", spec.node_selector),
        ("affinity", spec.affinity),
        ("os", spec.os),
        ("imagePullSecrets", spec.image_pull_secrets),
    ):
        text = bytes(raw)
        if not text or text == b"null":
            continue
        if len(text) > _LONGEST_RULES:
            raise InvalidPodError(f"spec.{name} has more than {_LONGEST_RULES} bytes")
        try:
            yield name, msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidPodError(f"spec.{name}: {error}") from None


def _secrets(rules: Value, namespace: str, readable: frozenset[str]) -> PullSecretNames:
    names = [
        name
        for each in rules["imagePullSecrets"].items()
        if isinstance(each.raw, Mapping) and isinstance(name := each.raw.get("name"), str)
    ]
    kept = tuple(name for name in dict.fromkeys(names) if f"{namespace}/{name}" in readable)
    return PullSecretNames(namespace, kept) if kept else NO_SECRETS
