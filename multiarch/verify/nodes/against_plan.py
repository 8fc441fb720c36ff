"""What a group's plan says, held against EC2 and against the Node."""

from __future__ import annotations

import re
from collections.abc import Iterator

from multiarch.facts.ami_families import family_facts
from multiarch.facts.instance_types import instance_types
from multiarch.facts.taints import Taint
from multiarch.rules import Finding
from multiarch.scheduling.tolerations import of_architecture
from multiarch.verify.nodes.model import Instance, KubernetesNode
from multiarch.verify.nodes.planned import PlannedGroup
from multiarch.verify.nodes.rules import make_finding
from multiarch.verify.on_node.model import NodeReport

_RELEASE = re.compile(r"-(v[0-9]{8}|v[0-9]+\.[0-9]+\.[0-9]+)(?=-|$)")
"""The release in the name of an EKS AMI: ``…-1.35-v20260715``, ``bottlerocket-…-x86_64-v1.52.0-ae0b4a82``."""


def instance_findings(group: PlannedGroup, instance: Instance) -> Iterator[Finding]:
    """Whether EC2 runs what the group asks for."""
    if group.type_named(instance.type) is None:
        yield make_finding("instance-type", f"{instance.type} is not an instance type of {group.name}.")
    planned = " or ".join(group.architectures)
    if instance.architecture is not None and instance.architecture not in group.architectures:
        yield make_finding(
            "plan-architecture", f"{instance.type} is {instance.architecture} and {group.name} is {planned}."
        )
    image = instance.image
    if group.ami_id and image.id and image.id != group.ami_id:
        yield make_finding("ami-release", f"its AMI is {image.id} and the stack pins {group.ami_id}.")
    release = _RELEASE.search(image.name)
    if group.release and release and release[1] != group.release:
        yield make_finding("ami-release", f"its AMI is release {release[1]} and the stack pins {group.release}.")


def unchecked_image(group: PlannedGroup, instance: Instance) -> str:
    """Why a pinned release could not be compared; empty if it was, or if none is pinned."""
    if not group.release or _RELEASE.search(instance.image.name):
        return ""
    named = f"is called {instance.image.name}" if instance.image.name else "has no name: it may be deregistered"
    return f"The release of its AMI is not known: {instance.image.id} {named}."


def node_findings(
    group: PlannedGroup,
    node: KubernetesNode,
    instance_type: str,
    *,
    region: str | None,
    arm64_taint: Taint | None,
    report: NodeReport | None,
) -> Iterator[Finding]:
    """Whether the Node has the group's taints, labels and operating system."""
    yield from _taint_findings(group, node, arm64_taint, report)
    if node.os_image and not re.search(family_facts(group.family).os_image, node.os_image):
        yield make_finding("ami-family", f"it runs {node.os_image} and the group's AMI family is {group.family}.")
    instance = group.type_named(instance_type) or instance_types().get(instance_type)
    if instance is None:
        return
    for key, value in sorted(group.labels(instance, region).items()):
        if (has := node.labels.get(key)) != value:
            said = (
                f"the label {key} is {has!r}, not {value!r}"
                if has is not None
                else f"the label {key}={value} is missing"
            )
            yield make_finding("label", f"{said}.")


def missing_taints(group: PlannedGroup, node: KubernetesNode) -> tuple[Taint, ...]:
    """The group's taints that the Node does not have in any form: Kubernetes allows one of each key and effect."""
    have = {(taint.key, taint.effect) for taint in node.taints}
    return tuple(taint for taint in group.taints if taint not in node.taints and (taint.key, taint.effect) not in have)


def _taint_findings(
    group: PlannedGroup, node: KubernetesNode, arm64_taint: Taint | None, report: NodeReport | None
) -> Iterator[Finding]:
    known = (arm64_taint,) if arm64_taint else ()
    for taint in group.taints:
        if taint in node.taints:
            if group.registers and report and report.taints is not None and taint not in report.taints:
                yield make_finding("taint-late", f"the kubelet was started without the taint {taint}.")
            continue
        other = next((each for each in node.taints if each.key == taint.key), None)
        if other is not None:
            yield make_finding("taint-differs", f"the taint is {other}, not {taint}.")
        else:
            yield make_finding("taint-missing", f"the taint {taint} is missing{_since(taint, report)}.")
    keys = {taint.key for taint in group.taints}
    for taint in node.taints:
        if taint.key not in keys and of_architecture(taint, known):
            yield make_finding("taint-unexpected", f"it has the taint {taint}, and {group.name} has none of this key.")


def _since(taint: Taint, report: NodeReport | None) -> str:
    if report is None or report.taints is None:
        return ""
    if taint in report.taints:
        return ": the kubelet registered with it, and it was removed later"
    return ": the kubelet was started without it"
