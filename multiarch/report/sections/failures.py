"""What keeps running when something fails: a matrix of workloads and failures, and the limits behind it."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.capacity.model import CapacityReport, FailureResult, WorkloadResult
from multiarch.report.model import PageCell, PageSection, PageTable, Status
from multiarch.report.sections.cells import counted, format_number, make_architectures_cell
from multiarch.report.sections.nodes import OTHER_NODES

IDENTIFIER, TITLE = "failures", "When something fails"
_WITHOUT = "nothing fails"
_MINUTE = 60


def build_failures_section(report: CapacityReport) -> PageSection:
    """Return failures, workloads × failures, and what limits the workloads that lack pods."""
    survived = sum(not each.short for each in report.failures)
    more = " `multiarch capacity` with `--recommend` looks for the cheapest change of the stack file that helps."
    hint = more if survived < len(report.failures) else ""
    return PageSection(
        IDENTIFIER,
        TITLE,
        summary=f"Every workload keeps its minimum in {survived} of {counted(len(report.failures), 'failure')}.{hint}",
        tables=tuple(_tables(report)),
        warnings=report.warnings,
        notes=report.assumptions,
    )


def _tables(report: CapacityReport) -> Iterator[PageTable]:
    results = report.results
    limits = [(result, each) for result in results for each in result.workloads if each.limit]
    names = ("failure", "workloads short", "pods without a node", "longest wait", "nodes lost", "nodes added")
    yield PageTable(
        "Failures",
        names,
        [list(_failure(report, result)) for result in results],
        names[1:4],
    )
    if limits:
        names = ("workload", "failure", "keeps", "minimum", "what limits it", "what helps")
        yield PageTable(
            "What is short, and why",
            names,
            [list(_limit(report, *each)) for each in sorted(limits, key=lambda each: each[1].keeps_minimum)],
            names[2:4],
        )
    yield _matrix(report, results)


def _name(report: CapacityReport, result: FailureResult) -> str:
    return _WITHOUT if result is report.without_failure else str(result.failure)


def _failure(report: CapacityReport, result: FailureResult) -> Iterator[PageCell]:
    short = len(result.short)
    yield PageCell(_name(report, result))
    yield format_number(short, Status.BAD if short else Status.GOOD)
    yield format_number(sum(each.pending for each in result.workloads))
    yield _wait([each.wait_seconds for each in result.workloads if each.wait_seconds is not None])
    yield _by_group(result.lost)
    yield _by_group(result.added)


def _wait(seconds: list[int]) -> PageCell:
    """Return ``–`` where no pod moves."""
    if not seconds:
        return PageCell("–", 0)
    longest = max(seconds)
    return PageCell(f"{longest} s" if longest < _MINUTE else f"{longest / _MINUTE:.0f} min", longest)


def _by_group(counts: tuple[tuple[str, int], ...]) -> PageCell:
    text = ", ".join(f"{count} {group or OTHER_NODES}" for group, count in counts if count)
    return PageCell(text, sum(count for _, count in counts))


def _limit(report: CapacityReport, result: FailureResult, workload: WorkloadResult) -> Iterator[PageCell]:
    yield PageCell(f"{workload.namespace} {workload.name}")
    yield PageCell(_name(report, result))
    keeps = workload.replicas - workload.pending
    yield PageCell(f"{keeps} of {workload.replicas}", keeps, Status.PLAIN if workload.keeps_minimum else Status.BAD)
    minimum = workload.minimum.pods
    together = f" of {workload.minimum_of}" if workload.minimum.others.workloads else ""
    yield PageCell(f"{minimum}{together}", minimum, details=(workload.minimum_text,))
    yield PageCell(workload.limit)
    yield PageCell(workload.change)


def _matrix(report: CapacityReport, results: tuple[FailureResult, ...]) -> PageTable:
    """Sort workloads that are short anywhere first."""
    keys = [(each.namespace, each.name) for each in report.without_failure.workloads]
    by_key = [{(each.namespace, each.name): each for each in result.workloads} for result in results]
    of_key = {key: [found.get(key) for found in by_key] for key in keys}
    worst = {key: max(map(_severity, found)) for key, found in of_key.items()}
    rows = tuple(
        (
            PageCell(f"{key[0]} {key[1]}"),
            make_architectures_cell(next(each for each in of_key[key] if each is not None).architectures),
            *(_kept(each) for each in of_key[key]),
        )
        for key in sorted(keys, key=lambda key: (-worst[key], key))
    )
    columns = ("workload", "architectures", *(_name(report, result) for result in results))
    return PageTable("Pods that each workload keeps", columns, rows, matrix=True)


def _severity(result: WorkloadResult | None) -> int:
    """Return 0: no pod stays without a node; 1: the minimum is kept; 2: it is kept later only; 3: it is not kept."""
    if result is None or (result.keeps_minimum_throughout and not result.pending):
        return 0
    if result.keeps_minimum_throughout:
        return 1
    return 2 if result.keeps_minimum else 3


def _kept(result: WorkloadResult | None) -> PageCell:
    if result is None:
        return PageCell("")
    severity = _severity(result)
    keeps = result.replicas - result.pending
    status = (Status.GOOD, Status.WARNING, Status.WARNING, Status.BAD)[severity]
    details = []
    if severity:
        details.append(result.minimum_text)
        details.append(f"{counted(result.surviving, 'pod')} on nodes that stay, {result.moved} on other nodes later")
        details += [each for each in (result.limit, result.change) if each]
    return PageCell(f"{keeps} of {result.replicas}", -severity, status, tuple(details))
