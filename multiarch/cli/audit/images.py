"""``multiarch audit images``: a verdict per architecture for every image in use."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.cli.audit.image_report import build_image_report
from multiarch.cli.audit.messages import ExplainOption, print_not_read
from multiarch.cli.formats import Format, make_output_option, print_report
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import ClusterOptions, ManifestsArgument, SourceOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import GroupByOption
from multiarch.cli.terminal import print_message, print_notes, show_progress
from multiarch.cli.usage import make_choice
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Verdict
from multiarch.observed.verdicts import ImageRow, ImageVerdicts
from multiarch.plurals import format_count
from multiarch.runs.audits import audit_images

HELP = """Show which images run on amd64 and arm64, and who uses them.

Reads manifests (--manifests), a list (--images), or else the live cluster of the kubeconfig (--live). Covers init,
sidecar and ephemeral containers, image volumes, CronJobs, Jobs, bare pods, pod specs in custom resources, and fields
with images of well-known operators. Objects without an image are counted on stderr, and fields that may hold an image
and were not read are named there. An image that can't be read is unknown, with the reason; the others are still
audited.

\b
Examples:
  multiarch audit images                                     every namespace of the current context
  multiarch audit images -n shop -n pay --group-by team      two namespaces, by the workloads' label team
  helm template shop ./chart | multiarch audit images --manifests - --fail-on unsupported
  multiarch audit images --manifests examples/pods.yaml --output markdown
  multiarch audit images --images images.txt --output json

Exit code: 0; 1 if --fail-on finds something; 2 for invalid input; 3 if the cluster can't be reached."""


@with_groups
def images(
    paths: ManifestsArgument = None,
    *,
    source: SourceOptions,
    images: Annotated[
        str | None, typer.Option(metavar="FILE", help="Audit this list, one image per line; - is stdin.")
    ] = None,
    cluster: ClusterOptions,
    architecture: Annotated[
        list[Architecture] | None,
        typer.Option(metavar="amd64|arm64", help="Audit for this architecture; may be repeated. Default: both."),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        make_choice(("unsupported", "unknown"), text="Exit with 1 if an image has this verdict; may be repeated."),
    ] = None,
    group_by: GroupByOption = None,
    explain: ExplainOption = False,
    output: Annotated[Format, make_output_option()] = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Audit images, as :data:`HELP` says."""
    objects = source.choose_objects(cluster, paths)
    if images is not None and (objects.files or source.live or cluster.given):
        raise MultiarchError("--images can't be combined with --manifests or a cluster.", hint="Give one of them.")
    if group_by and images is not None:
        raise MultiarchError("--group-by needs workloads, and a list of images has none.", hint="Omit it.")
    architectures = tuple(dict.fromkeys(architecture or Architecture))
    with show_progress("reading images") as step:
        audit = audit_images(objects, registries.access, architectures, image_list=images, progress=step)
    print_report(build_image_report(audit, group_by or ""), output)
    print_notes(audit.notes)
    print_not_read(audit.not_read)
    if explain:
        for row in audit.images.rows:
            _explain(row)
    _summarise(audit.images)
    if any(audit.images.has(verdict) for verdict in fail_on or ()):
        raise typer.Exit(1)


def _explain(row: ImageRow) -> None:
    print_message(f"{row.image}: {row.worst}")
    for judgement in row.judgements:
        print_message(f"  {judgement.architecture}: {judgement.verdict}: {judgement.reason}")
    for use in row.uses:
        print_message(f"  used by {use.workload.namespace or '-'} {use.workload}, {use.role} {use.container}".rstrip())
    print_message(f"  next: {_next_step(row)}")


def _next_step(row: ImageRow) -> str:
    """Return what to do, as the end of a sentence."""
    by_verdict: dict[Verdict, list[str]] = {}
    for each in row.judgements:
        by_verdict.setdefault(each.verdict, []).append(each.architecture)
    if Verdict.UNKNOWN in by_verdict:
        return (
            "check the name, the credentials and the registry, then audit again; until then leave its pods where they "
            "are."
        )
    if Verdict.UNSUPPORTED not in by_verdict:
        return (
            "if the workload's other images support arm64 too (see `multiarch audit workloads`), let its pods tolerate "
            "the taint of arm64 nodes: `multiarch workload patch --tolerate arm64`."
        )
    build = f"build it for {' and '.join(by_verdict[Verdict.UNSUPPORTED])}, or use a tag that supports it"
    if Verdict.SUPPORTED not in by_verdict:
        return f"{build}; no node can run it now."
    only = by_verdict[Verdict.SUPPORTED][0]
    return f"{build}; until then keep its pods on {only}: `multiarch workload patch --require {only}`."


def _summarise(images: ImageVerdicts) -> None:
    parts = ", ".join(f"{images.count(verdict)} {verdict}" for verdict in Verdict)
    architectures = " and ".join(str(each) for each in images.architectures)
    print_message(f"{format_count(len(images.rows), 'image')} for {architectures}: {parts}.")
