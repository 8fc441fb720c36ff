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
from multiarch.facts.auto_mode import DEFAULT_GRACE_PERIOD
from multiarch.manifests.selectors import Operator
from multiarch.observed.resources.nodes import (
    AUTO_MODE_CLASS,
    NODE_CLASS,
    NODE_POOL,
    PoolRequirement,
    get_pool_owner,
    list_pool_requirements,
)
from multiarch.observed.resources.paths import is_below
from multiarch.observed.resources.properties import Properties, get_string_at, get_value, list_entries, read_known
from multiarch.review.model import Operation, StackChange, Step
from multiarch.review.nodes.cluster_version import get_version_change
from multiarch.review.nodes.group_ends import REMOVE, ROLL
from multiarch.review.properties import describe_change, list_changes, list_resources
from multiarch.rules import Finding

_UNKNOWN = "How many is unknown: nodes of NodePools are not in Pulumi's state. `kubectl get nodeclaims` counts them."
# Fields of a NodePool's template in its hash. Requirements are compared with each node instead.
_HASHED = (
    *(f"spec.template.spec.{name}" for name in ("taints", "startupTaints", "nodeClassRef")),
    *(f"spec.template.spec.{name}" for name in ("terminationGracePeriod", "expireAfter")),
    *("spec.template.metadata.labels", "spec.template.metadata.annotations"),
)
_NOT_HASHED = ("spec.ipPrefixCount", "spec.amiFamily")
"""Fields of an EC2NodeClass whose change replaces no node; all others are in its hash, or compared with the nodes."""
_RESERVATIONS = "spec.capacityReservationSelectorTerms"
"""Its change replaces the nodes in reservations that it no longer names."""


class PoolRoll(NamedTuple):
    """A NodePool whose nodes are replaced. ``whole``: all of them, not only those that no longer fit.

    ``pace`` says how many at a time, and when; ``reasons`` are the fields that differ, with short values.
    """

    name: str
    whole: bool
    pace: str
    reasons: Sequence[str]


class _ClassRoll(NamedTuple):
    kind: str
    name: str
    reasons: Sequence[str]
    urns: tuple[str, ...]


def list_pool_rolls(change: StackChange) -> Iterator[PoolRoll]:
    """Yield the NodePools of the steps whose nodes are replaced, once for each cause: their own, or their class's."""
    pools = _pools(change)
    for step in list_resources(change.preview.steps, NODE_POOL):
        hashed = _list_reasons(step, *_HASHED)
        if step.operation is Operation.UPDATE and (reasons := hashed or _narrowed(step)):
            yield PoolRoll(step.name, bool(hashed), _pace(_declared(step)), reasons)
    for each in _list_class_rolls(change):
        reasons = [f"{each.kind} {each.name}: {', '.join(each.reasons)}"]
        for name, pool in _own_pools(each.name, pools).items():
            yield PoolRoll(name, whole=True, pace=_pace(pool), reasons=reasons)


def find_karpenter_rolls(change: StackChange) -> Iterator[Finding]:
    """Yield findings about NodePools in the order of the preview's steps, then about their node classes."""
    for step in list_resources(change.preview.steps, NODE_POOL):
        yield from _pool(step)
    pools = _pools(change)
    yield from (_class_finding(each, pools) for each in _list_class_rolls(change))


def _list_class_rolls(change: StackChange) -> Iterator[_ClassRoll]:
    for step in list_resources(change.preview.steps, NODE_CLASS, AUTO_MODE_CLASS):
        if step.operation in (Operation.UPDATE, Operation.REPLACE) and (
            reasons := _list_reasons(step, "spec", without=(*_NOT_HASHED, *([] if _loses(step) else [_RESERVATIONS])))
        ):
            kind = "NodeClass" if step.type == AUTO_MODE_CLASS else "EC2NodeClass"
            yield _ClassRoll(kind, step.name, reasons, (step.urn,))
    upgrade = get_version_change(change)
    if upgrade is not None:  # an image alias then stands for another image, so that all nodes drift
        for name, alias in _aliases(change):
            reason = f"Kubernetes {upgrade.before} → {upgrade.after}: {alias} stands for another image then"
            yield _ClassRoll("EC2NodeClass", name, [reason], upgrade.urns)


