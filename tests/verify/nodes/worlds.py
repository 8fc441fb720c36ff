"""Clusters as ``verify nodes`` reads them: healthy ones, and what can be wrong with a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint, parse_taint
from multiarch.images.elf import Elf
from multiarch.nodes.model import GROUP_TAG, BootstrapCase
from multiarch.observed.nodes import ObservedNode
from multiarch.ssm.model import InstanceAnswer
from multiarch.verify.nodes.join import compare_sources
from multiarch.verify.nodes.model import Image, Instance, LaunchTemplateVersion, NodeReadings, NodeRow, NodeVerification
from multiarch.verify.nodes.planned import PlannedGroup
from multiarch.verify.on_node.model import NodeReport, ProgramFile
from tests.nodes.builders import GroupOptions, node_group

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
VERSION = "1.35"
TAINT = parse_taint("arch=arm64:NoSchedule")
_MACHINES = {Architecture.AMD64: ("x86_64", 62), Architecture.ARM64: ("aarch64", 183)}


@dataclass(frozen=True)
class World:
    """One node, as each source sees it."""

    group: PlannedGroup
    instance: Instance | None
    node: ObservedNode | None
    report: NodeReport | InstanceAnswer | None


def elf(architecture: Architecture) -> Elf:
    return Elf(_MACHINES[architecture][1], 64, little_endian=True)


def group(architecture: Architecture = Architecture.ARM64, name: str = "batch") -> PlannedGroup:
    taints = (TAINT,) if architecture is Architecture.ARM64 else ()
    options = GroupOptions(labels=(("team", "checkout"),), taints=taints)
    plan = node_group(AmiFamily.AL2023, BootstrapCase.SELF_MANAGED, architecture, options)
    plan = replace(plan, name=name, name_prefix=f"shop-{name}-")
    return PlannedGroup(plan, AmiFamily.AL2023, release="v20260715")


def healthy(architecture: Architecture = Architecture.ARM64, number: int = 0, name: str = "batch") -> World:
    """A node with which nothing is wrong."""
    planned = group(architecture, name)
    kind = planned.owner.instance_types[0]
    identifier = f"i-{number:017x}"
    machine, _ = _MACHINES[architecture]
    image = Image(f"ami-{architecture}", f"amazon-eks-node-al2023-{machine}-standard-1.35-v20260715", architecture)
    labels = {
        "kubernetes.io/arch": str(architecture),
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": kind.name,
        "topology.kubernetes.io/region": "eu-west-1",
        "topology.kubernetes.io/zone": "eu-west-1a",
        "team": "checkout",
    }
    instance = Instance(
        identifier,
        kind.name,
        architecture,
        image,
        "running",
        NOW - timedelta(days=1),
        "eu-west-1a",
        f"ip-10-0-{number // 250}-{number % 250}.eu-west-1.compute.internal",
        {GROUP_TAG: name, "kubernetes.io/cluster/shop": "owned"},
        profile="arn:aws:iam::111122223333:instance-profile/node",
        scaling_group=f"shop-{name}-1",
        lifecycle="InService",
        template=LaunchTemplateVersion("lt-1", "3", "3"),
    )
    node = ObservedNode(
        instance.private_dns,
        str(architecture),
        identifier,
        labels,
        planned.taints,
        kubelet="v1.35.2-eks-1a2b3c4",
        runtime="containerd://2.1.4",
        os_image="Amazon Linux 2023.9.20260715",
        kernel="6.12.40",
        version="7",
    )
    programs = tuple(
        ProgramFile(program, f"/usr/bin/{program}", elf(architecture), version)
        for program, version in (("kubelet", "v1.35.2-eks-1a2b3c4"), ("containerd", "2.1.4"), ("runc", "1.3.0"))
    )
    report = NodeReport(
        machine,
        architecture,
        "6.12.40",
        "Amazon Linux 2023.9.20260715",
        programs,
        {"team": "checkout"},
        planned.taints,
    )
    return World(planned, instance, node, report)


def sources(*worlds: World, planned: Sequence[PlannedGroup] | None = None) -> NodeReadings:
    """What is read of a cluster with these nodes; ``planned`` are by default their groups."""
    groups = {each.group.name: each.group for each in worlds}
    reports = {_id(each): each.report for each in worlds if each.report is not None}
    return NodeReadings(
        cluster="shop",
        planned=tuple(groups.values()) if planned is None else tuple(planned),
        instances=tuple(each.instance for each in worlds if each.instance),
        nodes=tuple(each.node for each in worlds if each.node),
        on_node=reports,
        now=NOW,
        kubernetes_version=VERSION,
        region="eu-west-1",
        arm64_taint=TAINT,
    )


def verified(*worlds: World) -> NodeVerification:
    return compare_sources(sources(*worlds))


def row(world: World) -> NodeRow:
    (only,) = verified(world).rows
    return only


def _id(world: World) -> str:
    return world.instance.id if world.instance else world.node.instance if world.node else ""


def with_instance(world: World, **changes: object) -> World:
    assert world.instance
    return replace(world, instance=replace(world.instance, **changes))  # type: ignore[arg-type]


def with_node(world: World, **changes: object) -> World:
    assert world.node
    return replace(world, node=replace(world.node, **changes))  # type: ignore[arg-type]


def with_report(world: World, **changes: object) -> World:
    assert isinstance(world.report, NodeReport)
    return replace(world, report=replace(world.report, **changes))  # type: ignore[arg-type]


def with_labels(world: World, **labels: str | None) -> World:
    """``node_kubernetes_io__instance_type`` is too hard to read: keys are given as they are by ``**{...}``."""
    assert world.node
    changed = {key: value for key, value in {**world.node.labels, **labels}.items() if value is not None}
    return with_node(world, labels=changed)


def taint(text: str) -> Taint:
    return parse_taint(text)
