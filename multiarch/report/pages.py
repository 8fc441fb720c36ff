"""The page of a stack: its key figures and its sections."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.audit.daemonset_model import DaemonSetAudit, DaemonSetOutcome
from multiarch.audit.workloads import WorkloadAudit, WorkloadState
from multiarch.capacity.model import CapacityReport
from multiarch.cost.model import CostReport
from multiarch.facts.architectures import Architecture
from multiarch.report.contents import Placement, ReportContents, Unread
from multiarch.report.model import KeyFigure, Page, Status
from multiarch.report.sections import cost, daemonsets, failures, images, nodes, pods
from multiarch.report.sections.cells import counted, share


def page_of(contents: ReportContents) -> Page:
    """The page."""
    return Page(
        title=contents.plan.stack,
        source=contents.source,
        made=f"Made {contents.made:%Y-%m-%d %H:%M} UTC",
        facts=tuple(_facts(contents)),
        figures=tuple(_figures(contents)),
        sections=(
            nodes.nodes_section(contents.plan, contents.placement),
            pods.pods_section(contents.placement),
            images.images_section(contents.workloads),
            daemonsets.daemonsets_section(contents.daemon_sets),
            failures.failures_section(contents.capacity),
            cost.cost_section(contents.cost),
        ),
    )


def _facts(contents: ReportContents) -> Iterator[tuple[str, str]]:
    plan = contents.plan
    yield "Cluster", plan.cluster.name
    yield "Team", plan.team
    yield "Environment", plan.environment
    yield "Region", plan.region or "unknown"
    yield "Kubernetes", plan.cluster.version
    yield "Autoscaler", str(plan.autoscaling.use)
    yield "Taint of arm64 nodes", str(plan.arm64_taint) if plan.arm64_taint else "none"


def _figures(contents: ReportContents) -> Iterator[KeyFigure]:
    yield from _of_placement(contents.placement)
    yield _of_workloads(contents.workloads)
    yield _of_daemon_sets(contents.daemon_sets)
    yield _of_failures(contents.capacity)
    yield _of_cost(contents.cost)


def _not_read(label: str, section: str) -> KeyFigure:
    return KeyFigure(label, "–", "not read", section, Status.UNKNOWN)


def _of_placement(found: Placement | Unread) -> Iterator[KeyFigure]:
    if isinstance(found, Unread):
        yield _not_read("Nodes", nodes.IDENTIFIER)
        yield _not_read("Pods on arm64", pods.IDENTIFIER)
        return
    by_architecture = ", ".join(f"{count:,} {each}" for each, count in nodes.nodes_by_architecture(found.nodes))
    yield KeyFigure("Nodes", f"{len(found.nodes):,}", by_architecture, nodes.IDENTIFIER)
    counts = pods.pods_by_architecture(found)
    whole = counts.total() + len(found.unplaced)
    detail = f"{counts[Architecture.ARM64]:,} of {counted(whole, 'pod')}"
    detail += f", {len(found.unplaced):,} without a node" if found.unplaced else ""
    status = Status.BAD if found.unplaced else Status.PLAIN
    yield KeyFigure("Pods on arm64", share(counts[Architecture.ARM64], whole) or "–", detail, pods.IDENTIFIER, status)


def _of_workloads(audit: WorkloadAudit | Unread) -> KeyFigure:
    label = "Workloads blocked"
    if isinstance(audit, Unread):
        return _not_read(label, images.IDENTIFIER)
    blocked, unknown = audit.count(WorkloadState.BLOCKED), audit.count(WorkloadState.UNKNOWN)
    detail = f"of {len(audit.rows):,}" + (f", {unknown:,} unknown" if unknown else "")
    status = Status.BAD if blocked else Status.UNKNOWN if unknown else Status.GOOD
    return KeyFigure(label, f"{blocked:,}", detail, images.IDENTIFIER, status)


def _of_daemon_sets(audit: DaemonSetAudit | Unread) -> KeyFigure:
    label = "DaemonSet findings"
    if isinstance(audit, Unread):
        return _not_read(label, daemonsets.IDENTIFIER)
    unknown = audit.count(DaemonSetOutcome.UNKNOWN)
    detail = f"in {counted(len(audit.rows), 'DaemonSet')}" + (f", {unknown:,} unknown" if unknown else "")
    status = Status.BAD if audit.findings else Status.UNKNOWN if unknown else Status.GOOD
    return KeyFigure(label, f"{audit.findings:,}", detail, daemonsets.IDENTIFIER, status)


def _of_failures(report: CapacityReport | Unread) -> KeyFigure:
    label = "Failures survived"
    if isinstance(report, Unread):
        return _not_read(label, failures.IDENTIFIER)
    survived, whole = sum(not each.short for each in report.failures), len(report.failures)
    short = {(each.namespace, each.name) for result in report.failures for each in result.short}
    detail = f"{counted(len(short), 'workload')} short" if short else "every workload keeps its minimum"
    status = Status.GOOD if survived == whole else Status.BAD
    return KeyFigure(label, f"{survived} of {whole}", detail, failures.IDENTIFIER, status)


def _of_cost(report: CostReport | Unread) -> KeyFigure:
    label = "Cost per month"
    if isinstance(report, Unread):
        return _not_read(label, cost.IDENTIFIER)
    if not report.complete and not report.monthly:
        return KeyFigure(label, "–", "unknown", cost.IDENTIFIER, Status.UNKNOWN)
    detail = report.currency if report.complete else f"{report.currency}, plus unknown costs"
    status = Status.PLAIN if report.complete else Status.UNKNOWN
    return KeyFigure(label, f"{report.monthly:,.0f}", detail, cost.IDENTIFIER, status)
