"""The page of a stack: its key figures and its sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TypeVar

from multiarch.audit.daemonset_model import DaemonSetAudit, DaemonSetOutcome
from multiarch.audit.workloads import WorkloadAudit, WorkloadState
from multiarch.capacity.model import CapacityReport
from multiarch.cost.model import CostReport
from multiarch.facts.architectures import Architecture
from multiarch.prices.amounts import sum_amounts
from multiarch.prices.model import UnknownPrice
from multiarch.report.contents import ClusterContents, Placement, ReportContents, Unread
from multiarch.report.model import KeyFigure, Page, PageSection, Status
from multiarch.report.sections import cost, daemonsets, failures, groups, images, next_steps, nodes, pods
from multiarch.report.sections.cells import counted, format_share

Result = TypeVar("Result")


def build_page(contents: ReportContents | ClusterContents) -> Page:
    """Return the page of a stack, or of a cluster without one."""
    if isinstance(contents, ClusterContents):
        return _build_cluster_page(contents)
    return Page(
        title=contents.plan.stack,
        source=contents.source,
        made=f"Made {contents.made:%Y-%m-%d %H:%M} UTC",
        facts=tuple(_facts(contents)),
        figures=tuple(_figures(contents)),
        sections=(
            nodes.build_nodes_section(contents.plan, contents.placement),
            _section(pods, contents.placement, pods.build_pods_section),
            _section(images, contents.workloads, images.build_images_section),
            _section(daemonsets, contents.daemon_sets, daemonsets.build_daemonsets_section),
            _section(failures, contents.capacity, failures.build_failures_section),
            _section(cost, contents.cost, cost.build_cost_section),
        ),
    )


def _build_cluster_page(contents: ClusterContents) -> Page:
    cluster, proposal = contents.cluster, contents.proposal
    inside = f" and context {cluster.inside.context}" if cluster.inside else ""
    scaler = "unknown" if isinstance(proposal, Unread) else f"{proposal.autoscaler.use}: {proposal.autoscaler.source}"
    return Page(
        title=cluster.name,
        source=f"AWS{inside}",
        made=f"Made {contents.made:%Y-%m-%d %H:%M} UTC",
        facts=(
            ("Region", cluster.region),
            ("Kubernetes", cluster.version),
            ("Autoscaler", scaler),
            ("Authentication mode", cluster.authentication_mode),
            ("Add-ons", ", ".join(f"{name} {version}" for name, version in cluster.addons.items()) or "none"),
        ),
        figures=(
            _figure("Nodes", groups.IDENTIFIER, cluster, groups.count_nodes),
            _figure("Pods on arm64", pods.IDENTIFIER, contents.placement, _of_pods),
            _figure("Workloads blocked", images.IDENTIFIER, contents.workloads, _of_workloads),
            _figure("DaemonSet findings", daemonsets.IDENTIFIER, contents.daemon_sets, _of_daemon_sets),
            _figure("Cost per month", cost.IDENTIFIER, contents.cost, _of_cost),
            _figure("Saving with arm64", groups.IDENTIFIER, contents, _of_savings),
        ),
        sections=(
            groups.build_groups_section(cluster, proposal, contents.savings),
            _section(images, contents.workloads, images.build_images_section),
            _section(pods, contents.placement, pods.build_pods_section),
            _section(daemonsets, contents.daemon_sets, daemonsets.build_daemonsets_section),
            _section(cost, contents.cost, cost.build_cost_section),
            _section(next_steps, proposal, next_steps.build_next_steps_section),
        ),
    )


def _of_savings(contents: ClusterContents) -> tuple[str, str, Status]:
    saved = sum_amounts(each.saved for each in contents.savings)
    if not contents.savings or isinstance(saved, UnknownPrice) or isinstance(contents.cost, Unread):
        return "–", "unknown", Status.UNKNOWN
    return f"{saved:,.0f}", f"{contents.cost.currency} per month, with all pods on arm64", Status.ARM64


def _facts(contents: ReportContents) -> Iterator[tuple[str, str]]:
    plan = contents.plan
    yield "Cluster", plan.cluster.name
    yield "Team", plan.team
    yield "Environment", plan.environment
    yield "Region", plan.region or "unknown"
    yield "Kubernetes", plan.cluster.version
    yield "Autoscaler", str(plan.autoscaling.use)
    yield "Taint of arm64 nodes", str(plan.arm64_taint) if plan.arm64_taint else "none"


def _section(of: ModuleType, found: Result | Unread, make: Callable[[Result], PageSection]) -> PageSection:
    return PageSection(of.IDENTIFIER, of.TITLE, unread=found.reason) if isinstance(found, Unread) else make(found)


def _figures(contents: ReportContents) -> Iterator[KeyFigure]:
    yield _figure("Nodes", nodes.IDENTIFIER, contents.placement, _of_nodes)
    yield _figure("Pods on arm64", pods.IDENTIFIER, contents.placement, _of_pods)
    yield _figure("Workloads blocked", images.IDENTIFIER, contents.workloads, _of_workloads)
    yield _figure("DaemonSet findings", daemonsets.IDENTIFIER, contents.daemon_sets, _of_daemon_sets)
    yield _figure("Failures survived", failures.IDENTIFIER, contents.capacity, _of_failures)
    yield _figure("Cost per month", cost.IDENTIFIER, contents.cost, _of_cost)


def _figure(
    label: str, section: str, found: Result | Unread, make: Callable[[Result], tuple[str, str, Status]]
) -> KeyFigure:
    """Return ``make`` returns a value, its detail and its status."""
    value, detail, status = ("–", "not read", Status.UNKNOWN) if isinstance(found, Unread) else make(found)
    return KeyFigure(label, value, detail, section, status)


def _of_nodes(found: Placement) -> tuple[str, str, Status]:
    by_architecture = ", ".join(f"{count:,} {each}" for each, count in nodes.count_nodes(found.nodes))
    return f"{len(found.nodes):,}", by_architecture, Status.PLAIN


def _of_pods(found: Placement) -> tuple[str, str, Status]:
    counts = pods.count_pods(found)
    whole = counts.total() + len(found.unplaced)
    detail = f"{counts[Architecture.ARM64]:,} of {counted(whole, 'pod')}"
    detail += f", {len(found.unplaced):,} without a node" if found.unplaced else ""
    return (
        format_share(counts[Architecture.ARM64], whole) or "–",
        detail,
        Status.BAD if found.unplaced else Status.PLAIN,
    )


def _of_workloads(audit: WorkloadAudit) -> tuple[str, str, Status]:
    blocked, unknown = audit.count(WorkloadState.BLOCKED), audit.count(WorkloadState.UNKNOWN)
    detail = f"of {len(audit.rows):,}" + (f", {unknown:,} unknown" if unknown else "")
    return f"{blocked:,}", detail, Status.BAD if blocked else Status.UNKNOWN if unknown else Status.GOOD


def _of_daemon_sets(audit: DaemonSetAudit) -> tuple[str, str, Status]:
    unknown = audit.count(DaemonSetOutcome.UNKNOWN)
    detail = f"in {counted(len(audit.rows), 'DaemonSet')}" + (f", {unknown:,} unknown" if unknown else "")
    return f"{audit.findings:,}", detail, Status.BAD if audit.findings else Status.UNKNOWN if unknown else Status.GOOD


def _of_failures(report: CapacityReport) -> tuple[str, str, Status]:
    survived, whole = sum(not each.short for each in report.failures), len(report.failures)
    short = {(each.namespace, each.name) for result in report.failures for each in result.short}
    detail = f"{counted(len(short), 'workload')} short" if short else "every workload keeps its minimum"
    return f"{survived} of {whole}", detail, Status.GOOD if survived == whole else Status.BAD


def _of_cost(report: CostReport) -> tuple[str, str, Status]:
    if not report.complete and not report.monthly:
        return "–", "unknown", Status.UNKNOWN
    detail = report.currency if report.complete else f"{report.currency}, plus unknown costs"
    return f"{report.monthly:,.0f}", detail, Status.PLAIN if report.complete else Status.UNKNOWN
