"""``multiarch audit workloads``: per workload the next step toward arm64 nodes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from multiarch.audit.workloads import SYSTEM_NAMESPACE, WorkloadAudit, WorkloadState
from multiarch.cli.audit import patches
from multiarch.cli.audit.messages import ExplainOption, print_not_read
from multiarch.cli.audit.workload_report import build_workload_report, get_next_command
from multiarch.cli.formats import Format, RowsOutputOption, print_report
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import ClusterOptions, ManifestsArgument, SourceOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import GroupByOption, TaintOptions, reject_stacks
from multiarch.cli.streams import reduce_collections
from multiarch.cli.terminal import print_command, print_message, print_notes, show_progress
from multiarch.errors import MultiarchError
from multiarch.observed.newest_tags import LOOK_UPS
from multiarch.observed.objects import ObjectSource
from multiarch.plurals import format_count
from multiarch.runs.audits import audit_workload_objects

_MAXIMUM_LOOK_UPS = 1000
HELP = """Show the next step toward arm64 nodes for each workload.

\b
States:
  ready          all its images have arm64; add the toleration
  blocked        an image lacks arm64, or nodeSelector, affinity or os exclude it
  already there  it can run on arm64 nodes
  unknown        an image or a scheduling rule can't be read

Of an image without arm64, other tags are looked up.

Reads manifests (--manifests), or else the live cluster of the kubeconfig (--live), including containers injected into
its pods. DaemonSets in kube-system are left to `multiarch audit daemonsets`.

\b
Examples:
  multiarch audit workloads -n shop --group-by team          one namespace, by the workloads' label team
  multiarch audit workloads --patch build/arm64              kubectl patches for ready workloads
  helm template shop ./chart | multiarch audit workloads --manifests - --fail-on blocked
  multiarch audit workloads --manifests examples/pods.yaml --explain
  multiarch audit workloads --manifests deploy/ --patch arm64 --patch-format kustomize

Exit code: 0; 1 if --fail-on finds something; 2 for invalid input; 3 if the cluster can't be reached."""


class WorkloadFailOn(StrEnum):
    """What ``--fail-on`` can find."""

    BLOCKED = "blocked"
    UNKNOWN = "unknown"


@with_groups
def workloads(
    paths: ManifestsArgument = None,
    *,
    source: SourceOptions,
    cluster: ClusterOptions,
    taints: TaintOptions,
    tag_lookups: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=_MAXIMUM_LOOK_UPS, help="Tags to look up per image without arm64; 0: none."
        ),
    ] = LOOK_UPS,
    patch: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a patch for each ready workload.")] = None,
    patch_format: Annotated[
        Literal["strategic-merge", "kustomize"], typer.Option(help="Patches for kubectl, or a kustomize Component.")
    ] = "strategic-merge",
    force: Annotated[bool, typer.Option("--force", help="Replace patches in DIR that an earlier run wrote.")] = False,
    fail_on: Annotated[
        list[WorkloadFailOn] | None,
        typer.Option(metavar="blocked|unknown", help="Exit with 1 if a workload is in this state; may be repeated."),
    ] = None,
    group_by: GroupByOption = None,
    explain: ExplainOption = False,
    output: RowsOutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Audit workloads, as :data:`HELP` says."""
    objects = source.choose_objects(cluster, paths)
    reject_stacks(objects.files)
    if patch is not None:
        patches.check_target(patch, force=force)
    elif force:
        raise MultiarchError("--force needs --patch DIR.")
    taint = taints.arm64()
    with reduce_collections(), show_progress("reading images") as step:
        found = audit_workload_objects(objects, registries.access, taint, look_ups=tag_lookups, progress=step)
    print_report(build_workload_report(found, objects, group_by or ""), output)
    if patch is not None:
        written = patches.write_patches(patch, found.audit, kustomize=patch_format == "kustomize", force=force)
        print_message(f"Wrote patches for {format_count(written, 'workload')} into {patch}.")
    print_notes(found.notes)
    print_not_read(found.not_read)
    if explain:
        _explain(found.audit, objects)
    _summarise(found.audit)
    if any(found.audit.has(state) for state in fail_on or ()):
        raise typer.Exit(1)


def _explain(audit: WorkloadAudit, objects: ObjectSource) -> None:
    for row in audit.rows:
        print_message(f"{row.workload.namespace} {row.workload}: {row.state}, {row.preference}")
        for blocker in row.images:
            print_message(f"  image {blocker.image}: {blocker.reason}; used by {', '.join(blocker.containers)}")
        for line in (*(f"affinity: {each}" for each in row.affinity), *row.notes):
            print_message(f"  {line}")
        for step in row.steps(audit.taint):
            print_message(f"  next: {step}")
        if row.patch is not None:
            print_command(f"  {get_next_command(row, objects, audit.taint) or f'no patch: {row.patch.why}'}")


def _summarise(audit: WorkloadAudit) -> None:
    if audit.omitted:
        left = format_count(audit.omitted, "DaemonSet")
        print_message(f"note: {left} in {SYSTEM_NAMESPACE} left to `multiarch audit daemonsets`.")
    if audit.taint is None:
        print_message("note: the stack's arm64 nodes have no taint, so no toleration is needed.")
    parts = ", ".join(f"{audit.count(state)} {state}" for state in WorkloadState)
    print_message(f"{format_count(len(audit.rows), 'workload')}: {parts}.")
    total, fit = audit.pods(*WorkloadState), audit.pods(WorkloadState.READY, WorkloadState.THERE)
    if total:
        print_message(f"{fit} of {format_count(total, 'pod')} ({100 * fit // total} %) ready or already there.")
