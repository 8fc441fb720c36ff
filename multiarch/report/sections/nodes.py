"""Node groups and NodePools of the plan, and the nodes that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from multiarch.autoscaling.model import NodePoolPlan
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType, NodeGroupPlan
from multiarch.report.bars import ORDER
from multiarch.report.contents import Placement, Unread
from multiarch.report.model import BarChart, ChartBar, ChartPiece, PageCell, PageSection, PageTable, Status
from multiarch.report.sections.cells import (
    counted,
    format_number,
    format_share,
    get_status,
    make_architecture_cell,
    make_architectures_cell,
)
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.settled import NodeState
from multiarch.stack.model import Plan

IDENTIFIER = "nodes"
OTHER_NODES = "(other nodes)"
"""The name of nodes that no group of the stack file has."""


def build_nodes_section(plan: Plan, placement: Placement | Unread) -> PageSection:
    """Return the groups of the plan; their numbers of nodes are the placement's, where there is one."""
    nodes = placement.nodes if isinstance(placement, Placement) else None
    tables = [_groups(plan, nodes)]
    notes: tuple[str, ...] = ()
    if isinstance(placement, Placement):
        tables.append(_nodes(placement))
        notes = placement.notes
    else:
        notes = (f"Nodes were not read: {placement.reason}",)
    return PageSection(
        IDENTIFIER,
        "Node groups",
        summary=_summary(placement),
        charts=tuple(_charts(nodes)) if nodes else (),
        tables=tuple(tables),
        notes=notes,
    )


def count_nodes(nodes: Sequence[NodeState]) -> tuple[tuple[Architecture, int], ...]:
    """Return the number of nodes of each architecture, arm64 first."""
    counts = Counter(node.shape.architecture for node in nodes)
    return tuple((each, counts[each]) for each in (Architecture.ARM64, Architecture.AMD64))


def _summary(placement: Placement | Unread) -> str:
    if isinstance(placement, Unread):
        return "The sizes are those of the stack file."
    said = ", ".join(f"{count:,} {each}" for each, count in count_nodes(placement.nodes))
    return f"{counted(len(placement.nodes), 'node')}{' now' if placement.live else ' planned'}: {said}."


def _groups(plan: Plan, nodes: Sequence[NodeState] | None) -> PageTable:
    columns = ("group", "kind", "architecture", "capacity", "nodes", "limits", "instance types", "zones", "taints")
    there = None if nodes is None else Counter(node.group for node in nodes)
    rows = [_group(group, there) for group in plan.node_groups]
    rows += [_pool(pool, there) for pool in plan.autoscaling.pools]
    if there is not None and there[""]:
        others = (PageCell(OTHER_NODES), PageCell("not in the stack file"))
        rows.append((*others, PageCell(""), PageCell(""), format_number(there[""]), *[PageCell("")] * 4))
    return PageTable("Node groups and NodePools", columns, rows, {"nodes"})


def _group(group: NodeGroupPlan, there: Counter[str] | None) -> tuple[PageCell, ...]:
    sizes = group.sizes
    return (
        PageCell(group.name),
        PageCell(f"{group.kind} node group"),
        make_architecture_cell(group.architecture),
        PageCell(group.bought),
        format_number(sizes.desired if there is None else there[group.name]),
        PageCell(f"{sizes.minimum}–{sizes.maximum} nodes"),
        _types([each.name for each in group.instance_types]),
        PageCell(", ".join(group.zones) or "all"),
        PageCell(", ".join(map(str, group.taints))),
    )


def _pool(pool: NodePoolPlan, there: Counter[str] | None) -> tuple[PageCell, ...]:
    limits = [f"{pool.cpu_limit} vCPU"] if pool.cpu_limit is not None else []
    limits += [f"{pool.memory_limit} memory"] if pool.memory_limit is not None else []
    return (
        PageCell(pool.name),
        PageCell(f"NodePool, weight {pool.weight}"),
        make_architectures_cell(sorted({each.architecture for each in pool.capacities})),
        PageCell(", ".join(sorted({str(each.capacity_type) for each in pool.capacities}))),
        PageCell("as needed") if there is None else format_number(there[pool.name]),
        PageCell(", ".join(limits) or "no limit"),
        _types([each.name for each in pool.instance_types]),
        PageCell("all"),
        PageCell(", ".join(map(str, pool.taints))),
    )


def _types(names: Sequence[str]) -> PageCell:
    """Return the types, folded where there are many."""
    if len(names) <= 4:  # noqa: PLR2004 (a line of a cell)
        return PageCell(", ".join(names))
    return PageCell(counted(len(names), "type"), len(names), details=(", ".join(names),))


def _nodes(placement: Placement) -> PageTable:
    names = ("node", "group", "architecture", "capacity", "type", "zone", "pods", "CPU", "memory")
    return PageTable(
        "Nodes, and how much of them pods request" if placement.live else "Nodes that the pods need",
        names,
        [list(_node(node)) for node in placement.nodes],
        names[6:],
    )


def _node(node: NodeState) -> Iterator[PageCell]:
    requested = sum((pod.requests for pod in node.pods), ResourceAmounts())
    yield PageCell(node.name)
    yield PageCell(node.group or OTHER_NODES)
    yield make_architecture_cell(node.shape.architecture)
    yield PageCell("unknown", status=Status.UNKNOWN) if node.capacity_type is None else PageCell(node.capacity_type)
    yield PageCell(node.instance_type) if node.instance_type else PageCell("unknown", status=Status.UNKNOWN)
    yield PageCell(node.zone) if node.zone else PageCell("unknown", status=Status.UNKNOWN)
    yield format_number(len(node.pods))
    yield _part(requested.cpu, node.shape.allocatable.cpu)
    yield _part(requested.memory, node.shape.allocatable.memory)


def _part(requested: int, allocatable: int) -> PageCell:
    return PageCell(
        format_share(requested, allocatable) or "unknown", 100 * requested / allocatable if allocatable else None
    )


def _charts(nodes: Sequence[NodeState]) -> Iterator[BarChart]:
    yield _chart("Nodes by group", {node.name: node.group or OTHER_NODES for node in nodes}, nodes)
    yield _chart("Nodes by zone", {node.name: node.zone or "unknown zone" for node in nodes}, nodes)


def _chart(title: str, bar_of: Mapping[str, str], nodes: Sequence[NodeState]) -> BarChart:
    """Return ``bar_of`` has the bar of each node. What is of no group comes last."""
    counts = Counter((bar_of[node.name], node.shape.architecture, node.capacity_type) for node in nodes)
    bars = []
    for label in sorted(set(bar_of.values()), key=lambda name: (name == OTHER_NODES, name)):
        pieces = [
            ChartPiece(get_label(architecture, capacity), count, get_status(architecture, capacity), f"{count:,}")
            for (name, architecture, capacity), count in counts.items()
            if name == label
        ]
        pieces.sort(key=lambda piece: ORDER.index(piece.status))
        bars.append(ChartBar(label, tuple(pieces), f"{sum(piece.amount for piece in pieces):,.0f}"))
    return BarChart(title, tuple(bars))


def get_label(architecture: Architecture, capacity_type: CapacityType | None) -> str:
    """Return ``arm64``, or ``arm64 spot``."""
    return f"{architecture} spot" if capacity_type is CapacityType.SPOT else str(architecture)
