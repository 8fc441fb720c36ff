"""One row per node: an instance and its Node, what they are compared with, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from multiarch.facts.ami_families import get_family
from multiarch.nodes.model import NodeGroupPlan
from multiarch.observed.nodes import ObservedNode
from multiarch.rules import Finding, Severity
from multiarch.verify.nodes.compare import explain_unknown_release, find_disagreements, list_missing_taints
from multiarch.verify.nodes.model import Instance, NodePair, NodeReadings, NodeRow, NodeVerdict, NodeVerification
from multiarch.verify.nodes.planned import find_group
from multiarch.verify.nodes.rules import make_finding

_NO_PROFILE = "It has no instance profile, and so no role: replace it with an instance that its group starts."


def compare_sources(sources: NodeReadings) -> NodeVerification:
    """Compare everything. The same sources give the same rows, in the order of group and name."""
    rows = sorted((_row(each, sources) for each in _joined(sources)), key=lambda row: (row.group, row.name))
    notes = (*sources.notes, *_missing_groups(rows, sources))
    return NodeVerification(sources.cluster, tuple(rows), notes, sources.findings)


def _missing_groups(rows: Sequence[NodeRow], sources: NodeReadings) -> Iterator[str]:
    """Yield groups without a row although their minimum is not 0: without a note, nothing would say so."""
    if sources.instances is None:
        return
    seen = {row.group for row in rows}
    for group in sources.planned or ():
        owner = group.owner
        if isinstance(owner, NodeGroupPlan) and owner.sizes.minimum and group.name not in seen:
            yield f"{group.name}: no node of this group was found; its minimum is {owner.sizes.minimum}."


def list_not_joined(sources: NodeReadings) -> tuple[Instance, ...]:
    """Return the instances that run longer than ``join_minutes`` and have no Node; none if the Nodes are not known."""
    return tuple(pair.instance for pair in _joined(sources) if pair.instance is not None and _is_overdue(pair, sources))


def _is_overdue(pair: NodePair, sources: NodeReadings) -> bool:
    instance = pair.instance
    if sources.nodes is None or pair.node is not None or instance is None or not instance.running:
        return False
    return not instance.out_of_service and not _is_new(instance, sources)


def _is_new(instance: Instance, sources: NodeReadings) -> bool:
    return sources.now - instance.launched <= timedelta(minutes=sources.join_minutes)


def _is_starting(pair: NodePair, sources: NodeReadings) -> bool:
    """Return whether it was started a few minutes ago and has no Node, or one that is not Ready yet."""
    if sources.nodes is None or pair.instance is None or pair.instance.out_of_service:
        return False
    if pair.node is None:
        return pair.instance.state in ("pending", "running")
    return pair.instance.running and pair.node.ready != "True" and _is_new(pair.instance, sources)


def _must_be_ready(pair: NodePair, sources: NodeReadings) -> bool:
    """Not a Node that starts, and none whose instance is about to end, such as an interrupted Spot Instance's."""
    instance = pair.instance
    if instance is not None and (not instance.running or instance.out_of_service):
        return False
    return not _is_starting(pair, sources)


def _joined(sources: NodeReadings) -> Iterator[NodePair]:
    """Yield every Node with its instance, and every other instance that exists."""
    instances = {each.id: each for each in sources.instances or ()}
    by_dns = {each.private_dns: each for each in instances.values() if each.private_dns}
    taken = set()
    for node in sources.nodes or ():
        # A Node without a provider ID is told by its name, which AWS's cloud provider takes from EC2.
        found = instances.get(node.instance) if node.instance else by_dns.get(node.name)
        if found:
            taken.add(found.id)
        yield _pair(found, node, sources)
    for identifier, instance in instances.items():
        if identifier not in taken and not instance.gone:
            yield _pair(instance, None, sources)


def _pair(instance: Instance | None, node: ObservedNode | None, sources: NodeReadings) -> NodePair:
    tags, labels = instance.tags if instance else {}, node.labels if node else {}
    group, name = find_group(sources.planned or (), tags, labels)
    identifier = instance.id if instance else node.instance if node else ""
    return NodePair(identifier, instance, node, group, name, (sources.on_node or {}).get(identifier))


