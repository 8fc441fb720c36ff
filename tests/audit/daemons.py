"""DaemonSets and groups of nodes as short as a test wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multiarch.audit.daemonset_model import Cell, Container, DaemonSet, NodeSet, Profile
from multiarch.audit.daemonsets import audit_daemon_sets
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.images.model import Judgement, Verdict
from multiarch.scheduling.pods import Workload, read_workloads

AMD, ARM = Architecture.AMD64, Architecture.ARM64
ARM_TAINT = "arch=arm64:NoSchedule"
TOLERATION = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
BOTH = (Verdict.SUPPORTED, Verdict.SUPPORTED)
AMD_ONLY = (Verdict.SUPPORTED, Verdict.UNSUPPORTED)


def container(name: str = "agent", verdicts: tuple[Verdict, Verdict] = BOTH, role: str = "container") -> Container:
    """``verdicts`` are for amd64 and arm64."""
    judged = (
        Judgement(each, verdict, f"says {verdict}", None) for each, verdict in zip((AMD, ARM), verdicts, strict=True)
    )
    return Container(name, role, f"registry.example.com/{name}:1", tuple(judged))


def daemon(
    name: str = "agent",
    *,
    containers: Sequence[Container] | None = None,
    namespace: str = "monitoring",
    doubt: str = "",
    **spec: Any,
) -> DaemonSet:
    template = {"spec": {"containers": [{"name": "agent", "image": "x"}], **spec}}
    metadata = {"name": name, "namespace": namespace}
    (made,) = read_workloads([{"kind": "DaemonSet", "metadata": metadata, "spec": {"template": template}}])
    assert isinstance(made, Workload)
    own = (container(),) if containers is None else tuple(containers)
    return DaemonSet(namespace, name, made.spec, own, doubt=doubt)


def profile(
    architecture: Architecture = ARM,
    *taints: str,
    labels: Mapping[str, str] | None = None,
    unknown: Sequence[str] = (),
    count: int = 1,
) -> Profile:
    own = {"kubernetes.io/arch": str(architecture), "kubernetes.io/os": "linux", **(labels or {})}
    return Profile(tuple(sorted(own.items())), tuple(map(parse_taint, taints)), frozenset(unknown), count)


def group(name: str, architecture: Architecture, *profiles: Profile) -> NodeSet:
    return NodeSet(name, "node group", architecture, profiles or (profile(architecture),))


def cell(made: DaemonSet, own: Profile, architecture: Architecture = ARM, *, known: Sequence[str] = ()) -> Cell:
    """What happens to one DaemonSet on one group of one kind of nodes."""
    audit = audit_daemon_sets(
        [made], [group("group", architecture, own)], architecture_taints=[parse_taint(each) for each in known]
    )
    return audit.rows[0].cells[0]


def texts(found: Cell) -> list[str]:
    return [each.text for each in found.reasons]
