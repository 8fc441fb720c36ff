"""What a person reads of a capacity report: the failures, then who is short where, then why and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multiarch.capacity.model import CapacityReport, FailureResult, WorkloadResult
from multiarch.cli.formats.report import Block, Details, Items, Table
from multiarch.plurals import format_count

_MINUTE = 60
_IMAGES_NOT_READ = "Images are not read: architectures follow from scheduling rules alone. --check-images reads them."
_EXPLAINED = 20
"""Workloads whose limits are shown without ``--explain``."""
_COLUMNS = (
    "nodes: -lost, +new; moved, pending: pods; wait: until the last moved pod has a node; dip: workloads that are "
    "below their minimum until then; short: workloads that stay below it."
)


@dataclass(frozen=True, slots=True)
class ShownCapacity:
    """A report, and what of it is shown. ``explain``: also workloads that only move."""

    report: CapacityReport
    images_read: bool = False
    explain: bool = False

    @property
    def results(self) -> list[FailureResult]:
        """The result without a failure, then those of the failures: their numbers in the tables."""
        return [self.report.without_failure, *self.report.failures]


@dataclass(frozen=True, slots=True)
class _Row:
    """One workload in all results."""

    results: tuple[WorkloadResult, ...]

    @property
    def title(self) -> str:
        return f"{self.results[0].namespace} {self.results[0].name}"

    @property
    def urgency(self) -> tuple[int, int, str]:
        """Sort key: short in most failures first, then most pending pods."""
        short = sum(not each.keeps_minimum for each in self.results)
        return -short, -sum(each.pending for each in self.results), self.title

    @property
    def lacks(self) -> bool:
        """Whether it has pending pods, or is short, in any result."""
        return any(each.pending or not each.keeps_minimum for each in self.results)

    @property
    def moves(self) -> bool:
        return any(each.moved for each in self.results)


def make_blocks(shown: ShownCapacity) -> Iterator[Block]:
    """Yield all blocks, the most important ones first."""
    rows = sorted(
        (_Row(each) for each in zip(*(result.workloads for result in shown.results), strict=True)),
        key=lambda row: row.urgency,
    )
    yield from _head(shown)
    yield _failures(shown)
    yield _COLUMNS
    listed = [row for row in rows if row.lacks or (shown.explain and row.moves)]
    if listed:
        yield _matrix(listed)
        yield "Columns are failures. -3: 3 pods pending; !: short of its minimum; ~: all lost pods get another node."
    lacking = [row for row in rows if row.lacks]
    explained = lacking if shown.explain else lacking[:_EXPLAINED]
    yield from (_why(row, shown) for row in explained)
    if len(lacking) > len(explained):
        more = format_count(len(lacking) - len(explained), "more workload")
        yield f"{more} with pending pods: --explain shows them all."
    if shown.report.warnings:
        yield Items("Check", shown.report.warnings)
    yield Items("Assumed", [*shown.report.assumptions, *([] if shown.images_read else [_IMAGES_NOT_READ])])
    if not shown.explain:
        yield "--explain adds the workloads whose pods all get another node."


def _head(shown: ShownCapacity) -> Iterator[str]:
    report = shown.report
    workloads = report.without_failure.workloads
    autoscaler = "no autoscaler" if report.autoscaler == "none" else report.autoscaler
    bad = sum(bool(each.short) for each in report.failures)
    yield (
        f"{report.stack}, {autoscaler}: {format_count(len(workloads), 'workload')}, "
        f"{format_count(report.pods, 'pod')}; "
        f"{format_count(len(report.failures), 'failure')}, {bad} with a workload short of its minimum"
    )
    if not bad and not any(each.pending for each in workloads):
        yield "Every workload keeps its minimum once its lost pods have another node."


def _failures(shown: ShownCapacity) -> Table:
    rows = []
    for number, result in enumerate(shown.results):
        waits = [each.wait_seconds for each in result.workloads if each.wait_seconds is not None]
        dips = sum(each.keeps_minimum and not each.keeps_minimum_throughout for each in result.workloads)
        rows.append(
            (
                f"{number} {result.failure}",
                " ".join(
                    f"{sign}{count}"
                    for sign, nodes in (("-", result.lost), ("+", result.added))
                    if (count := sum(each.nodes for each in nodes))
                ),
                _number(sum(each.moved for each in result.workloads)),
                format_duration(max(waits)) if waits else "",
                _number(dips),
                _number(sum(each.pending for each in result.workloads)),
                _number(len(result.short)),
            )
        )
    return Table(("failure", "nodes", "moved", "wait", "dip", "pending", "short"), rows, "Failures")


def _matrix(rows: Sequence[_Row]) -> Table:
    cells = [[_cell(each) for each in row.results] for row in rows]
    used = [at for at in range(len(cells[0])) if any(row[at] for row in cells)]
    table = [
        (row.title, str(row.results[0].replicas), *(row_cells[at] for at in used))
        for row, row_cells in zip(rows, cells, strict=True)
    ]
    return Table(("workload", "pods", *map(str, used)), table, "Workloads, what is short first", matrix=True)


def _cell(result: WorkloadResult) -> str:
    pending = f"-{result.pending}" if result.pending else ""
    if not result.keeps_minimum:
        return f"{pending}!"
    return pending or ("~" if result.moved else "")


def _why(row: _Row, shown: ShownCapacity) -> Details:
    """Return the limits of one workload: the first failure of those with the same fix, unless all are requested."""
    found: dict[tuple[object, ...], list[tuple[str, WorkloadResult]]] = {}
    for number, (each, result) in enumerate(zip(row.results, shown.results, strict=True)):
        if each.limit:
            key = (number,) if shown.explain else (each.change, each.pending)
            found.setdefault(key, []).append((str(result.failure) if number else "nothing fails", each))
    first = row.results[0]
    title = f"{row.title}: {format_count(first.replicas, 'pod')}, {first.minimum_text}"
    statements = []
    for (name, example), *others in found.values():
        likewise = [f"likewise: {', '.join(other for other, _ in others)}"] if others else []
        statements.append((f"{name}: {example.limit}", [*([example.change] if example.change else []), *likewise]))
    return Details(title, statements)


def _number(count: int) -> str:
    return str(count) if count else ""


def format_duration(seconds: int) -> str:
    """Return ``45s``, ``6m30s``, ``2m``."""
    minutes, rest = divmod(seconds, _MINUTE)
    return f"{minutes}m{rest}s" if minutes and rest else f"{minutes}m" if minutes else f"{rest}s"
