"""Which nodes of NodePools are replaced after a change, and at what pace.

Karpenter replaces nodes that have drifted from their NodePool or EC2NodeClass, EKS Auto Mode likewise.
Sources: Karpenter, "Disruption", and ``pkg/apis/v1``: ``NodePool.Hash`` (karpenter 1.14), ``EC2NodeClass.Hash`` and
``pkg/cloudprovider/drift.go`` (karpenter-provider-aws 1.14); EKS user guide, "Create a Node Pool for EKS Auto Mode",
"Disruption".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from multiarch.autoscaling.karpenter import build_node_pool
from multiarch.autoscaling.model import Requirement
from multiarch.facts.auto_mode import DEFAULT_GRACE_PERIOD
from multiarch.manifests.selectors import Operator
from multiarch.observed.resources.nodes import (
    AUTO_MODE_CLASS,
    NODE_CLASS,
    NODE_POOL,
    get_ami_alias,
    get_pool_owner,
    list_pool_requirements,
)
from multiarch.observed.resources.paths import UNKNOWN, is_below
from multiarch.observed.resources.properties import (
    Properties,
    get_string_at,
    get_value,
    is_unknown,
    list_entries,
    read_known,
)
from multiarch.review.model import Operation, StackChange, Step
from multiarch.review.nodes.cluster_version import get_version_change
from multiarch.review.properties import describe_change, list_changes, list_resources
from multiarch.rules import Finding, make_finding

_UNKNOWN = "How many is unknown: nodes of NodePools are not in Pulumi's state. `kubectl get nodeclaims` counts them."
# Fields of a NodePool's template in its hash. Requirements are compared with each node instead.
_HASHED = (
    *(f"spec.template.spec.{name}" for name in ("taints", "startupTaints", "nodeClassRef")),
    *(f"spec.template.spec.{name}" for name in ("terminationGracePeriod", "expireAfter")),
    *("spec.template.metadata.labels", "spec.template.metadata.annotations"),
)
_NOT_HASHED = ("spec.ipPrefixCount", "spec.amiFamily")
"""Fields of an EC2NodeClass whose change replaces no node; all others are in its hash, or compared with the nodes."""
_CLASS = "spec.template.spec.nodeClassRef"
_RESERVATIONS = "spec.capacityReservationSelectorTerms"
"""Its change replaces the nodes in reservations that it no longer names."""


class PoolRoll(NamedTuple):
    """A NodePool whose nodes are replaced. ``whole``: all of them, not only those that no longer fit.

    ``pool`` are its properties after the change; ``reasons`` are the fields that differ, with short values; ``urns``
    name the resource that changes.
    """

    name: str
    whole: bool
    pool: Properties
    reasons: Sequence[str]
    urns: tuple[str, ...]

    @property
    def pace(self) -> str:
        """Return how many at a time, and when."""
        return _pace(self.pool)


def list_pool_rolls(change: StackChange) -> Iterator[PoolRoll]:
    """Yield the NodePools of the steps whose nodes are replaced, once for each cause: their own, or their class's."""
    for step in list_resources(change.preview.steps, NODE_POOL):
        hashed = _list_reasons(step, *_HASHED)
        if step.operation is Operation.UPDATE and (reasons := hashed or _narrowed(step)):
            yield PoolRoll(step.name, bool(hashed), step.new.inputs if step.new else {}, reasons, (step.urn,))
    pools = _pools(change)
    for kind, name, fields, urns in _list_class_changes(change):
        own = {pool: each for pool, each in pools.items() if get_string_at(each, f"{_CLASS}.name") == name}
        for pool, properties in own.items() or [(f"with {kind} {name}", _build_unknown_pool(kind))]:
            yield PoolRoll(pool, True, properties, [f"{kind} {name}: {', '.join(fields)}"], urns)  # noqa: FBT003


def find_karpenter_rolls(change: StackChange) -> Iterator[Finding]:
    """Yield NodePools that are deleted or replaced, then those whose nodes are."""
    for step in list_resources(change.preview.steps, NODE_POOL):
        if step.operation in (Operation.DELETE, Operation.REPLACE) and step.old:
            deleted, pool = step.operation is Operation.DELETE, step.old.inputs
            text = f"{get_pool_owner(pool)} drains all nodes at the same time, without regard to budgets."
            yield make_finding(
                "remove-nodes" if deleted else "roll-nodes",
                f"NodePool {step.name}",
                f"{'Deleted' if deleted else 'Replaced'}: {text}",
                (_UNKNOWN, _grace(pool)),
                (step.urn,),
            )
    for each in list_pool_rolls(change):
        which = "all nodes" if each.whole else "the nodes that no longer fit the requirements"
        yield make_finding(
            "roll-nodes",
            f"NodePool {each.name}",
            f"{get_pool_owner(each.pool)} replaces {which}, {each.pace}.",
            (
                f"Reason: {'; '.join(each.reasons)}.",
                _UNKNOWN,
                f"{_grace(each.pool)} A replacement is ready before a node is drained.",
            ),
            each.urns,
        )


def _build_unknown_pool(kind: str) -> Properties:
    """Return the NodePool of a node class where no step and no plan shows it."""
    spec = {"nodeClassRef": {"kind": kind}, "terminationGracePeriod": UNKNOWN}
    return {"spec": {"disruption": {"budgets": UNKNOWN}, "template": {"spec": spec}}}


