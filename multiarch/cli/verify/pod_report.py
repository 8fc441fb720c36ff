"""The report of ``multiarch verify pods``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

from multiarch.cli.formats.report import Report, Table
from multiarch.manifests.owners import WorkloadKey
from multiarch.rules import Finding, Location
from multiarch.rules.rule import error, warning
from multiarch.serialization import to_json
from multiarch.verify.pods.model import Judged, PodVerification, Proof

_COLUMNS = ("workload", "namespace", "container", "pods", "verdict", "image", "reason")
_RECORD_COLUMNS = (
    *("namespace", "workload", "pod", "container", "role", "state", "node", "architecture", "image", "image id"),
    *("kind", "manifest", "process", "machine", "emulator", "verdict", "reason", "settled by"),
)
_WORST_FIRST = tuple(Proof)
_RULES = {
    Proof.WRONG: error(
        "pod-wrong-architecture", "a container that is not of its node's architecture", "Build the image for it."
    ),
    Proof.CANNOT_TELL: warning(
        "pod-architecture-unknown", "a container whose architecture can't be told", "See the reason in the message."
    ),
}


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
        records=lambda: Table(_RECORD_COLUMNS, [_record(each) for _, rows in workloads for each in rows]),
        findings=partial(_findings, workloads),
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


def _record(judged: Judged) -> list[str]:
    container, node = judged.container, judged.host
    return [
        *(container.namespace, str(container.workload), container.pod, container.name, str(container.role)),
        *(container.state, container.node, "" if node is None else node.architecture),
        *(
            container.image,
            container.image_id,
            str(judged.digest_kind),
            judged.manifest,
            judged.process,
            judged.machine,
        ),
        *(judged.emulator, str(judged.verdict), judged.reason, judged.settled_by),
    ]


def _findings(workloads: _Workloads) -> Iterable[Finding]:
    """Return a finding per workload, container and image that is wrong or unknown, however many pods have it."""
    found: dict[tuple[WorkloadKey, str, str, Proof], Finding] = {}
    for key, rows in workloads:
        for each in rows:
            if (rule := _RULES.get(each.verdict)) is None:
                continue
            container = each.container
            name = f"{key.namespace}/{key.kind}/{key.name}/{container.name}"
            place = Location(container=container.name, qualified_name=name)
            identity = ("workloadContainerAndImage/v1", f"{name} {container.image}")
            said = Finding(
                rule, f"{name}, image {container.image}", each.reason, locations=[place], fingerprint=identity
            )
            found.setdefault((key, container.name, container.image, each.verdict), said)
    return found.values()
