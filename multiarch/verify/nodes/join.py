"""One row per node: what the plan, EC2, Kubernetes and the node itself say of it, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from multiarch.facts import labels as keys
from multiarch.facts.ami_families import family_facts
from multiarch.facts.taints import Taint
from multiarch.nodes.model import NodeGroupPlan
from multiarch.rules import Finding, Severity
from multiarch.ssm.model import Answer
from multiarch.verify.nodes import against_node, against_plan
from multiarch.verify.nodes.model import (
    Instance,
    KubernetesNode,
    NodeRow,
    NodeVerdict,
    Sources,
    Verification,
)
from multiarch.verify.nodes.planned import PlannedGroup, group_of
from multiarch.verify.nodes.rules import make_finding
from multiarch.verify.on_node.model import NodeReport

_GONE = ("terminated", "shutting-down")
_NO_PROFILE = "It has no instance profile, and so no role: replace it with an instance that its group starts."


def verify(sources: Sources) -> Verification:
    """Compare everything. The same sources give the same rows, in the order of group and name."""
    rows = sorted((_row(each, sources) for each in _joined(sources)), key=lambda row: (row.group, row.name))
    notes = (*sources.notes, *_missing_groups(rows, sources))
    return Verification(sources.cluster, tuple(rows), notes)


def _missing_groups(rows: Sequence[NodeRow], sources: Sources) -> Iterator[str]:
    """Groups without a row although their minimum is not 0: without a note, nothing would say so."""
    if sources.instances is None:
        return
    seen = {row.group for row in rows}
    for group in sources.planned or ():
        owner = group.owner
        if isinstance(owner, NodeGroupPlan) and owner.sizes.minimum and group.name not in seen:
            yield f"{group.name}: no node of this group was found; its minimum is {owner.sizes.minimum}."


def not_joined(sources: Sources) -> tuple[Instance, ...]:
    """The instances that run longer than ``join_minutes`` and have no Node; none if the Nodes are not known."""
    return tuple(
        pair.instance
        for pair in _joined(sources)
        if pair.instance is not None and pair.node is None and _is_overdue(pair.instance, sources)
    )


def _is_overdue(instance: Instance, sources: Sources) -> bool:
    if sources.nodes is None or not instance.running or instance.out_of_service:
        return False
    return not _is_new(instance, sources)


def _is_new(instance: Instance, sources: Sources) -> bool:
    return sources.now - instance.launched <= timedelta(minutes=sources.join_minutes)


def _is_starting(pair: _Pair, sources: Sources) -> bool:
    """Whether it was started a few minutes ago and has no Node, or one that is not Ready yet."""
    if sources.nodes is None or pair.instance is None or pair.instance.out_of_service:
        return False
    if pair.node is None:
        return pair.instance.state in ("pending", "running")
    return pair.instance.running and pair.node.ready != "True" and _is_new(pair.instance, sources)


def _must_be_ready(pair: _Pair, sources: Sources) -> bool:
    """Not a Node that starts, and none whose instance is about to end, such as an interrupted Spot Instance's."""
    instance = pair.instance
    if instance is not None and (not instance.running or instance.out_of_service):
        return False
    return not _is_starting(pair, sources)


@dataclass(frozen=True, slots=True)
class _Pair:
    """An instance and its Node; one of them may be missing."""

    instance: Instance | None
    node: KubernetesNode | None

    @property
    def id(self) -> str:
        """The instance's ID, or empty for a Node without one."""
        return self.instance.id if self.instance else self.node.instance if self.node else ""

    @property
    def tags(self) -> Mapping[str, str]:
        """EC2's."""
        return self.instance.tags if self.instance else {}

    @property
    def labels(self) -> Mapping[str, str]:
        """The Node's."""
        return self.node.labels if self.node else {}


def _joined(sources: Sources) -> Iterator[_Pair]:
    """Every Node with its instance, and every other instance that exists."""
    instances = {each.id: each for each in sources.instances or ()}
    by_dns = {each.private_dns: each for each in instances.values() if each.private_dns}
    taken = set()
    for node in sources.nodes or ():
        # A Node without a provider ID is told by its name, which AWS's cloud provider takes from EC2.
        found = instances.get(node.instance) if node.instance else by_dns.get(node.name)
        if found:
            taken.add(found.id)
        yield _Pair(found, node)
    for identifier, instance in instances.items():
        if identifier not in taken and instance.state not in _GONE:
            yield _Pair(instance, None)


def _row(pair: _Pair, sources: Sources) -> NodeRow:
    group, name = group_of(sources.planned or (), pair.tags, pair.labels)
    answer = (sources.on_node or {}).get(pair.id)
    report = answer if isinstance(answer, NodeReport) else None
    findings = (
        *_membership(pair, group, name, sources),
        *(_boot(pair.instance, sources) if pair.instance and not pair.node else ()),
        *_compared(pair, group, report, sources),
        *(_unanswered(answer) if isinstance(answer, Answer) else ()),
    )
    ordered = tuple(sorted(findings, key=lambda each: each.rule.severity is not Severity.ERROR))
    unchecked = tuple(_not_checked(pair, group, report, sources))
    return NodeRow(
        name=pair.node.name if pair.node else pair.id,
        group=group.name if group else name,
        instance=pair.instance,
        node=pair.node,
        on_node=answer,
        architectures=_architectures(pair, group, report),
        findings=ordered,
        not_checked=unchecked,
        verdict=_verdict(pair, ordered, unchecked, sources),
        missing_taints=against_plan.missing_taints(group, pair.node) if group and pair.node else (),
    )


