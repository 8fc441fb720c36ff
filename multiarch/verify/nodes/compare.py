"""What the plan, EC2, the Node and the node itself say of one node, and where they disagree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from multiarch.errors import UnknownFactError
from multiarch.facts import kubernetes
from multiarch.facts import labels as keys
from multiarch.facts.ami_families import get_family
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import list_instance_types
from multiarch.facts.taints import Taint
from multiarch.observed.nodes import ObservedNode
from multiarch.rules import Finding
from multiarch.scheduling.tolerations import make_architecture_cell
from multiarch.ssm.model import InstanceAnswer
from multiarch.verify.nodes.model import Instance, NodePair, NodeReadings
from multiarch.verify.nodes.planned import PlannedGroup
from multiarch.verify.nodes.rules import make_finding
from multiarch.verify.on_node.model import NodeReport

_RELEASE = re.compile(r"-(v[0-9]{8}|v[0-9]+\.[0-9]+\.[0-9]+)(?=-|$)")
"""The release in the name of an EKS AMI: ``…-1.35-v20260715``, ``bottlerocket-…-x86_64-v1.52.0-ae0b4a82``."""


def find_disagreements(pair: NodePair, sources: NodeReadings) -> Iterator[Finding]:
    """Yield what disagrees, apart from whether an instance joined."""
    instance, node, group, report = pair.instance, pair.node, pair.group, pair.report
    yield from _find_membership(pair, sources)
    if instance is not None and not instance.gone:
        if group is not None:
            yield from _compare_instance_with_plan(group, instance)
        yield from _compare_image(instance)
    if node is not None:
        yield from _compare_node(instance, node, sources.kubernetes_version)
        if group is not None:
            yield from compare_node_with_plan(pair, group, node, sources)
    if report is not None:
        yield from _compare_report(pair, report)
    if isinstance(pair.answer, InstanceAnswer):
        agent = f" (agent {pair.answer.agent_version})" if pair.answer.agent_version else ""
        reason = pair.answer.reason.rstrip(".") or pair.answer.status
        yield make_finding("not-asked", f"SSM: {reason}{agent}.", pair.answer.hint)


def _find_membership(pair: NodePair, sources: NodeReadings) -> Iterator[Finding]:
    """Find a node that belongs to no group of the plan, and a Node without an instance that runs."""
    node, instance, name = pair.node, pair.instance, pair.group_name
    if sources.planned is not None and not sources.others and pair.group is None and (name or instance):
        named = f"its group {name} is not in the stack" if name else "nothing says which group it belongs to"
        yield make_finding("unknown-group", f"{named}.")
    if node is None:
        return
    if not node.instance and not node.hybrid:
        yield make_finding("no-provider-id", "its Node has no provider ID of an instance.")
    elif node.instance and sources.instances is not None and (instance is None or not instance.running):
        state = f"is {instance.state}" if instance else "does not exist any more in EC2"
        yield make_finding("no-instance", f"its instance {node.instance} {state}.")


def _compare_instance_with_plan(group: PlannedGroup, instance: Instance) -> Iterator[Finding]:
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
    elif group.release and (release := _RELEASE.search(image.name)) and release[1] != group.release:
        pins = f"calls {group.ami_id}" if group.ami_id else "pins"
        yield make_finding("ami-release", f"its AMI is release {release[1]} and the stack {pins} {group.release}.")


def explain_unknown_release(group: PlannedGroup, instance: Instance) -> str:
    """Return why a pinned release could not be compared; empty if it was, or if none is pinned."""
    if group.ami_id or not group.release or _RELEASE.search(instance.image.name):
        return ""
    named = f"is called {instance.image.name}" if instance.image.name else "has no name: it may be deregistered"
    return f"The release of its AMI is not known: {instance.image.id} {named}."


def _compare_image(instance: Instance) -> Iterator[Finding]:
    image, own, template = instance.image, instance.architecture, instance.template
    if own and image.architecture and image.architecture is not own:
        said = f"the AMI {image.id} is {image.architecture} and {instance.type} is {own}."
        yield make_finding("ami-architecture", said)
    if template and template.version and template.current and template.version != template.current:
        said = f"it has version {template.version} of {template.id} and its Auto Scaling Group uses {template.current}."
        yield make_finding("launch-template", said)


def _compare_node(instance: Instance | None, node: ObservedNode, version: str) -> Iterator[Finding]:
    """Compare a Node with EC2. ``version`` is the control plane's minor, or empty."""
    own = instance.architecture if instance else None
    if instance and own and node.architecture and node.architecture != own:
        said = f"the kubelet reports {node.architecture} and {instance.type} is {own}."
        yield make_finding("node-architecture", said)
    expected = {keys.ARCHITECTURE: str(own or node.architecture)}
    if instance:
        expected |= {keys.INSTANCE_TYPE: instance.type, keys.ZONE: instance.zone}
    for key, value in expected.items():
        if value and (has := node.labels.get(key)) != value:
            said = f"is {has!r}" if has is not None else "is missing"
            yield make_finding("node-label", f"the label {key} {said}; EC2's value is {value!r}.")
    if node.ready != "True":
        why = f": {node.why_not_ready.rstrip('.')}" if node.why_not_ready else ""
        yield make_finding("not-ready", f"Ready is {node.ready}{why}.")
    minor = ".".join(node.kubelet.removeprefix("v").split(".")[:2])
    try:
        kubelet, plane = kubernetes.parse_version(minor), kubernetes.parse_version(version)
    except UnknownFactError:
        return
    if kubelet != plane:
        order = "newer" if kubelet > plane else "older"
        yield make_finding(
            "kubelet-version", f"its kubelet is {node.kubelet}, {order} than the control plane's {version}."
        )


