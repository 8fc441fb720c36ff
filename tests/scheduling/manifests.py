"""Manifests, shapes and nodes as short as a test wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE, OPERATING_SYSTEM, with_deprecated
from multiarch.facts.taints import parse_taint
from multiarch.scheduling.nodes import Node, NodeShape
from multiarch.scheduling.pods import Pod, read_pods
from multiarch.scheduling.resources import ResourceAmounts

Manifest = dict[str, Any]
GI = 2**30
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
ARM64_TOLERATION = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


def container(requests: Mapping[str, Any] | None = None, **more: Any) -> Manifest:
    made: Manifest = {"name": "main", "image": "app", **more}
    if requests is not None:
        made["resources"] = {"requests": dict(requests)}
    return made


def spec(**more: Any) -> Manifest:
    """A pod's spec of one container without requests; ``more`` is added."""
    return {"containers": [container()], **more}


def pod_manifest(
    name: str = "api", *, labels: Mapping[str, str] | None = None, namespace: str = "shop", **more: Any
) -> Manifest:
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec(**more)}


def workload(kind: str, name: str = "api", *, pod: Mapping[str, Any] | None = None, **more: Any) -> Manifest:
    """An object with a pod template; ``more`` is added to its spec."""
    template = {"metadata": {"labels": {"app": name}}, "spec": dict(pod or spec())}
    return {"kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": {"template": template, **more}}


def pods(*documents: object) -> list[Pod]:
    return list(read_pods(documents))


def pod(name: str = "api", *, labels: Mapping[str, str] | None = None, namespace: str = "shop", **more: Any) -> Pod:
    (made,) = pods(pod_manifest(name, labels=labels, namespace=namespace, **more))
    return made


def required(*terms: Sequence[Mapping[str, Any]]) -> Manifest:
    """An ``affinity`` that requires one of ``terms``, each a list of expressions."""
    written = [{"matchExpressions": list(expressions)} for expressions in terms]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": written}}}


def expression(key: str, operator: str, *values: str) -> Manifest:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def shape(
    name: str = "arm-spot",
    architecture: Architecture = Architecture.ARM64,
    *,
    taints: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    zones: Sequence[str] = ZONES,
    allocatable: ResourceAmounts | None = None,
) -> NodeShape:
    """A group of nodes with 3.92 CPUs, 14 GiB and room for 58 pods."""
    standard = {ARCHITECTURE: str(architecture), OPERATING_SYSTEM: "linux"}
    return NodeShape(
        name=name,
        architecture=architecture,
        allocatable=allocatable or ResourceAmounts(cpu=3920, memory=14 * GI, ephemeral_storage=40 * GI, pods=58),
        labels=tuple(sorted({**with_deprecated(standard), **(labels or {})}.items())),
        taints=tuple(parse_taint(taint) for taint in taints),
        zones=tuple(zones),
    )


def node(name: str, zone: str = ZONES[0], **labels: str) -> Node:
    """A node in a zone that holds its name and zone as labels, and whatever else."""
    return shape(labels=labels).node(name, zone)
