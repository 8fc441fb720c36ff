"""Nodes of a live cluster, read once: which are omitted, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from multiarch.facts import labels as keys
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.images.model import LINUX
from multiarch.kubernetes.source import LoadedObject, add_object_source
from multiarch.manifests.values import ManifestError, ObjectReference, Value
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.scheduling.tolerations import read_taint
from multiarch.serialization import OMITTED


@dataclass(frozen=True, slots=True)
class ObservedNode:
    """A Node. ``architecture`` is what its kubelet reports, or else its label: any name that Go has.

    ``instance`` is the EC2 instance's ID of its provider ID, or empty. ``ready`` is the condition's status, ``True``,
    ``False`` or ``Unknown``, and ``why_not_ready`` its message. ``kubelet``, ``runtime``, ``os_image`` and ``kernel``
    are nodeInfo's strings.
    """

    name: str = field(metadata=OMITTED)
    architecture: str = field(metadata=OMITTED)
    instance: str = field(default="", metadata=OMITTED)
    labels: Mapping[str, str] = field(default_factory=dict, metadata=OMITTED)
    taints: tuple[Taint, ...] = ()
    ready: str = "True"
    why_not_ready: str = field(default="", metadata=OMITTED)
    kubelet: str = ""
    runtime: str = ""
    os_image: str = ""
    kernel: str = ""
    version: str = field(default="", metadata=OMITTED)
    """The object's ``resourceVersion``."""
    operating_system: str = field(default=LINUX, metadata=OMITTED)
    unschedulable: bool = field(default=False, metadata=OMITTED)
    allocatable: ResourceAmounts = field(default_factory=ResourceAmounts, metadata=OMITTED)

    @property
    def known(self) -> Architecture | None:
        """The architecture, None if it is neither amd64 nor arm64."""
        return Architecture(self.architecture) if self.architecture in set(Architecture) else None

    @property
    def hybrid(self) -> bool:
        """Whether it is one of EKS Hybrid Nodes, which are not EC2 instances."""
        return self.labels.get(keys.EKS_COMPUTE_TYPE) == "hybrid"

    @property
    def auto_mode(self) -> bool:
        """Whether EKS Auto Mode launched it."""
        return self.labels.get(keys.EKS_COMPUTE_TYPE) == "auto"

    @property
    def why_omitted(self) -> str:
        """Why it runs no Linux pods of a known architecture, as text that follows a number; empty if it does."""
        if self.operating_system != LINUX:
            return f"node(s) with {self.operating_system}"
        if self.labels.get(keys.EKS_COMPUTE_TYPE) == "fargate":
            return "Fargate node(s)"
        return "" if self.known else f"node(s) of architecture {self.architecture or 'unknown'}"


def read_nodes(objects: Iterable[LoadedObject]) -> tuple[tuple[ObservedNode, ...], Counter[str]]:
    """Return the Nodes that run Linux pods, and the number of those that are omitted, by reason.

    Raises MultiarchError for one that the API server would reject.
    """
    nodes = [read_node(each) for each in objects]
    omitted = Counter(node.why_omitted for node in nodes if node.why_omitted)
    return tuple(node for node in nodes if not node.why_omitted), omitted


def list_omission_notes(omitted: Mapping[str, int]) -> tuple[str, ...]:
    """Return a sentence for each reason, such as that 2 Fargate node(s) are omitted."""
    return tuple(f"Omitted: {count} {what}." for what, count in sorted(omitted.items()))


def read_node(found: LoadedObject) -> ObservedNode:
    """Return a Node. Raises MultiarchError for one that the API server would reject."""
    metadata = found.value.get("metadata")
    written = str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""
    try:
        return _read(Value(found.value, ObjectReference(1, "Node", written)))
    except ManifestError as error:
        raise add_object_source(error, [found]) from error


def _read(value: Value) -> ObservedNode:
    info, meta, spec = value["status"]["nodeInfo"], value["metadata"], value["spec"]
    labels = dict(meta["labels"].pairs())
    ready, why = _readiness(value)
    # aws:///ZONE/INSTANCE; other providers and Fargate have no instance.
    identifier = spec["providerID"].text().rpartition("/")[2]
    return ObservedNode(
        name=meta["name"].required_text(),
        architecture=info["architecture"].text() or labels.get(keys.ARCHITECTURE, ""),
        instance=identifier if identifier.startswith("i-") else "",
        labels=labels,
        taints=tuple(sorted(read_taint(each) for each in spec["taints"].items())),
        ready=ready,
        why_not_ready=why,
        kubelet=info["kubeletVersion"].text(),
        runtime=info["containerRuntimeVersion"].text(),
        os_image=info["osImage"].text(),
        kernel=info["kernelVersion"].text(),
        version=meta["resourceVersion"].text(),
        operating_system=info["operatingSystem"].text() or labels.get(keys.OPERATING_SYSTEM, LINUX),
        unschedulable=spec["unschedulable"].truth(),
        allocatable=ResourceAmounts.of(value["status"]["allocatable"].quantities()),
    )


def _readiness(value: Value) -> tuple[str, str]:
    for condition in value["status"]["conditions"].items():
        if condition["type"].text() == "Ready":
            said = condition["message"].text() or condition["reason"].text()
            return condition["status"].text(), said
    return "Unknown", "the Node has no condition Ready"