def _loses(step: Step) -> bool:
    """Return whether an EC2NodeClass no longer names a capacity reservation that it named."""
    before, after = (list_entries(side.inputs, _RESERVATIONS) if side else () for side in (step.old, step.new))
    return any(term not in after for term in before)


def _aliases(change: StackChange) -> Iterator[tuple[str, str]]:
    """Yield EC2NodeClasses with an alias, which neither this change creates nor changes otherwise."""
    steps = [*list_resources(change.preview.steps, NODE_CLASS)]
    for step in steps:
        terms = list_entries(step.new.inputs if step.new else {}, "spec.amiSelectorTerms")
        alias = next((each for term in terms if (each := get_string_at(term, "alias"))), None)
        if alias and step.operation in (Operation.SAME, Operation.DRIFT):
            yield step.name, alias
    karpenter = [plan.autoscaling.karpenter for plan in change.plans or ()]
    if not steps and all(karpenter):
        yield from ((each.node_class.name, each.node_class.ami_alias) for each in karpenter[1:] if each)


def _pool(step: Step) -> Iterator[Finding]:
    subject, pace, who = f"NodePool {step.name}", _pace(_declared(step)), get_pool_owner(_declared(step))
    if step.operation in (Operation.DELETE, Operation.REPLACE):
        deleted = step.operation is Operation.DELETE
        yield Finding(
            REMOVE if deleted else ROLL,
            subject,
            f"{'Deleted' if deleted else 'Replaced'}: {who} drains all nodes at the same time, without regard to "
            "budgets.",
            (_UNKNOWN, _grace(step.old.inputs if step.old else {})),
            (step.urn,),
        )
    elif step.operation is Operation.UPDATE:
        if reasons := _list_reasons(step, *_HASHED):
            text = f"{who} replaces all nodes, {pace}."
            yield Finding(ROLL, subject, text, _details(reasons, _declared(step)), (step.urn,))
        elif lost := _narrowed(step):
            text = f"{who} replaces the nodes that no longer fit the requirements, {pace}."
            yield Finding(ROLL, subject, text, _details(lost, _declared(step)), (step.urn,))


def _declared(step: Step) -> Properties:
    """Return the declared properties after the change; before it, for a resource that is deleted."""
    state = step.new or step.old
    return state.inputs if state else {}


def _details(reasons: Sequence[str], pool: Properties) -> tuple[str, ...]:
    return (
        f"Reason: {'; '.join(reasons)}.",
        _UNKNOWN,
        f"{_grace(pool)} A replacement is ready before a node is drained.",
    )


def _grace(pool: Properties) -> str:
    grace = get_string_at(pool, "spec.template.spec.terminationGracePeriod")
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


def _class_finding(roll: _ClassRoll, pools: Mapping[str, Properties]) -> Finding:
    own = _own_pools(roll.name, pools)
    paces = [f"{pool}: {_pace(each)}." for pool, each in sorted(own.items())]
    graces = sorted({_grace(each) for each in own.values()})
    return Finding(
        ROLL,
        f"{roll.kind} {roll.name}",
        f"{'Karpenter' if roll.kind == 'EC2NodeClass' else 'EKS Auto Mode'} replaces all nodes of the NodePools with "
        f"this {roll.kind}, as their budgets allow.",
        (f"Reason: {'; '.join(roll.reasons)}.", _UNKNOWN, *paces, *graces),
        roll.urns,
    )


def _own_pools(name: str, pools: Mapping[str, Properties]) -> Mapping[str, Properties]:
    """Return the NodePools with the node class ``name``."""
    path = "spec.template.spec.nodeClassRef.name"
    return {pool: each for pool, each in pools.items() if get_string_at(each, path) == name}


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
        for properties in (step.old.inputs if step.old else {}, _declared(step))
    )
    lost = []
    for key, wanted in new.items():
        had = old.get(key)
        if had is None:
            lost.append(f"new requirement {wanted}")
        elif had != wanted and not _is_wider(had, wanted):
            lost.append(f"{had} → {wanted}")
    return lost


def _is_wider(had: PoolRequirement, wanted: PoolRequirement) -> bool:
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
