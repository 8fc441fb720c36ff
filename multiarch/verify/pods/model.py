"""Containers as the API server shows them, their nodes, and what is known of their images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from multiarch.images.model import Inspected, Platform
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.owners import WorkloadKey
from multiarch.observed.nodes import ObservedNode
from multiarch.serialization import INLINED, OMITTED, JsonProperty


class Proof(StrEnum):
    """The verdict on a container, the worst first."""

    WRONG = "wrong"
    """The image or the process is of another architecture than the node, or the index lacks the node's platform."""
    CANNOT_TELL = "cannot tell"
    CONSISTENT = "consistent"
    """The imageID is an index's, and the index has the platform that the runtime must choose."""
    PROVEN = "proven"
    """The platform manifest or the running process is of the node's architecture."""


class DigestKind(StrEnum):
    """What the digest in an imageID is the digest of."""

    INDEX = "index"
    MANIFEST = "platform manifest"
    UNKNOWN = "unknown"


class StartFailure(StrEnum):
    """Why a container did not start, where that tells of its architecture: words of messages and logs, in any case."""

    EXEC_FORMAT = "exec format error"
    """From the kernel: not a program of this machine, or a script that does not start with ``#!``."""
    NO_PLATFORM = "no match for platform"
    """From containerd: the index has no image that it could choose."""


@dataclass(frozen=True, slots=True)
class PodContainer:
    """One container of a pod that has been assigned to a node.

    ``image`` is as the pod's spec has it and ``reported`` as its status; ``image_id`` is the status's, as the runtime
    spells it, and empty if the image was not pulled. ``container_id`` has no scheme (``containerd://``). ``state`` is
    ``running`` or the reason why not (``CrashLoopBackOff``). ``exit_code`` and ``failure`` are those of its latest run
    that ended; ``log_read`` says that the end of that run's log was looked at. ``workload`` is the end of the chain of
    owners.
    """

    workload: WorkloadKey = field(metadata=OMITTED)
    pod: str
    name: str
    role: ContainerRole
    node: str = field(metadata=OMITTED)
    image: str
    reported: str = field(metadata=OMITTED)
    image_id: str
    container_id: str = field(metadata=OMITTED)
    state: str
    running: bool = field(metadata=OMITTED)
    failure: StartFailure | None = field(default=None, metadata=OMITTED)
    exit_code: int = field(default=0, metadata=OMITTED)
    log_read: bool = field(default=False, metadata=OMITTED)
    service_account: str = field(default="default", metadata=OMITTED)
    pull_secrets: tuple[str, ...] = field(default=(), metadata=OMITTED)

    @property
    def namespace(self) -> str:
        """The pod's."""
        return self.workload.namespace


@dataclass(frozen=True, slots=True)
class Pods:
    """What was read: containers sorted by workload, pod and name, and nodes by name.

    ``not_started`` counts containers without an imageID: nothing of them was pulled or started.
    """

    containers: tuple[PodContainer, ...]
    nodes: Mapping[str, ObservedNode]
    not_started: int = 0


@dataclass(frozen=True, slots=True)
class RegistryDigest:
    """What a registry says about the digest in an imageID.

    ``inspected`` is there for an index or a platform manifest, ``platform`` for a platform manifest whose config says
    it. ``reason`` says why the kind or the platform is unknown, ``settled_by`` what would settle it.
    """

    kind: DigestKind
    digest: str = ""
    inspected: Inspected | None = None
    platform: Platform | None = None
    reason: str = ""
    settled_by: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one container.

    ``digest_kind`` and ``digest`` are those of the imageID. ``manifest`` is the digest of the platform manifest that
    runs, if it is known. ``settled_by`` says what would settle ``consistent`` or ``cannot tell``, else it is empty.
    ``process`` is the running process's executable and ``machine`` what it is (``arm64``); both are empty without
    ``--on-node``, or if the node could not tell.
    """

    container: PodContainer = field(metadata=INLINED)
    host: ObservedNode | None = field(metadata=OMITTED)
    verdict: Proof
    reason: str
    digest_kind: DigestKind = DigestKind.UNKNOWN
    digest: str = field(default="", metadata=OMITTED)
    settled_by: str = ""
    manifest: str = ""
    process: str = ""
    machine: str = ""
    emulator: str = ""

    @JsonProperty
    def node(self) -> Mapping[str, str] | None:
        """Name, architecture and container runtime of the node, None if it was not read."""
        host = self.host
        if host is None:
            return None
        return {"name": host.name, "architecture": host.architecture, "runtime": host.runtime}


@dataclass(frozen=True, slots=True)
class PodVerification:
    """The verdicts, in the order of the containers; ``notes`` are sentences about nodes and what was omitted.

    ``nodes_answered`` is None if nodes were not queried, else how many of them answered.
    """

    judged: tuple[Judged, ...]
    notes: tuple[str, ...]
    not_started: int = 0
    nodes_answered: int | None = None

    def count(self, proof: Proof) -> int:
        """Return how many containers have this verdict."""
        return sum(each.verdict is proof for each in self.judged)
