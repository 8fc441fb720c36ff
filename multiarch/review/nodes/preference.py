"""The order in which an autoscaler tries groups: which architecture new pods get first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.observed.resources.nodes import NODE_POOL
from multiarch.review.model import Operation, StackChange
from multiarch.review.nodes.group_states import GroupChange, GroupState
from multiarch.review.nodes.installed import AUTOSCALER_RELEASES, RELEASE
from multiarch.review.nodes.taints import is_hard
from multiarch.review.properties import list_resources
from multiarch.rules import Finding, make_finding


@dataclass(frozen=True, slots=True)
class _Tier:
    """Groups that an autoscaler prefers alike, and what their nodes are."""

    groups: tuple[str, ...]
    architectures: frozenset[Architecture]

    def __str__(self) -> str:
        what = " or ".join(sorted(self.architectures))
        return f"{', '.join(self.groups)} ({what})" if what else ", ".join(self.groups)


def find_preference(change: StackChange, groups: Sequence[GroupChange]) -> Iterator[Finding]:
    """Yield another architecture first, by the stack files.

    Groups for special pods, those with another taint than the arm64 nodes have, do not count.
    """
    urns = tuple(
        step.urn
        for step in list_resources(change.preview.steps, RELEASE, NODE_POOL)
        if step.operation not in (Operation.SAME, Operation.DRIFT)
        and (step.type == NODE_POOL or step.name in AUTOSCALER_RELEASES)
    )
    plans = change.plans
    if plans is None or (change.preview.is_complete and not urns):
        return
    general = [*_general(groups)]
    old = _read_order(plans[0].autoscaling, {group.name: group.before for group in general})
    new = _read_order(plans[1].autoscaling, {group.name: group.after for group in general})
    if old and new and (first := old[0].architectures) != (then := new[0].architectures):
        was = " or ".join(sorted(first))
        text = f"New pods prefer {' or '.join(sorted(then))} from now on (before: {was}), where they may run on both."
        details = (f"Before: {_listed(old)}.", f"From now on: {_listed(new)}.", _STAY)
        yield make_finding("change-preference", "autoscaler", text, details, urns)


def _general(groups: Sequence[GroupChange]) -> Iterator[GroupChange]:
    """Yield groups whose nodes all pods may use that tolerate the taint of arm64 nodes."""
    for_arm64 = [_hard_taints([each.before for each in groups]), _hard_taints([each.after for each in groups])]
    for group in groups:
        states = ((group.before, for_arm64[0]), (group.after, for_arm64[1]))
        if all(state is None or not {*filter(is_hard, state.taints or ())} - allowed for state, allowed in states):
            yield group


def _hard_taints(states: Sequence[GroupState | None]) -> set[Taint]:
    """Return the taints of all groups of arm64 alone, without those that have none."""
    found = [
        {*filter(is_hard, state.taints)}
        for state in states
        if state is not None and state.taints and state.architectures == (Architecture.ARM64,)
    ]
    return set.intersection(*found) if found else set()


_STAY = "Running pods stay; existing nodes with room are still filled first."


def _listed(tiers: Sequence[_Tier]) -> str:
    return ", then ".join(map(str, tiers))


def _read_order(plan: AutoscalingPlan, states: Mapping[str, GroupState | None]) -> list[_Tier]:
    """Return the groups that the autoscaler in use tries, the preferred ones first."""
    rows: list[tuple[int, str]] = []
    if plan.use in (Autoscaler.KARPENTER, Autoscaler.AUTO_MODE):
        rows = [(pool.weight, pool.name) for pool in plan.pools]
    elif plan.cluster_autoscaler:
        rows = [(row.priority, row.group) for row in plan.cluster_autoscaler.priorities]
    tiers = []
    for number in sorted({number for number, name in rows if name in states}, reverse=True):
        names = sorted(name for each, name in rows if each == number and name in states)
        known = [state for name in names if (state := states[name])]
        tiers.append(_Tier(tuple(names), frozenset(each for state in known for each in state.architectures or ())))
    return tiers
