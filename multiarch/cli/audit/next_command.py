"""The command that adds the toleration to a ready workload: ``kubectl patch``, or ``workload patch`` for files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.kubernetes.manifests import STANDARD_INPUT, STANDARD_INPUT_NAME

if TYPE_CHECKING:
    from multiarch.audit.workloads import WorkloadRow
    from multiarch.facts.taints import Taint
    from multiarch.kubernetes.access import ClusterAccess


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands for the workloads of an audit of files (``on_files``) or of a cluster."""

    on_files: bool
    access: ClusterAccess
    taint: Taint | None

    def of(self, row: WorkloadRow) -> str | None:
        """The command for a workload, quoted for a shell; ``None`` if it has no patch."""
        if row.patch is None or row.patch.body is None:
            return None
        return self._patch_files(row) if self.on_files else self._in_cluster(row, row.patch.body)

    def _patch_files(self, row: WorkloadRow) -> str:
        named = dict.fromkeys(each.source.where for each in row.subject.manifests)
        files = [STANDARD_INPUT if name == STANDARD_INPUT_NAME else name for name in named]
        words = ["multiarch", "workload", "patch", *files, "--tolerate", "arm64", "--taint", str(self.taint)]
        words += ["--kind", row.workload.kind, "--namespace", row.workload.namespace, "--name", row.workload.name]
        return shlex.join(words if STANDARD_INPUT in files else [*words, "--in-place"])

    def _in_cluster(self, row: WorkloadRow, body: Mapping[str, object]) -> str:
        words = ["kubectl"]
        words += ["--kubeconfig", str(self.access.kubeconfig)] if self.access.kubeconfig else []
        words += ["--context", self.access.context] if self.access.context else []
        words += ["patch", row.workload.kind.lower(), row.workload.name, "--namespace", row.workload.namespace]
        # Kind, name and namespace are arguments.
        change = json.dumps({"spec": body["spec"]}, separators=(",", ":"))
        return shlex.join([*words, "--type", "strategic", "--patch", change])
