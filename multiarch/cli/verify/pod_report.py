"""The report of ``multiarch verify pods``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from multiarch.cli.formats.report import Report, Table
from multiarch.manifests.owners import WorkloadKey
from multiarch.serialization import to_json
from multiarch.verify.pods.model import Judged, PodVerification, Proof

_COLUMNS = ("workload", "namespace", "container", "pods", "verdict", "image", "reason")
_WORST_FIRST = tuple(Proof)


def build_pod_report(verification: PodVerification) -> Report:
    """Return the report: containers grouped by workload, the workloads with the worst verdict first."""
    workloads = _workloads(verification)
    return Report(
        "pod-verification",
        data={
            "summary": {proof: verification.count(proof) for proof in Proof},
            "notStarted": verification.not_started,
            "nodesAnswered": verification.nodes_answered,
            "notes": verification.notes,
            "workloads": [
                {**to_json(key), "verdict": _WORST_FIRST[_worst(rows)], "containers": rows} for key, rows in workloads
            ],
        },
        blocks=lambda: [Table(_COLUMNS, list(_rows(workloads)))] if workloads else ["No containers found."],
    )


_Workloads = list[tuple[WorkloadKey, list[Judged]]]


def _workloads(verification: PodVerification) -> _Workloads:
    found = groupby(verification.judged, key=lambda each: each.container.workload)
    return sorted(((key, list(rows)) for key, rows in found), key=lambda pair: (_worst(pair[1]), pair[0]))


def _worst(rows: list[Judged]) -> int:
    return min(_WORST_FIRST.index(each.verdict) for each in rows)


def _rows(workloads: _Workloads) -> Iterator[list[str]]:
    """A row for each workload's containers that are alike on nodes of one architecture, with the number of pods."""
    for key, rows in workloads:
        counts: dict[tuple[str, ...], int] = {}
        for each in sorted(rows, key=lambda each: _WORST_FIRST.index(each.verdict)):
            node = "?" if each.host is None else each.host.architecture or "?"
            fix = {
                Proof.WRONG: f"build its image for linux/{node}, or keep it off {node} nodes",
                Proof.CANNOT_TELL: each.settled_by,
            }.get(each.verdict)
            reason = each.reason + (f" → {fix}" if fix else "")
            cells = (each.container.name, node, str(each.verdict), each.container.image, reason)
            counts[cells] = counts.get(cells, 0) + 1
        for (name, node, proof, image, reason), count in counts.items():
            yield [str(key), key.namespace, name, f"{count} on {node}", proof, image, reason]