def _membership(pair: _Pair, group: PlannedGroup | None, name: str, sources: Sources) -> Iterator[Finding]:
    """Whether the node belongs to the plan, and its Node to an instance."""
    if sources.planned is not None and group is None and (name or pair.instance):
        named = f"its group {name} is not in the stack" if name else "nothing says which group it belongs to"
        yield make_finding("unknown-group", f"{named}.")
    node, instance = pair.node, pair.instance
    if node is None:
        return
    if not node.instance and not node.hybrid:
        yield make_finding("no-provider-id", "its Node has no provider ID of an instance.")
    elif node.instance and sources.instances is not None and (instance is None or not instance.running):
        state = f"is {instance.state}" if instance else "does not exist any more in EC2"
        yield make_finding("no-instance", f"its instance {node.instance} {state}.")


def _boot(instance: Instance, sources: Sources) -> Iterator[Finding]:
    if not _is_overdue(instance, sources):
        return
    minutes = int((sources.now - instance.launched).total_seconds() // 60)
    fault = sources.boot.get(instance.id)
    if fault is None:
        yield make_finding("never-joined", f"it has run for {_long(minutes)} and is not a Node.")
    else:
        said = f"it has run for {_long(minutes)} and is not a Node: {fault.cause}."
        without = () if instance.profile else (_NO_PROFILE,)
        yield make_finding("never-joined", said, fault.hint, (*fault.lines, *without))


def _long(minutes: int) -> str:
    """``12 minutes``, ``3 hours``, ``4 days``."""
    for unit, size in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * size:
            return f"{minutes // size} {unit}s"
    return f"{minutes} minutes"


def _compared(
    pair: _Pair, group: PlannedGroup | None, report: NodeReport | None, sources: Sources
) -> Iterator[Finding]:
    instance, node = pair.instance, pair.node
    if instance is not None and instance.state not in _GONE:
        if group is not None:
            yield from against_plan.instance_findings(group, instance)
        yield from against_node.image_findings(instance)
    if node is not None:
        found = against_node.node_findings(instance, node, sources.kubernetes_version)
        yield from (each for each in found if each.rule.name != "not-ready" or _must_be_ready(pair, sources))
        if group is not None:
            kind = instance.type if instance else node.labels.get(keys.INSTANCE_TYPE, "")
            yield from against_plan.node_findings(
                group, node, kind, region=sources.region, arm64_taint=sources.arm64_taint, report=report
            )
    if report is not None:
        planned: list[Taint | str] = [*group.taints, *dict(group.owner.labels)] if group else []
        yield from against_node.report_findings(instance, node, report, planned)


def _unanswered(answer: Answer) -> Iterator[Finding]:
    agent = f" (agent {answer.agent_version})" if answer.agent_version else ""
    reason = answer.reason.rstrip(".")
    yield make_finding("not-asked", f"SSM: {reason or answer.status}{agent}.", answer.hint)


def _not_checked(pair: _Pair, group: PlannedGroup | None, report: NodeReport | None, sources: Sources) -> Iterator[str]:
    """What could not be compared, a sentence each."""
    instance = pair.instance
    if pair.node and pair.node.hybrid:
        yield "A hybrid node: it is not an EC2 instance, and was not asked through SSM."
    elif sources.planned is not None and instance is None and group is None:
        yield "Its group is not known without its instance."
    if group and instance and (why := against_plan.unchecked_image(group, instance)):
        yield why
    if instance and instance.out_of_service:
        yield f"The instance is {instance.lifecycle} in its Auto Scaling Group."
    if instance and instance.architecture is None:
        yield f"The architecture of {instance.type} is not known: run `multiarch facts refresh`."
    if report is not None:
        yield from report.faults
        yield from (f"{each.name}: {each.fault}" for each in report.programs if each.fault)
    elif instance and not instance.running:
        yield f"The instance is {instance.state}."
    elif sources.on_node is not None and instance and instance.id not in sources.on_node:
        yield "The node was not asked through SSM."
    if report is None and group and not family_facts(group.family).has_shell and sources.on_node is not None:
        yield f"{group.family} has no shell: its programs were not read."


def _architectures(pair: _Pair, group: PlannedGroup | None, report: NodeReport | None) -> dict[str, str]:
    instance, node = pair.instance, pair.node
    found = {
        "plan": " or ".join(group.architectures) if group else "",
        "EC2": str(instance.architecture or "") if instance else "",
        "AMI": str(instance.image.architecture or "") if instance else "",
        "node": node.architecture if node else "",
        "CPU": str(report.architecture or report.machine) if report else "",
    }
    return {source: value for source, value in found.items() if value}


def _verdict(pair: _Pair, findings: tuple[Finding, ...], unchecked: tuple[str, ...], sources: Sources) -> NodeVerdict:
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
