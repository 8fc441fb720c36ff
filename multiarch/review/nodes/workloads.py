"""Workloads that lose their nodes, or move to another architecture.

With manifests, both plans are simulated with the same pods. Without, the finding says which labels, zones,
architectures and untainted nodes no group has any more: pods that need one of them would wait without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.plurals import format_count
from multiarch.review.model import StackChange
from multiarch.review.nodes.group_states import GroupState, knows_all_groups, list_group_changes
from multiarch.review.nodes.taints import is_hard
from multiarch.rules import Finding, Risk, make_finding
from multiarch.stack.model import Plan

if TYPE_CHECKING:
    from multiarch.simulate.model import WorkloadOutcome


def find_affected_workloads(change: StackChange) -> Iterator[Finding]:
    """Yield findings by workload if there are manifests and both plans, or else by what is lost."""
    plans = change.plans
    if change.pods and plans is not None:
        yield from _simulated(change, *plans)
    else:
        yield from find_lost(change)


def _simulated(change: StackChange, old: Plan, new: Plan) -> Iterator[Finding]:
    if old == new:
        return
    try:
        before, after = _outcomes(change, old), _outcomes(change, new)
    except MultiarchError as error:
        yield make_finding(
            "strand-workloads",
            "workloads",
            f"The simulation failed, so it is unknown which are stranded: {error.message}",
        )
        return
    for key, now in after.items():
        was = before[key]
        if len(now.unplaced) > len(was.unplaced):
            yield _stranded(was, now)
        elif was.places and now.places and (moved := _moved(was, now)):
            yield moved


_Key = tuple[str, str, int]


def _outcomes(change: StackChange, plan: Plan) -> dict[_Key, WorkloadOutcome]:
    """Return each workload's outcome, by namespace, name and position: pods of one workload may differ."""
    from multiarch.simulate.context import build_simulation_context  # noqa: PLC0415  (most reviews have no manifests)
    from multiarch.simulate.simulation import simulate_nodes  # noqa: PLC0415  (as above)

    result = simulate_nodes(plan.autoscaling, plan.node_groups, build_simulation_context(plan), change.pods).simulation
    return {(each.namespace, each.name, number): each for number, each in enumerate(result.workloads)}


def _stranded(was: WorkloadOutcome, now: WorkloadOutcome) -> Finding:
    lost, without = len(now.unplaced) - len(was.unplaced), len(was.unplaced)
    which = f"{lost} of {format_count(now.pods, 'pod')} {'gets' if lost == 1 else 'get'} no node any more"
    if lost == now.pods:
        which = "its pod gets no node any more" if lost == 1 else f"none of its {lost} pods gets a node any more"
    also = f"; {without} had none before" if without else ""
    return make_finding(
        "strand-workloads",
        f"{now.namespace} {now.name}",
        f"{which[0].upper()}{which[1:]} (before: {_on(was)}{also}).",
        tuple(_reasons(was, now)),
    )


def _on(outcome: WorkloadOutcome) -> str:
    return ", ".join(f"{answer.pods} on {answer.group}" for answer in outcome.answers if answer.pods)


def _reasons(was: WorkloadOutcome, now: WorkloadOutcome) -> Iterator[str]:
    """Yield why no group takes the pods: groups that are gone, then what each remaining one says."""
    left = {answer.group for answer in now.answers}
    yield from (f"{answer.group}: removed." for answer in was.answers if answer.pods and answer.group not in left)
    yield from (f"{answer.group}: {answer.reason}." for answer in now.answers if answer.reason)


def _moved(was: WorkloadOutcome, now: WorkloadOutcome) -> Finding | None:
    """Return a workload some of whose pods get another architecture than any of them had."""
    old, new = _architectures(was), _architectures(now)
    if old == new:
        return None
    return make_finding(
        "move-workloads",
        f"{now.namespace} {now.name}",
        f"New pods get {' and '.join(new)} nodes (before: {' and '.join(old)}).",
        (f"From now on: {_on(now)}.",),
        (),
        None if set(new) - set(old) else Risk.LOW,
    )


def _architectures(outcome: WorkloadOutcome) -> tuple[Architecture, ...]:
    return tuple(sorted({each for place in outcome.places for each in place.architectures}))


@dataclass(frozen=True, slots=True)
class _Supply:
    """What pods can require of nodes. ``open``: architectures of nodes without a taint that keeps pods off.

    ``labels`` are the nodes' own labels, each with the architectures of the nodes that carry it.
    """

    architectures: frozenset[Architecture]
    open: frozenset[Architecture]
    labels: Mapping[tuple[str, str], frozenset[Architecture]]
    zones: frozenset[str]


def find_lost(change: StackChange) -> Iterator[Finding]:
    """Yield what nodes had before the change, and no node has after it."""
    groups = list_group_changes(change)
    old = _supply(group.before for group in groups if group.before)
    new = _supply(group.after for group in groups if group.after)
    if not old.architectures or not any(group.after for group in groups):
        return
    urns = tuple(urn for group in groups if group.before != group.after for urn in group.urns)
    lost = [*_lost(old, new, complete=knows_all_groups(change))]
    for text, risk in lost:
        yield make_finding("lose-nodes", "nodes", text, (), urns, risk)


def _lost(old: _Supply, new: _Supply, *, complete: bool) -> Iterator[tuple[str, Risk | None]]:
    unknown = "" if complete else " Whether unchanged groups have it is unknown: this preview omits them."
    gone = sorted(old.architectures - new.architectures)
    for architecture in gone:
        text = f"No group has {architecture} nodes any more: pods that need {architecture} can't be scheduled."
        yield f"{text}{unknown}", Risk.HIGH if complete else None
    for architecture in sorted(old.open - new.open - set(gone)):
        text = f"No group has untainted {architecture} nodes any more: there, pods need a toleration from now on."
        yield f"{text}{unknown}", Risk.HIGH if complete and not new.open else None
    if labels := sorted(old.labels.keys() - new.labels.keys()):
        named = ", ".join(f"{key}={value}" for key, value in labels)
        text = f"No node has the {'label' if len(labels) == 1 else 'labels'} {named} any more: pods that request"
        yield f"{text} {'it' if len(labels) == 1 else 'them'} can't be scheduled.{unknown}", None
    for key, value in sorted(old.labels.keys() & new.labels.keys()):
        before, after = old.labels[key, value], new.labels[key, value]
        if kept := sorted(before - after - set(gone)):
            text = f"No {' or '.join(kept)} node has the label {key}={value} any more: pods that request it need images"
            yield f"{text} for {' or '.join(sorted(after))}.{unknown}", None
    if zones := sorted(old.zones - new.zones):
        text = f"No group has nodes in {', '.join(zones)} any more: pods with volumes there can't be scheduled."
        yield f"{text}{unknown}", Risk.HIGH if complete else None


def _architectures_with(label: tuple[str, str], states: Iterable[GroupState]) -> frozenset[Architecture]:
    return frozenset(each for state in states if label in (state.labels or ()) for each in state.architectures or ())


def _supply(states: Iterable[GroupState]) -> _Supply:
    known = list(states)
    return _Supply(
        architectures=frozenset(each for state in known for each in state.architectures or ()),
        open=frozenset(
            each
            for state in known
            if state.taints is not None and not any(map(is_hard, state.taints))
            for each in state.architectures or ()
        ),
        labels={label: _architectures_with(label, known) for state in known for label in state.labels or ()},
        zones=frozenset(zone for state in known for zone in state.zones or ()),
    )
