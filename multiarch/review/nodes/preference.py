"""The order in which an autoscaler tries groups: which architecture new pods get first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multiarch.autoscaling.expander import choose
from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.observed.resources.nodes import MANAGED_GROUP, NODE_POOL
from multiarch.observed.resources.properties import Properties, entries, text_at, whole_at
from multiarch.review.model import Change, Operation, Step
from multiarch.review.nodes.group_states import GroupChange, GroupKind, GroupState
from multiarch.review.nodes.installed import AUTOSCALER_RELEASES, RELEASE, installed
from multiarch.review.nodes.taints import is_hard
from multiarch.review.properties import after, before, changes_of, resources
from multiarch.rules import REVIEW_RULES, Finding, Risk

PREFERENCE = REVIEW_RULES["change-preference"]
_UUID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class _Tier:
    """Groups that an autoscaler prefers alike, and what their nodes are."""

    groups: tuple[str, ...]
    architectures: frozenset[Architecture]

    def __str__(self) -> str:
        what = " or ".join(sorted(self.architectures))
        return f"{', '.join(self.groups)} ({what})" if what else ", ".join(self.groups)


def find_preference(change: Change, groups: Sequence[GroupChange]) -> Iterator[Finding]:
    """Another architecture first, or another order of the same groups.

    Groups for special pods, those with another taint than the arm64 nodes have, are left out.
    """
    try:
        sides = _orders(change, [*_general(groups)])
    except MultiarchError as error:
        text = f"Whether the preference changes is unknown: {error.message}"
        yield Finding(PREFERENCE, "autoscaler", text)
        return
    for old, new, urns in sides:
        if not old or not new or _names(old) == _names(new):
            continue
        first, then = old[0].architectures, new[0].architectures
        details = (f"Before: {_listed(old)}.", f"From now on: {_listed(new)}.")
        if first != then:
            was = " or ".join(sorted(first))
            text = (
                f"New pods prefer {' or '.join(sorted(then))} from now on (before: {was}), where they may run on both."
            )
            yield Finding(PREFERENCE, "autoscaler", text, (*details, _STAY), urns)
        elif _among(old, new) != _among(new, old):
            text = "The order in which the autoscaler tries groups changes; the same architecture comes first."
            yield Finding(PREFERENCE, "autoscaler", text, details, urns, Risk.LOW)


def _general(groups: Sequence[GroupChange]) -> Iterator[GroupChange]:
    """Groups whose nodes all pods may use that tolerate the taint of arm64 nodes."""
    for_arm64 = [_hard_taints([each.before for each in groups]), _hard_taints([each.after for each in groups])]
    for group in groups:
        states = ((group.before, for_arm64[0]), (group.after, for_arm64[1]))
        if all(state is None or not {*filter(is_hard, state.taints or ())} - allowed for state, allowed in states):
            yield group


def _hard_taints(states: Sequence[GroupState | None]) -> set[Taint]:
    """The taints of all groups of arm64 alone, without those that have none."""
    found = [
        {*filter(is_hard, state.taints)}
        for state in states
        if state is not None and state.taints and state.architectures == (Architecture.ARM64,)
    ]
    return set.intersection(*found) if found else set()


_STAY = "Running pods stay; existing nodes with room are still filled first."


def _names(tiers: Sequence[_Tier]) -> list[tuple[str, ...]]:
    return [tier.groups for tier in tiers]


def _among(tiers: Sequence[_Tier], others: Sequence[_Tier]) -> list[tuple[str, ...]]:
    """The order of the groups that both sides have."""
    both = {name for tier in others for name in tier.groups}
    kept = (tuple(name for name in tier.groups if name in both) for tier in tiers)
    return [names for names in kept if names]


def _listed(tiers: Sequence[_Tier]) -> str:
    return ", then ".join(map(str, tiers))


_Sides = tuple[list[_Tier], list[_Tier], tuple[str, ...]]


def _orders(change: Change, groups: Sequence[GroupChange]) -> list[_Sides]:
    """The order before and after, of the autoscaler in use; of both autoscalers where the plans do not say which."""
    plans = change.plans
    if plans is not None:
        urns = _urns(change)
        if change.preview.is_complete and not urns:
            return []
        old = _planned_order(plans[0].autoscaling, groups, late=False)
        return [(old, _planned_order(plans[1].autoscaling, groups, late=True), urns)]
    one, other, _ = installed(change)
    if one != other or len(one) != 1:
        # Which of the two comes first is a setting that no resource shows.
        return []
    return [_priorities(change, groups), _weights(change, groups)]


def _urns(change: Change) -> tuple[str, ...]:
    """What makes up the order and changes: the cluster autoscaler's release and NodePools."""
    return tuple(
        step.urn
        for step in resources(change.preview.steps, RELEASE, NODE_POOL)
        if step.operation not in (Operation.SAME, Operation.DRIFT)
        and (step.type == NODE_POOL or step.name in AUTOSCALER_RELEASES)
    )