def _list_class_changes(change: StackChange) -> Iterator[tuple[str, str, Sequence[str], tuple[str, ...]]]:
    """Yield the kind, the name, the reasons and the URNs of node classes whose change replaces nodes."""
    for step in list_resources(change.preview.steps, NODE_CLASS, AUTO_MODE_CLASS):
        if step.operation in (Operation.UPDATE, Operation.REPLACE) and (
            reasons := _list_reasons(step, "spec", without=(*_NOT_HASHED, *([] if _loses(step) else [_RESERVATIONS])))
        ):
            yield "NodeClass" if step.type == AUTO_MODE_CLASS else "EC2NodeClass", step.name, reasons, (step.urn,)
    upgrade = get_version_change(change)
    if upgrade is not None:  # an image alias then stands for another image, so that all nodes drift
        for name, alias in _aliases(change):
            reason = f"Kubernetes {upgrade.before} → {upgrade.after}: {alias} stands for another image then"
            yield "EC2NodeClass", name, [reason], upgrade.urns


def _loses(step: Step) -> bool:
    """Return whether an EC2NodeClass no longer names a capacity reservation that it named."""
    before, after = (list_entries(side.inputs, _RESERVATIONS) if side else () for side in (step.old, step.new))
    return any(term not in after for term in before)


def _aliases(change: StackChange) -> Iterator[tuple[str, str]]:
    """Yield EC2NodeClasses with an alias, which neither this change creates nor changes otherwise."""
    steps = [*list_resources(change.preview.steps, NODE_CLASS)]
    for step in steps:
        alias = get_ami_alias(step.new.inputs if step.new else {})
        if alias and step.operation in (Operation.SAME, Operation.DRIFT):
            yield step.name, alias
    karpenter = [plan.autoscaling.karpenter for plan in change.plans or ()]
    if not steps and all(karpenter):
        yield from ((each.node_class.name, each.node_class.ami_alias) for each in karpenter[1:] if each)


def _grace(pool: Properties) -> str:
    path = "spec.template.spec.terminationGracePeriod"
    grace = get_string_at(pool, path)
    if is_unknown(pool, path):
        return "For how long is unknown."
    if grace is None and get_pool_owner(pool) != "Karpenter":
        grace = DEFAULT_GRACE_PERIOD
    if grace is None:
        return (
            "For how long is unknown: without terminationGracePeriod a node waits for its pods and their "
            "PodDisruptionBudgets without limit."
        )
    return f"Each node is drained for {grace} at most (terminationGracePeriod), then its pods are deleted."


def _pace(pool: Properties) -> str:
    """Return the pace of drift in words, by the NodePool's budgets; Karpenter's default is 10 %."""
    if is_unknown(pool, "spec.disruption.budgets"):
        return "as its budgets allow"
    always, quiet = ["10%"], []
    budgets = [each for each in list_entries(pool, "spec.disruption.budgets") if _about_drift(each)]
    if get_value(pool, "spec.disruption.budgets") is not None:
        always = [str(each.get("nodes")) for each in budgets if not each.get("schedule")]
        quiet = [each for each in budgets if each.get("schedule")]
    base = f"{' and '.join(always)} at a time" if always else "without a limit on how many at a time"
    if always and always[0].endswith("%"):
        base = f"at most {' and '.join(always)} of them at a time (rounded up)"
    times = [f"{_most(each)} for {each.get('duration')} from {each.get('schedule')} (UTC)" for each in quiet]
    return "; ".join([base, *times])


def _most(budget: Mapping[str, Any]) -> str:
    nodes = str(budget.get("nodes"))
    return "none" if nodes in ("0", "0%") else f"at most {nodes}"


def _about_drift(budget: Mapping[str, Any]) -> bool:
    reasons = budget.get("reasons")
    return not isinstance(reasons, list) or "Drifted" in reasons


def _list_reasons(step: Step, *roots: str, without: Sequence[str] = ()) -> list[str]:
    """Return the changed fields below ``roots`` by their names, with both values where they are short."""
    changed = (path for path in list_changes(step, *roots) if not is_below(path, without))
    depth = max(root.count(".") for root in roots) + (1 if roots == ("spec",) else 0)
    fields = dict.fromkeys(".".join(path.partition("[")[0].split(".")[: depth + 1]) for path in changed)
    return [describe_change(step, field, field.rpartition(".")[2]) for field in fields]


def _pools(change: StackChange) -> Mapping[str, Properties]:
    """Return the NodePools after the change, as manifests."""
    found: dict[str, Properties] = {}
    if change.after is not None and change.after.plan is not None:
        found = {pool.name: build_node_pool(pool) for pool in change.after.plan.autoscaling.pools}
    for step in list_resources(change.preview.steps, NODE_POOL):
        if step.new is not None:
            found[step.name] = step.new.inputs
    return found


def _narrowed(step: Step) -> list[str]:
    """Return what nodes may no longer be, by requirement; empty if every node still fits."""
    old, new = (
        {each.key: each for each in read_known(list_pool_requirements, properties) or ()}
        for properties in (state.inputs if state else {} for state in (step.old, step.new))
    )
    lost = []
    for key, wanted in new.items():
        had = old.get(key)
        if had is None:
            lost.append(f"new requirement {wanted}")
        elif had != wanted and not _is_wider(had, wanted):
            lost.append(f"{had} → {wanted}")
    return lost


def _is_wider(had: Requirement, wanted: Requirement) -> bool:
    """Return whether every node that fitted fits still. Operators that are compared here are those of a plan."""
    if had.operator != wanted.operator:
        return False
    old, new = had.values, wanted.values
    if wanted.operator == Operator.IN:
        return set(old) <= set(new)
    if wanted.operator == Operator.NOT_IN:
        return set(new) <= set(old)
    if wanted.operator == Operator.GT and all(len(each) == 1 and each[0].isdecimal() for each in (old, new)):
        return int(new[0]) <= int(old[0])
    return False
