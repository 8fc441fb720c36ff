"""Node groups and NodePools of a cluster as it is, and the arm64 groups that would stand beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from multiarch.existing.proposal import Proposal
from multiarch.existing.saving import GroupSaving
from multiarch.existing.stack_file import list_not_taken_over
from multiarch.facts.architectures import Architecture
from multiarch.observed.eks.model import ObservedCluster, ObservedGroup, ObservedPool
from multiarch.report.contents import Unread
from multiarch.report.model import BarChart, ChartBar, ChartPiece, PageCell, PageSection, PageTable, Status
from multiarch.report.sections.cells import (
    counted,
    format_number,
    get_status,
    make_amount_cell,
    make_architecture_cell,
    make_architectures_cell,
)

IDENTIFIER, TITLE = "groups", "Node groups"
_COLUMNS = ("group", "kind", "architecture", "capacity", "nodes", "limits", "instance types", "taints")
_AMOUNTS = ("now", "arm64", "saving")


def build_groups_section(
    cluster: ObservedCluster, proposal: Proposal | Unread, savings: Sequence[GroupSaving]
) -> PageSection:
    """Return the groups of a cluster, the arm64 counterpart of each or why it has none, and the savings."""
    tables = [PageTable("Node groups and NodePools", _COLUMNS, list(_list_rows(cluster)), {"nodes"})]
    if isinstance(proposal, Proposal):
        tables.append(_counterparts(proposal, savings))
    notes = () if isinstance(proposal, Unread) else tuple(list_not_taken_over(proposal))
    return PageSection(
        IDENTIFIER,
        TITLE,
        summary=f"{counted(len(cluster.groups), 'group')}: {count_nodes(cluster)[1]}.",
        charts=(_chart(cluster),) if cluster.groups else (),
        tables=tuple(tables),
        warnings=(proposal.reason,) if isinstance(proposal, Unread) else (),
        notes=notes,
    )


def count_nodes(cluster: ObservedCluster) -> tuple[str, str, Status]:
    """Return the number of nodes of groups, and that of each architecture."""
    counts: Counter[Architecture | None] = Counter()
    for group in cluster.groups:
        counts[group.architecture] += group.size
    parts = [f"{counts[each]:,} {each}" for each in (Architecture.ARM64, Architecture.AMD64)]
    parts += [f"{counts[None]:,} unknown"] if counts[None] else []
    parts += [f"{cluster.karpenter_nodes:,} of Karpenter"] if cluster.karpenter_nodes else []
    return f"{counts.total() + cluster.karpenter_nodes:,}", ", ".join(parts), Status.PLAIN


def _list_rows(cluster: ObservedCluster) -> Iterator[tuple[PageCell, ...]]:
    yield from map(_group, cluster.groups)
    yield from map(_pool, cluster.inside.pools if cluster.inside else ())


def _group(group: ObservedGroup) -> tuple[PageCell, ...]:
    unknown = PageCell("unknown", status=Status.UNKNOWN)
    return (
        PageCell(group.name),
        PageCell(f"{group.kind} node group"),
        make_architecture_cell(group.architecture) if group.architecture else unknown,
        PageCell(str(group.capacity_type)),
        format_number(group.size),
        PageCell(f"{group.sizes[0]}–{group.sizes[2]} nodes"),
        PageCell(", ".join(group.instance_types)),
        PageCell(", ".join(map(str, group.taints))),
    )


def _pool(pool: ObservedPool) -> tuple[PageCell, ...]:
    return (
        PageCell(pool.name),
        PageCell("NodePool"),
        make_architectures_cell(pool.architectures),
        PageCell(", ".join(pool.capacity_types)),
        PageCell("as needed"),
        PageCell(f"{pool.cpu_limit} vCPU" if pool.cpu_limit else ""),
        PageCell(""),
        PageCell(", ".join(map(str, pool.taints))),
    )


def _counterparts(proposal: Proposal, savings: Sequence[GroupSaving]) -> PageTable:
    by_group = {each.group: each for each in savings}
    rows = []
    for each in proposal.counterparts:
        row = [PageCell(each.group.name), PageCell(each.name), PageCell(", ".join(each.types))]
        if saving := by_group.get(each.group.name):
            row += [make_amount_cell(amount) for amount in (saving.now, saving.then, saving.saved)]
        rows.append(row)
    blank = [PageCell("")] * (len(_AMOUNTS) if savings else 0)
    rows += [[PageCell(each.what), PageCell("none"), PageCell(each.reason), *blank] for each in proposal.skipped]
    columns = ("group", "arm64 group", "instance types, or why none", *(_AMOUNTS if savings else ()))
    return PageTable("arm64 groups beside them, and what as many nodes cost per month", columns, rows, set(_AMOUNTS))


def _chart(cluster: ObservedCluster) -> BarChart:
    bars = []
    for group in cluster.groups:
        status = get_status(group.architecture, group.capacity_type) if group.architecture else Status.UNKNOWN
        label = f"{group.architecture or 'unknown'} {group.capacity_type}"
        text = f"{group.size:,}"
        bars.append(ChartBar(group.name, (ChartPiece(label, group.size, status, text),), text))
    return BarChart("Nodes by group", tuple(bars))
