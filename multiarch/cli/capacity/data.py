"""The JSON of ``multiarch capacity``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiarch.capacity.model import CapacityReport, FailureResult, WorkloadResult


def report_data(report: CapacityReport) -> dict[str, object]:
    """The report, as docs/reference/json-output.md describes it."""
    return {
        "stack": report.stack,
        "autoscaler": report.autoscaler,
        "workloads": len(report.without_failure.workloads),
        "pods": sum(each.replicas for each in report.without_failure.workloads),
        "withoutFailure": _result(report.without_failure),
        "failures": [_result(each) for each in report.failures],
        "warnings": list(report.warnings),
        "assumptions": list(report.assumptions),
        "notModelled": list(report.limits),
    }


def _result(result: FailureResult) -> dict[str, object]:
    failure = result.failure
    return {
        "name": str(failure),
        "zones": list(failure.zones),
        "groups": list(failure.groups),
        "spot": list(failure.spot),
        "architectures": list(failure.architectures),
        "largestNodes": failure.largest_nodes,
        "nodesLost": dict(result.lost),
        "nodesAdded": dict(result.added),
        "short": len(result.short),
        "workloads": [_workload(each) for each in result.workloads],
    }


def _workload(each: WorkloadResult) -> dict[str, object]:
    return {
        "namespace": each.namespace,
        "name": each.name,
        "architectures": list(each.architectures),
        "replicas": each.replicas,
        "minimum": each.minimum.pods,
        "minimumOf": each.minimum_of,
        "minimumSource": each.minimum.source,
        "surviving": each.surviving,
        "moved": each.moved,
        "pending": each.pending,
        "waitSeconds": each.wait_seconds,
        "keepsMinimum": each.keeps_minimum,
        "keepsMinimumThroughout": each.keeps_minimum_throughout,
        "limit": each.limit,
        "change": each.change,
    }
