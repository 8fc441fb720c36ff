"""The command that gives one ready workload its toleration: kubectl's in a cluster, ``workload patch`` for files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.kubernetes.manifests import STANDARD_INPUT, STANDARD_INPUT_NAME

if TYPE_CHECKING:
    from multiarch.audit.workloads import WorkloadRow
    from multiarch.cli.audit.source import Sources
    from multiarch.facts.taints import Taint


@dataclass(frozen=True, slots=True)
class Commands:
    """Writes commands for what an audit of these sources found."""

    sources: Sources
    taint: Taint | None

    def of(self, row: WorkloadRow) -> str | None:
        """The command for a workload, to be pasted into a shell; ``None`` where there is none."""
        if row.patch is None or row.patch.body is None:
            return None
        return self._on_files(row) if self.sources.paths else self._in_cluster(row, row.patch.body)

    def _on_files(self, row: WorkloadRow) -> str:
        named = dict.fromkeys(each.source.where for each in row.subject.manifests)
        files = [STANDARD_INPUT if name == STANDARD_INPUT_NAME else name for name in named]
        words = ["multiarch", "workload", "patch", *files, "--tolerate", "arm64", "--taint", str(self.taint)]
        words += ["--kind", row.workload.kind, "--namespace", row.workload.namespace, "--name", row.workload.name]
        return shlex.join(words if STANDARD_INPUT in files else [*words, "--in-place"])

    def _in_cluster(self, row: WorkloadRow, body: Mapping[str, object]) -> str:
        access = self.sources.access
        words = ["kubectl"]
        words += ["--kubeconfig", str(access.kubeconfig)] if access.kubeconfig else []
        words += ["--context", access.context] if access.context else []
        words += ["patch", row.workload.kind.lower(), row.workload.name, "--namespace", row.workload.namespace]
        # The object is named by the words before.
        change = json.dumps({"spec": body["spec"]}, separators=(",", ":"))
        return shlex.join([*words, "--type", "strategic", "--patch", change])
