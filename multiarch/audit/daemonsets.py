"""The matrix of DaemonSets and groups of nodes, or architectures: what runs where, and why what does not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from multiarch.audit.daemonset_groups import list_live_groups, list_planned_groups
from multiarch.audit.daemonset_model import (
    WORST_FIRST,
    Cell,
    CellCause,
    CellReason,
    DaemonSet,
    DaemonSetAudit,
    DaemonSetOutcome,
    DaemonSetRow,
    NodeSet,
)
from multiarch.audit.daemonset_rules import judge_daemon_set, list_required_labels
from multiarch.audit.daemonset_sources import list_planned_daemon_sets, read_daemon_sets
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture, names_architecture
from multiarch.facts.taints import Taint
from multiarch.kubernetes.source import LoadedObject
from multiarch.observed.verdicts import ImageVerdicts
from multiarch.stack.model import Plan

Part = TypeVar("Part", int, str)


def audit_objects(
    objects: Iterable[LoadedObject],
    images: ImageVerdicts,
    *,
    plan: Plan | None = None,
    nodes: Iterable[LoadedObject] = (),
    taints: Iterable[Taint] = (),
) -> DaemonSetAudit:
    """Audit the DaemonSets among ``objects``, on the groups of ``plan`` and with its add-ons, or else on ``nodes``.

    ``images`` has all their images; ``taints`` stand for an architecture though their key and value don't name it.
    Raises MultiarchError where no node is of a known architecture.
    """
    daemon_sets = read_daemon_sets(objects, images)
    notes = ["Not checked: whether the nodes have room for the pods."]
    architecture_taints = [*taints]
    if plan is None:
        notes.append("Node groups without nodes at present are not listed.")
    else:
        there = {str(each) for each in daemon_sets}
        daemon_sets += tuple(each for each in list_planned_daemon_sets(plan) if str(each) not in there)
        architecture_taints += [plan.arm64_taint] if plan.arm64_taint else []
        notes.append("What the stack installs is judged by AWS's published manifests; their images were not read.")
    keys = list_label_keys(daemon_sets)
    groups, omitted = list_live_groups(nodes, keys) if plan is None else list_planned_groups(plan, keys)
    if plan is None and not groups:
        raise MultiarchError(f"No amd64 or arm64 nodes found. {' '.join(omitted)}")
    return audit_daemon_sets(daemon_sets, groups, architecture_taints=architecture_taints, notes=[*omitted, *notes])


def list_label_keys(daemon_sets: Iterable[DaemonSet]) -> frozenset[str]:
    """Return the labels that any of them requests: what has to be known of nodes."""
    return frozenset(key for each in daemon_sets for key in list_required_labels(each))


def audit_daemon_sets(
    daemon_sets: Iterable[DaemonSet],
    groups: Sequence[NodeSet],
    *,
    architecture_taints: Collection[Taint] = (),
    notes: Iterable[str] = (),
) -> DaemonSetAudit:
    """Judge every DaemonSet on every group; pure.

    ``architecture_taints`` stand for an architecture under any name, such as a stack's ``arm64Taint``.
    """
    ordered = sorted(daemon_sets, key=lambda each: (each.namespace, each.name))
    rows = tuple(
        DaemonSetRow(each, tuple(_cell(each, group, architecture_taints) for group in groups)) for each in ordered
    )
    return DaemonSetAudit(tuple(groups), _with_stand_ins(rows), tuple(notes))


def merge_by_architecture(audit: DaemonSetAudit) -> DaemonSetAudit:
    """Merge columns into one per architecture: the worst of its groups' cells, whose names go before reasons."""
    members = {
        architecture: [number for number, each in enumerate(audit.columns) if each.architecture is architecture]
        for architecture in Architecture
    }
    members = {architecture: numbers for architecture, numbers in members.items() if numbers}
    columns = tuple(
        _all_of(architecture, [audit.columns[each] for each in members[architecture]]) for architecture in members
    )
    rows = tuple(
        DaemonSetRow(
            row.daemon_set,
            tuple(
                _merged(
                    [row.cells[each] for each in numbers], [audit.columns[each].name for each in numbers], ", ".join
                )
                for numbers in members.values()
            ),
        )
        for row in audit.rows
    )
    return replace(audit, columns=columns, rows=rows)


def _all_of(architecture: Architecture, own: Sequence[NodeSet]) -> NodeSet:
    profiles = tuple(profile for each in own for profile in each.profiles)
    names = tuple(each.name for each in own)
    return NodeSet(str(architecture), "architecture", architecture, profiles, planned=own[0].planned, groups=names)


def _cell(daemon: DaemonSet, group: NodeSet, architecture_taints: Collection[Taint]) -> Cell:
    """Judge a DaemonSet on a group: the worst on any of its nodes, with what each reason counts for."""
    cells = [judge_daemon_set(daemon, each, group.architecture, architecture_taints) for each in group.profiles]
    counts = [each.count for each in group.profiles]
    return _merged(cells, counts, lambda some: f"on {sum(some)} of {group.count} {group.unit}")


def _merged(cells: Sequence[Cell], parts: Sequence[Part], said: Callable[[Sequence[Part]], str]) -> Cell:
    """Merge the cells of ``parts`` into the worst; what is not a reason for all of them is ``said`` for which."""
    having: dict[CellReason, list[Part]] = {}
    for cell, part in zip(cells, parts, strict=True):
        for reason in cell.reasons:
            having.setdefault(reason, []).append(part)
    reasons = tuple(
        reason if len(some) == len(parts) else replace(reason, text=f"{said(some)}: {reason.text}")
        for reason, some in having.items()
    )
    outcomes = {cell.outcome for cell in cells}
    worst = next(each for each in WORST_FIRST if each in outcomes)
    return Cell(worst, any(cell.finding for cell in cells), reasons)


def _with_stand_ins(rows: tuple[DaemonSetRow, ...]) -> tuple[DaemonSetRow, ...]:
    """Take away findings where a DaemonSet that differs by the architecture in its name alone runs.

    ``agent-amd64`` and ``agent-arm64`` are one agent, each for its nodes.
    """
    alike: dict[tuple[str, str], list[DaemonSetRow]] = {}
    for row in rows:
        alike.setdefault((row.daemon_set.namespace, _stem(row.daemon_set.name)), []).append(row)
    return tuple(_with_stand_in(row, alike[row.daemon_set.namespace, _stem(row.daemon_set.name)]) for row in rows)


def _with_stand_in(row: DaemonSetRow, alike: Sequence[DaemonSetRow]) -> DaemonSetRow:
    cells = []
    for number, cell in enumerate(row.cells):
        running = [each for each in alike if each is not row and each.cells[number].outcome is DaemonSetOutcome.RUNS]
        if cell.outcome is DaemonSetOutcome.KEPT_OFF and running:
            reason = CellReason(CellCause.STAND_IN, f"{running[0].daemon_set.name} runs there instead")
            cells.append(Cell(DaemonSetOutcome.EXCLUDED, reasons=(reason, *cell.reasons)))
        else:
            cells.append(cell)
    return replace(row, cells=tuple(cells))


def _stem(name: str) -> str:
    return "-".join(part for part in name.split("-") if not names_architecture(part))