def compare_node_with_plan(
    pair: NodePair, group: PlannedGroup, node: ObservedNode, sources: NodeReadings
) -> Iterator[Finding]:
    """Yield where the Node has other taints, labels or another operating system than its group."""
    yield from _compare_taints(group, node, sources.arm64_taint, pair.report)
    if node.os_image and not re.search(get_family(group.family).os_image, node.os_image):
        yield make_finding("ami-family", f"it runs {node.os_image} and the group's AMI family is {group.family}.")
    kind = pair.instance.type if pair.instance else node.labels.get(keys.INSTANCE_TYPE, "")
    instance = group.type_named(kind) or list_instance_types().get(kind)
    for key, value in sorted(group.labels(instance, sources.region).items()) if instance else ():
        has = node.labels.get(key)
        if has is None:
            yield make_finding("label", f"the label {key}={value} is missing.")
        elif has != value:
            yield make_finding("label", f"the label {key} is {has!r}, not {value!r}.")


def list_missing_taints(pair: NodePair) -> tuple[Taint, ...]:
    """Return the group's taints that the Node does not have in any form: one of each key and effect is allowed."""
    if pair.group is None or pair.node is None:
        return ()
    have = {(taint.key, taint.effect) for taint in pair.node.taints}
    return tuple(taint for taint in pair.group.taints if (taint.key, taint.effect) not in have)


def _compare_taints(
    group: PlannedGroup, node: ObservedNode, arm64_taint: Taint | None, report: NodeReport | None
) -> Iterator[Finding]:
    known = (arm64_taint,) if arm64_taint else ()
    registered = report.taints if report else None
    for taint in group.taints:
        other = next((each for each in node.taints if each.key == taint.key), None)
        if taint in node.taints:
            if group.registers and registered is not None and taint not in registered:
                yield make_finding("taint-late", f"the kubelet was started without the taint {taint}.")
        elif other is not None:
            yield make_finding("taint-differs", f"the taint is {other}, not {taint}.")
        else:
            since = "the kubelet was started without it"
            if registered and taint in registered:
                since = "the kubelet registered with it, and it was removed later"
            yield make_finding(
                "taint-missing", f"the taint {taint} is missing{'' if registered is None else f': {since}'}."
            )
    expected = {taint.key for taint in group.taints}
    for taint in node.taints:
        if taint.key not in expected and make_architecture_cell(taint, known):
            yield make_finding("taint-unexpected", f"it has the taint {taint}, and {group.name} has none of this key.")


def _compare_report(pair: NodePair, report: NodeReport) -> Iterator[Finding]:
    """Compare what the node reports about itself with EC2 and the Node."""
    cpu, node = report.architecture, pair.node
    said = node.architecture if node else ""
    said = said or str((pair.instance and pair.instance.architecture) or "")
    if cpu is not None:
        yield from _compare_cpu(report, cpu, said)
    if node is not None:
        yield from _compare_registration(pair.group, node, report)


def _compare_cpu(report: NodeReport, cpu: Architecture, said: str) -> Iterator[Finding]:
    if said and said != cpu:
        yield make_finding("cpu-architecture", f"`uname -m` is {report.machine} and the Node is {said}.")
    foreign: dict[str, list[str]] = {}
    for program in report.programs:
        if program.elf is not None and program.elf.architecture is not cpu:
            foreign.setdefault(str(program.elf), []).append(program.path)
    for built, paths in foreign.items():
        text = f"{', '.join(paths)} {'are' if len(paths) > 1 else 'is'} built for {built}, and the CPU is {cpu}."
        yield make_finding("program-architecture", text)


def _compare_registration(group: PlannedGroup | None, node: ObservedNode, report: NodeReport) -> Iterator[Finding]:
    """Find taints and labels of the kubelet's start that the Node does not have any more, and no plan names.

    Of the taints those that stand for an architecture: others are often there until an agent has started.
    """
    taints, labels = (group.taints, dict(group.owner.labels)) if group else ((), {})
    gone = [each for each in report.taints or () if each not in node.taints and each not in taints]
    lost = [f"the taint {taint}" for taint in gone if make_architecture_cell(taint)]
    lost += [
        f"the label {key}={value}"
        for key, value in sorted((report.labels or {}).items())
        if node.labels.get(key) != value and key not in labels
    ]
    if lost:
        yield make_finding(
            "kubelet-taints", f"the kubelet was started with {', '.join(lost)}, and the Node is without."
        )
