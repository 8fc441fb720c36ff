"""``multiarch audit workloads``: per workload the next step toward arm64 nodes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli import registries
from multiarch.cli.audit.source import (
    GroupByOption,
    Sources,
    cluster_objects,
    group_label,
    manifest_objects,
    pull_secrets,
)
from multiarch.cli.kubernetes import ContextOption, KubeconfigOption, NamespacesOption, SelectorOption, cluster_options
from multiarch.cli.memory import few_collections
from multiarch.cli.output import counted, say
from multiarch.cli.progress import progress
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.audit.subjects import Subject
    from multiarch.audit.workloads import WorkloadAudit
    from multiarch.cli.audit.next_command import Commands
    from multiarch.facts.taints import Taint
    from multiarch.registry.credentials.model import Credentials

_LOOK_UPS = 10
_MOST_LOOK_UPS = 1000
HELP = """Say of each workload what the next step toward arm64 nodes is.

ready: all its images have arm64, and it lacks the toleration. blocked: by an image (another tag that has arm64 is
looked for) or by its own nodeSelector or affinity. already there: nothing is to be done. unknown: an image or a rule
can't be read. Looks at manifests (files, folders, - for standard input), or else at the live cluster of the
kubeconfig, with what was injected into its pods. DaemonSets in kube-system are left to `audit daemonsets`.

\b
Examples:
  multiarch audit workloads -n shop --group-by team          one namespace, by the workloads' label team
  multiarch audit workloads --patch build/arm64              kubectl's patches for what is ready
  helm template shop ./chart | multiarch audit workloads - --fail-on blocked
  multiarch audit workloads examples/pods.yaml --explain
  multiarch audit workloads deploy/ --patch arm64 --patch-format kustomize

Exit code: 0, or 1 where --fail-on finds something."""


class Format(StrEnum):
    """The shapes an audit of workloads can have."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class PatchFormat(StrEnum):
    """What ``--patch`` writes."""

    STRATEGIC_MERGE = "strategic-merge"
    KUSTOMIZE = "kustomize"


class FailOn(StrEnum):
    """The states that can make the command fail."""

    BLOCKED = "blocked"
    UNKNOWN = "unknown"


def workloads(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE|FOLDER|-]...", help="Manifests, YAML or JSON; - is stdin.")
    ] = None,
    *,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespacesOption = None,
    selector: SelectorOption = None,
    taint: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE:EFFECT", help="The taint of arm64 nodes, if not the project's default."),
    ] = None,
    stack: Annotated[str | None, typer.Option(help="Take the taint from this stack.")] = None,
    tag_lookups: Annotated[
        int,
        typer.Option(
            "--tag-lookups",
            metavar="N",
            min=0,
            max=_MOST_LOOK_UPS,
            help="Of an image without arm64, look at so many other tags; 0 lists none.",
        ),
    ] = _LOOK_UPS,
    patch: Annotated[
        Path | None, typer.Option("--patch", metavar="DIR", help="Write a patch for each workload that is ready.")
    ] = None,
    patch_format: Annotated[
        PatchFormat, typer.Option("--patch-format", help="kubectl's patches, or a kustomize Component of them.")
    ] = PatchFormat.STRATEGIC_MERGE,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the patches that an earlier run wrote into DIR.")
    ] = False,
    fail_on: Annotated[
        list[FailOn] | None, typer.Option(help="Exit with 1 if a workload is in this state; may be repeated.")
    ] = None,
    group_by: GroupByOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say each workload's case at length, on stderr.")] = False,
    output: Annotated[Format, typer.Option("--output", "-o", help="How the result looks on stdout.")] = Format.TABLE,
    insecure_registry: registries.InsecureOption = None,
    ca_file: registries.CaFileOption = None,
    hosts_dir: registries.HostsDirOption = None,
    docker_config: registries.DockerConfigOption = None,
    no_cache: registries.NoCacheOption = False,
    timeout: registries.TimeoutOption = registries.DEFAULT_TIMEOUT,
) -> None:
    """Judge workloads as :data:`HELP` says."""
    from multiarch.cli.audit import patches, workload_formats
    from multiarch.cli.audit.next_command import Commands
    from multiarch.kubernetes.access import ClusterAccess

    given = cluster_options(kubeconfig=kubeconfig, context=context, namespace=namespace, selector=selector)
    sources = Sources(
        tuple(paths or ()), ClusterAccess(kubeconfig, context), tuple(namespace) if namespace else None, selector or ""
    )
    sources.check(given, lists=False)
    label = group_label(group_by)
    if patch is not None:
        patches.check_target(patch, force=force)
    elif force:
        raise MultiarchError("--force is about --patch DIR.", hint="Give --patch too.")
    options = registries.options(
        insecure_registry, ca_file, hosts_dir, docker_config, no_cache=no_cache, timeout=timeout
    )
    tolerated = _taint(taint, stack)
    with few_collections():
        subjects, credentials = _subjects(sources, tolerated)
        audit = registries.waited(_audited(options, subjects, tolerated, credentials, tag_lookups))
    commands = Commands(sources, tolerated)
    workload_formats.show(audit, output, commands, group_by=label)
    if patch is not None:
        written = patches.write(patch, audit, kustomize=patch_format is PatchFormat.KUSTOMIZE, force=force)
        say(f"Wrote patches for {counted(written, 'workload')} into {patch}.")
    _summarise(audit, commands, explain=explain)
    if any(audit.has(state) for state in fail_on or ()):
        raise typer.Exit(1)


def _taint(written: str | None, stack: str | None) -> Taint | None:
    """The taint of arm64 nodes, ``None`` for a stack's that have none."""
    from multiarch.cli import stack_files
    from multiarch.facts.taints import parse_taint

    if written and stack:
        raise MultiarchError("--taint and --stack exclude each other.", hint="Both say which taint it is.")
    if written:
        return parse_taint(written)
    if stack:
        return stack_files.planned(stack_files.file(stack))[1].arm64_taint
    from multiarch.stack.schema.stack import StackWords

    return parse_taint(str(StackWords.model_fields["arm64_taint"].default))


def _subjects(sources: Sources, taint: Taint | None) -> tuple[list[Subject], Credentials | None]:
    """What is to be judged, and the credentials that the cluster has for its images."""
    from multiarch.audit.subjects import gather
    from multiarch.kubernetes.cluster import open_cluster

    if sources.paths:
        objects, lines = manifest_objects(sources.paths)
        return gather(objects, taint, lines), None
    with open_cluster(sources.access) as cluster:
        subjects = gather(cluster_objects(cluster, sources.namespaces, sources.selector), taint)
        return subjects, pull_secrets(cluster, [use for each in subjects for use in each.uses])


async def _audited(
    options: registries.RegistryOptions,
    subjects: Sequence[Subject],
    taint: Taint | None,
    credentials: Credentials | None,
    look_ups: int,
) -> WorkloadAudit:
    from multiarch.audit.workloads import audit_workloads

    with progress("looking images up") as step:
        async with registries.connected(options, more_credentials=credentials) as registry:
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
        say(f"note: {left} of {SYSTEM_NAMESPACE} left to `multiarch audit daemonsets`.")
    if audit.taint is None:
        say("note: arm64 nodes have no taint: there is nothing to tolerate.")
    parts = ", ".join(f"{audit.count(state)} {state}" for state in WorkloadState)
    say(f"{counted(len(audit.rows), 'workload')}: {parts}.")
    total, fit = audit.pods(*WorkloadState), audit.pods(WorkloadState.READY, WorkloadState.THERE)
    if total:
        say(f"{fit} of {counted(total, 'pod')} ({100 * fit // total} %) ready or already there.")