def _planned_order(plan: AutoscalingPlan, groups: Sequence[GroupChange], *, late: bool) -> list[_Tier]:
    rows: list[tuple[int, str]] = []
    if plan.use is Autoscaler.KARPENTER and plan.karpenter:
        rows = [(pool.weight, pool.name) for pool in plan.karpenter.pools]
    elif plan.cluster_autoscaler:
        rows = [(row.priority, row.group) for row in plan.cluster_autoscaler.priorities]
    of_pools = plan.use is Autoscaler.KARPENTER
    return _tiers(rows, [group for group in groups if (group.kind is GroupKind.NODE_POOL) is of_pools], late=late)


def _tiers(rows: Sequence[tuple[int, str]], groups: Sequence[GroupChange], *, late: bool) -> list[_Tier]:
    by_name = {group.name: group.after if late else group.before for group in groups}
    tiers = []
    for number in sorted({number for number, name in rows if name in by_name}, reverse=True):
        names = sorted(name for each, name in rows if each == number and name in by_name)
        states = [state for name in names if (state := by_name.get(name))]
        known = frozenset(each for state in states for each in state.architectures or ())
        tiers.append(_Tier(tuple(names), known))
    return tiers


def _weights(change: Change, groups: Sequence[GroupChange]) -> _Sides:
    pools = [group for group in groups if group.kind is GroupKind.NODE_POOL and group.step is not None]
    steps = list(resources(change.preview.steps, NODE_POOL))
    old = [(weight, step.name) for step in steps if step.old and (weight := _weight(step.old.inputs)) is not None]
    gone = (Operation.DELETE, Operation.FORGET)
    new = [
        (weight, step.name)
        for step in steps
        if step.operation not in gone and step.new and (weight := _weight(step.new.inputs)) is not None
    ]
    changed = tuple(step.urn for step in steps if changes_of(step, "spec.weight"))
    return _tiers(old, pools, late=False), _tiers(new, pools, late=True), changed


def _weight(properties: Properties) -> int | None:
    return whole_at(properties, "spec.weight")


def _priorities(change: Change, groups: Sequence[GroupChange]) -> _Sides:
    """The priority expander's map on both sides, tried with the names of the Auto Scaling Groups."""
    for step in resources(change.preview.steps, RELEASE):
        if step.name == "cluster-autoscaler" and changes_of(step, "values.expanderPriorities"):
            old, new = before(step, "values.expanderPriorities"), after(step, "values.expanderPriorities")
            if isinstance(old, str) and isinstance(new, str):
                return _expanded(old, groups, late=False), _expanded(new, groups, late=True), (step.urn,)
    return [], [], ()


def _expanded(priorities: str, groups: Sequence[GroupChange], *, late: bool) -> list[_Tier]:
    names = {
        name: group.name
        for group in groups
        if group.kind is not GroupKind.NODE_POOL and group.step and (name := _scaling_group(group.step, late=late))
    }
    rows, left = [], list(names)
    while left:
        best = choose(priorities, left)
        rows += [(len(left), names[each]) for each in best]
        left = [each for each in left if each not in best]
    return _tiers(rows, [group for group in groups if group.kind is not GroupKind.NODE_POOL], late=late)


def _scaling_group(step: Step, *, late: bool) -> str | None:
    """A name that the Auto Scaling Group has or could get."""
    state = step.new if late else step.old
    if state is None:
        return None
    if step.type != MANAGED_GROUP:
        return text_at(state.inputs, "name") or (step.old and text_at(step.old.outputs, "name")) or None
    for each in entries(state.outputs, "resources"):
        for group in entries(each, "autoscalingGroups"):
            if name := text_at(group, "name"):
                return name
    name = text_at(state.inputs, "nodeGroupName")
    return f"eks-{name}-{_UUID}" if name else None
