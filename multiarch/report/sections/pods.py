"""Where pods are: by workload, architecture and zone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from multiarch.capacity.workloads import get_workload_name
from multiarch.facts.architectures import Architecture
from multiarch.report.contents import Placement
from multiarch.report.model import BarChart, ChartBar, ChartPiece, PageCell, PageSection, PageTable, Status
from multiarch.report.sections.cells import counted, format_number, format_share, get_status
from multiarch.report.sections.nodes import OTHER_NODES
from multiarch.simulate.settled import NodeState

IDENTIFIER, TITLE = "pods", "Where pods run"
_BOTH = (Architecture.ARM64, Architecture.AMD64)


@dataclass(slots=True)
class _Spread:
    """The pods of one workload."""

    by_architecture: Counter[Architecture] = field(default_factory=Counter)
    zones: Counter[str] = field(default_factory=Counter)
    nodes: set[str] = field(default_factory=set)
    unplaced: int = 0


def build_pods_section(placement: Placement) -> PageSection:
    """Return where pods are."""
    total = count_pods(placement)
    count = sum(total.values()) + len(placement.unplaced)
    on_arm = f"{total[Architecture.ARM64]:,} of {counted(count, 'pod')} on arm64 nodes"
    without = f", {len(placement.unplaced):,} without a node" if placement.unplaced else ""
    would = "" if placement.live else " The nodes are those that the autoscaler would add for these pods."
    return PageSection(
        IDENTIFIER,
        TITLE,
        summary=f"{on_arm}{without}.{would}",
        charts=tuple(_charts(placement)),
        tables=(_table(placement),),
    )


def count_pods(placement: Placement) -> Counter[Architecture]:
    """Return the number of pods on the nodes of each architecture."""
    counts: Counter[Architecture] = Counter()
    for node in placement.nodes:
        counts[node.shape.architecture] += len(node.pods)
    return counts


def _spreads(placement: Placement) -> dict[tuple[str, str], _Spread]:
    found: dict[tuple[str, str], _Spread] = {}
    for node in placement.nodes:
        for pod in node.pods:
            spread = found.setdefault(get_workload_name(pod), _Spread())
            spread.by_architecture[node.shape.architecture] += 1
            spread.zones[node.zone or "unknown zone"] += 1
            spread.nodes.add(node.name)
    for pod in placement.unplaced:
        found.setdefault(get_workload_name(pod), _Spread()).unplaced += 1
    return found


def _table(placement: Placement) -> PageTable:
    names = ("workload", "namespace", "pods", "on arm64", "on amd64", "no node", "nodes", "zones")
    rows = [list(_row(*key, spread)) for key, spread in sorted(_spreads(placement).items())]
    return PageTable("Workloads", names, rows, names[2:7])


def _row(namespace: str, workload: str, spread: _Spread) -> Iterator[PageCell]:
    yield PageCell(workload)
    yield PageCell(namespace)
    yield format_number(spread.by_architecture.total() + spread.unplaced)
    for architecture in _BOTH:
        count = spread.by_architecture[architecture]
        yield format_number(count, get_status(architecture) if count else Status.PLAIN)
    yield format_number(spread.unplaced, Status.BAD if spread.unplaced else Status.PLAIN)
    yield format_number(len(spread.nodes))
    yield PageCell(", ".join(f"{zone} {count}" for zone, count in sorted(spread.zones.items())), len(spread.zones))


def _charts(placement: Placement) -> Iterator[BarChart]:
    groups: dict[str, list[NodeState]] = {}
    zones: dict[str, list[NodeState]] = {}
    for node in placement.nodes:
        groups.setdefault(node.group or OTHER_NODES, []).append(node)
        zones.setdefault(node.zone or "unknown zone", []).append(node)
    yield BarChart("Pods by group", tuple(_bar(name, nodes) for name, nodes in sorted(groups.items())))
    yield BarChart("Pods by zone", tuple(_bar(name, nodes) for name, nodes in sorted(zones.items())))


def _bar(name: str, nodes: list[NodeState]) -> ChartBar:
    counts = count_pods(Placement(tuple(nodes)))
    pieces = tuple(ChartPiece(each, counts[each], get_status(each), f"{counts[each]:,}") for each in _BOTH)
    arm = format_share(counts[Architecture.ARM64], counts.total())
    return ChartBar(name, pieces, f"{counts.total():,} ({arm} arm64)" if arm else "0")
