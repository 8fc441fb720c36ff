"""``multiarch audit workloads``: per workload the next step toward arm64 nodes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from multiarch.cli import reading
from multiarch.cli.audit import sources
from multiarch.cli.audit.options import ExplainOption
from multiarch.cli.formats import Format, output_option, show
from multiarch.cli.memory import few_collections
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import ClusterOptions, ManifestsArgument
from multiarch.cli.options.grouping import GroupByOption
from multiarch.cli.options.registry import RegistryOptions, ask
from multiarch.cli.options.stacks import TaintOptions
from multiarch.cli.terminal import progress, say
from multiarch.errors import MultiarchError
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.audit.subjects import Subject
    from multiarch.audit.uses import NotRead
    from multiarch.audit.workloads import WorkloadAudit
    from multiarch.cli.audit.next_command import Commands
    from multiarch.facts.taints import Taint
    from multiarch.registry.credentials.model import Credentials
    from multiarch.registry.model import Registry

_LOOK_UPS = 10
_MOST_LOOK_UPS = 1000
HELP = """Show the next step toward arm64 nodes for each workload.

\b
States:
  ready          all its images have arm64; add the toleration
  blocked        an image lacks arm64, or nodeSelector, affinity or os exclude it
  already there  it can run on arm64 nodes
  unknown        an image or a scheduling rule can't be read

Of an image without arm64, other tags are looked up.

Reads manifests (files, folders, - for standard input), or else the live cluster of the kubeconfig, including containers
injected into its pods. DaemonSets in kube-system are left to `multiarch audit daemonsets`.

\b
Examples:
  multiarch audit workloads -n shop --group-by team          one namespace, by the workloads' label team
  multiarch audit workloads --patch build/arm64              kubectl patches for ready workloads
  helm template shop ./chart | multiarch audit workloads - --fail-on blocked
  multiarch audit workloads examples/pods.yaml --explain
  multiarch audit workloads deploy/ --patch arm64 --patch-format kustomize

Exit code: 0; 1 if --fail-on finds something; 2 for invalid input; 3 if the cluster can't be reached."""


class FailOn(StrEnum):
    """What ``--fail-on`` can find."""

    BLOCKED = "blocked"
    UNKNOWN = "unknown"


@with_groups
def workloads(
    paths: ManifestsArgument = None,
    *,
    cluster: ClusterOptions,
    taints: TaintOptions,
    tag_lookups: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=_MOST_LOOK_UPS, help="Tags to look up per image without arm64; 0: none."),
    ] = _LOOK_UPS,
    patch: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a patch for each ready workload.")] = None,
    patch_format: Annotated[
        Literal["strategic-merge", "kustomize"], typer.Option(help="Patches for kubectl, or a kustomize Component.")
    ] = "strategic-merge",
    force: Annotated[bool, typer.Option("--force", help="Replace patches in DIR that an earlier run wrote.")] = False,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(metavar="blocked|unknown", help="Exit with 1 if a workload is in this state; may be repeated."),
    ] = None,
    group_by: GroupByOption = None,
    explain: ExplainOption = False,
    output: Annotated[Format, output_option("records")] = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Audit workloads, as :data:`HELP` says."""
    from multiarch.audit.uses import NotRead
    from multiarch.cli.audit import patches
    from multiarch.cli.audit.next_command import Commands
    from multiarch.cli.audit.workload_report import workload_report

    reading.check(paths or (), cluster)
    if patch is not None:
        patches.check_target(patch, force=force)
    elif force:
        raise MultiarchError("--force needs --patch DIR.")
    taint = taints.arm64()
    not_read = NotRead()
    with few_collections():
        subjects, credentials = _subjects(paths or (), cluster, taint, not_read)
        audit = ask(registries, partial(_audited, subjects, taint, tag_lookups), credentials=credentials)
    commands = Commands(bool(paths), cluster.access, taint)
    show(workload_report(audit, commands, group_by or "", not_read), output)
    if patch is not None:
        written = patches.write(patch, audit, kustomize=patch_format == "kustomize", force=force)
        say(f"Wrote patches for {counted(written, 'workload')} into {patch}.")
    sources.say_not_read(not_read)
    _summarise(audit, commands, explain=explain)
    if any(audit.has(state) for state in fail_on or ()):
        raise typer.Exit(1)


def _subjects(
    paths: Sequence[str], options: ClusterOptions, taint: Taint | None, not_read: NotRead
) -> tuple[list[Subject], Credentials | None]:
    """The workloads, and the cluster's credentials for their images; ``not_read`` collects what is passed over."""
    from multiarch.audit.subjects import gather
    from multiarch.kubernetes.cluster import open_cluster

    if paths:
        objects, lines = reading.manifest_objects(paths)
        return gather(objects, taint, lines, not_read), None
    with open_cluster(options.access) as cluster:
        subjects = gather(reading.cluster_objects(cluster, options), taint, not_read=not_read)
        return subjects, reading.pull_secrets(cluster, [use for each in subjects for use in each.uses])


async def _audited(
    subjects: Sequence[Subject], taint: Taint | None, look_ups: int, registry: Registry
) -> WorkloadAudit:
    from multiarch.audit.workloads import audit_workloads

    with progress("reading images") as step:
        return await audit_workloads(registry, subjects, taint, look_ups=look_ups, looked_up=step)


def _summarise(audit: WorkloadAudit, commands: Commands, *, explain: bool) -> None:
    from multiarch.audit.workloads import SYSTEM_NAMESPACE, WorkloadState

    if explain:
        for row in audit.rows:
            say(f"{row.workload.namespace} {row.workload}: {row.state}, {row.preference}")
            for blocker in row.images:
                say(f"  image {blocker.image}: {blocker.reason}; used by {', '.join(blocker.containers)}")
            for line in (*(f"affinity: {each}" for each in row.affinity), *row.notes):
                say(f"  {line}")
            for step in row.steps(audit.taint):
                say(f"  next: {step}")
            if row.patch is not None:
                say(f"  {commands.of(row) or f'no patch: {row.patch.why}'}")
    if audit.left_out:
        left = counted(audit.left_out, "DaemonSet")
        say(f"note: {left} in {SYSTEM_NAMESPACE} left to `multiarch audit daemonsets`.")
    if audit.taint is None:
        say("note: the stack's arm64 nodes have no taint, so no toleration is needed.")
    parts = ", ".join(f"{audit.count(state)} {state}" for state in WorkloadState)
    say(f"{counted(len(audit.rows), 'workload')}: {parts}.")
    total, fit = audit.pods(*WorkloadState), audit.pods(WorkloadState.READY, WorkloadState.THERE)
    if total:
        say(f"{fit} of {counted(total, 'pod')} ({100 * fit // total} %) ready or already there.")
