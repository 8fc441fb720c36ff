"""The matrix of DaemonSets and groups of nodes, or architectures: what runs where, and why what does not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from multiarch.audit.daemonset_groups import Groups, live_groups, planned_groups
from multiarch.audit.daemonset_model import (
    WORST_FIRST,
    Cell,
    CellCause,
    CellReason,
    Column,
    DaemonSet,
    DaemonSetAudit,
    DaemonSetOutcome,
    DaemonSetRow,
    Group,
)
from multiarch.audit.daemonset_rules import judge, mentioned
from multiarch.audit.daemonset_sources import daemon_sets_in, planned_daemon_sets, without
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture, names_architecture
from multiarch.facts.taints import Taint
from multiarch.kubernetes.source import LoadedObject
from multiarch.observed.verdicts import ImageVerdicts
from multiarch.stack.model import Plan


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
    daemon_sets = daemon_sets_in(objects, images)
    notes = ["Not checked: whether the nodes have room for the pods."]
    architecture_taints = [*taints]
    if plan is None:
        notes.append("Node groups without nodes at present are not listed.")
    else:
        daemon_sets += without(planned_daemon_sets(plan), daemon_sets)
        architecture_taints += [plan.arm64_taint] if plan.arm64_taint else []
        notes.append("What the stack installs is judged by AWS's published manifests; their images were not read.")
    keys = label_keys(daemon_sets)
    groups: Groups = live_groups(nodes, keys) if plan is None else planned_groups(plan, keys)
    if plan is None and not groups.groups:
        raise MultiarchError(f"No amd64 or arm64 nodes found. {' '.join(groups.notes)}")
    notes = [*groups.notes, *notes]
    return audit_daemon_sets(daemon_sets, groups.groups, architecture_taints=architecture_taints, notes=notes)


def label_keys(daemon_sets: Iterable[DaemonSet]) -> frozenset[str]:
    """The labels that any of them asks for: what has to be known of nodes."""
    return frozenset(key for each in daemon_sets for key in mentioned(each))


def audit_daemon_sets(
    daemon_sets: Iterable[DaemonSet],
    groups: Sequence[Group],
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
    columns = tuple(
        Column(group.name, group.kind, group.architecture, None if group.planned else group.count, group.taints)
        for group in groups
    )
    return DaemonSetAudit(columns, _with_stand_ins(rows), tuple(notes))


def by_architecture(audit: DaemonSetAudit) -> DaemonSetAudit:
    """The same audit with a column per architecture: the worst of its groups' cells, whose names go before reasons."""
    columns = []
    at: list[list[int]] = []
    for architecture in Architecture:
        members = [number for number, each in enumerate(audit.columns) if each.architecture is architecture]
        if members:
            own = [audit.columns[number] for number in members]
            counts = [each.nodes for each in own if each.nodes is not None]
            taints = tuple(sorted({taint for each in own for taint in each.taints}))
            nodes = sum(counts) if counts else None
            columns.append(
                Column(str(architecture), "architecture", architecture, nodes, taints, tuple(each.name for each in own))
            )
            at.append(members)
    rows = tuple(
        DaemonSetRow(
            row.daemon_set,
            tuple(_merged([(audit.columns[each].name, row.cells[each]) for each in members]) for members in at),
        )
        for row in audit.rows
    )
    return replace(audit, columns=tuple(columns), rows=rows)


def _cell(daemon: DaemonSet, group: Group, architecture_taints: Collection[Taint]) -> Cell:
    """The worst of what becomes of it on the group's nodes, with what each reason counts for."""
    judged = [(each.count, judge(daemon, each, group.architecture, architecture_taints)) for each in group.profiles]
    counts: dict[CellReason, int] = {}
    for count, cell in judged:
        for reason in cell.reasons:
            counts[reason] = counts.get(reason, 0) + count
    reasons = tuple(
        reason
        if count == group.count
        else replace(reason, text=f"on {count} of {group.count} {group.unit}: {reason.text}")
        for reason, count in counts.items()
    )
    return Cell(_worst(cell for _, cell in judged), any(cell.finding for _, cell in judged), reasons)


def _worst(cells: Iterable[Cell]) -> DaemonSetOutcome:
    found = {cell.outcome for cell in cells}
    return next(each for each in WORST_FIRST if each in found)


def _merged(named: Sequence[tuple[str, Cell]]) -> Cell:
    groups: dict[CellReason, list[str]] = {}
    for name, cell in named:
        for reason in cell.reasons:
            groups.setdefault(reason, []).append(name)
    reasons = tuple(
        reason if len(names) == len(named) else replace(reason, text=f"{', '.join(names)}: {reason.text}")
        for reason, names in groups.items()
    )
    return Cell(_worst(cell for _, cell in named), any(cell.finding for _, cell in named), reasons)


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