def _row(pair: NodePair, sources: NodeReadings) -> NodeRow:
    findings = (
        *(
            each
            for each in find_disagreements(pair, sources)
            if each.rule.name != "not-ready" or _must_be_ready(pair, sources)
        ),
        *_boot(pair, sources),  # a wrong AMI is a cause of it
    )
    ordered = tuple(sorted(findings, key=lambda each: each.rule.severity is not Severity.ERROR))
    unchecked = tuple(_not_checked(pair, sources))
    return NodeRow(
        name=pair.node.name if pair.node else pair.id,
        group=pair.group.name if pair.group else pair.group_name,
        instance=pair.instance,
        node=pair.node,
        on_node=pair.answer,
        architectures=_architectures(pair),
        findings=ordered,
        not_checked=unchecked,
        verdict=_verdict(pair, ordered, unchecked, sources),
        missing_taints=list_missing_taints(pair),
    )


def _boot(pair: NodePair, sources: NodeReadings) -> Iterator[Finding]:
    instance = pair.instance
    if instance is None or not _is_overdue(pair, sources):
        return
    said = f"running for {_long(sources.now - instance.launched)}, not registered as a Node"
    fault = sources.boot.get(instance.id)
    if fault is None:
        yield make_finding("never-joined", f"{said}.")
    else:
        without = () if instance.profile else (_NO_PROFILE,)
        yield make_finding("never-joined", f"{said}: {fault.cause}.", fault.hint, (*fault.lines, *without))


def _long(time: timedelta) -> str:
    """Return ``12 minutes``, ``3 hours``, ``4 days``."""
    minutes = int(time.total_seconds() // 60)
    for unit, size in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * size:
            return f"{minutes // size} {unit}s"
    return f"{minutes} minutes"


def _not_checked(pair: NodePair, sources: NodeReadings) -> Iterator[str]:
    """Yield what could not be compared, a sentence each."""
    instance, group = pair.instance, pair.group
    if pair.node and pair.node.hybrid:
        yield "A hybrid node: it is not an EC2 instance, and was not queried through SSM."
    elif sources.planned is not None and instance is None and group is None:
        yield "Its group is not known without its instance."
    if group and instance and (why := explain_unknown_release(group, instance)):
        yield why
    if instance and instance.out_of_service:
        yield f"The instance is {instance.lifecycle} in its Auto Scaling Group."
    if instance and instance.architecture is None:
        yield f"The architecture of {instance.type} is not known: run `multiarch facts refresh`."
    yield from _not_read(pair, sources)


def _not_read(pair: NodePair, sources: NodeReadings) -> Iterator[str]:
    """Yield what was not read of the node itself, a sentence each."""
    instance, group, report = pair.instance, pair.group, pair.report
    if (instance and instance.auto_mode) or (pair.node and pair.node.auto_mode):
        yield "A node of EKS Auto Mode, which takes no command through SSM: its programs were not read."
        return
    if report is not None:
        yield from report.faults
        yield from (f"{each.name}: {each.fault}" for each in report.programs if each.fault)
    elif instance and not instance.running:
        yield f"The instance is {instance.state}."
    elif sources.on_node is not None and instance and instance.id not in sources.on_node:
        yield "The node was not queried through SSM."
    if report is None and group and not get_family(group.family).has_shell and sources.on_node is not None:
        yield f"{group.family} has no shell: its programs were not read."


def _architectures(pair: NodePair) -> dict[str, str]:
    instance, report = pair.instance, pair.report
    found = {
        "plan": " or ".join(pair.group.architectures) if pair.group else "",
        "EC2": str(instance.architecture or "") if instance else "",
        "AMI": str(instance.image.architecture or "") if instance else "",
        "node": pair.node.architecture if pair.node else "",
        "CPU": str(report.architecture or report.machine) if report else "",
    }
    return {source: value for source, value in found.items() if value}


def _verdict(
    pair: NodePair, findings: tuple[Finding, ...], unchecked: tuple[str, ...], sources: NodeReadings
) -> NodeVerdict:
    rules = {each.rule.name for each in findings}
    if "never-joined" in rules:
        return NodeVerdict.NEVER_JOINED
    if any(each.rule.severity is Severity.ERROR for each in findings):
        return NodeVerdict.WRONG
    if _is_starting(pair, sources):
        return NodeVerdict.JOINING
    if rules - {"not-asked"}:
        return NodeVerdict.WARNING
    missing = (sources.instances, sources.nodes, sources.on_node)
    return NodeVerdict.PARTLY_CHECKED if unchecked or rules or None in missing else NodeVerdict.OK
