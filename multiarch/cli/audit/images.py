"""``multiarch audit images``: a verdict per architecture for every image in use."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

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
from multiarch.cli.terminal import progress, say
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.audit.images import ImageAudit
    from multiarch.audit.uses import ImageUse, NotRead
    from multiarch.registry.credentials.model import Credentials
    from multiarch.registry.model import Registry

HELP = """Show which images run on amd64 and arm64, and who uses them.

Reads manifests (files, folders, - for standard input), a list (--images), or else the live cluster of the kubeconfig.
Covers init, sidecar and ephemeral containers, image volumes, CronJobs, Jobs, bare pods, pod specs in custom resources,
and fields with images of well-known operators. Objects without an image are counted on stderr, and fields that may hold
an image and were not read are named there. An image that can't be read is unknown, with the reason; the others are
still audited.

\b
Examples:
  multiarch audit images                                     every namespace of the current context
  multiarch audit images -n shop -n pay --group-by team      two namespaces, by the workloads' label team
  helm template shop ./chart | multiarch audit images - --fail-on unsupported
  multiarch audit images examples/pods.yaml --output markdown
  multiarch audit images --images images.txt --output json

Exit code: 0; 1 if --fail-on finds something; 2 for invalid input; 3 if the cluster can't be reached."""


class FailOn(StrEnum):
    """What ``--fail-on`` can find."""

    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


@with_groups
def images(
    paths: ManifestsArgument = None,
    *,
    images: Annotated[
        str | None, typer.Option(metavar="FILE", help="Audit this list, one image per line; - is stdin.")
    ] = None,
    cluster: ClusterOptions,
    architecture: Annotated[
        list[Architecture] | None,
        typer.Option(metavar="amd64|arm64", help="Audit for this architecture; may be repeated. Default: both."),
    ] = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(metavar="unsupported|unknown", help="Exit with 1 if an image has this verdict; may be repeated."),
    ] = None,
    group_by: GroupByOption = None,
    explain: ExplainOption = False,
    output: Annotated[Format, output_option("records", "findings")] = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Audit images, as :data:`HELP` says."""
    from multiarch.audit.uses import NotRead
    from multiarch.cli.audit.image_report import image_report

    reading.check(paths or (), cluster, images)
    if group_by and images is not None:
        raise MultiarchError("--group-by needs workloads, and a list of images has none.", hint="Leave it out.")
    architectures = tuple(dict.fromkeys(architecture or Architecture))
    not_read = NotRead()
    with few_collections():
        uses, credentials = _uses(paths or (), images, cluster, not_read)
        audit = ask(registries, partial(_audited, uses, architectures), credentials=credentials)
    show(image_report(audit, group_by or "", not_read), output)
    sources.say_not_read(not_read)
    _summarise(audit, explain=explain)
    if any(audit.has(verdict) for verdict in fail_on or ()):
        raise typer.Exit(1)


def _uses(
    paths: Sequence[str], images: str | None, options: ClusterOptions, not_read: NotRead
) -> tuple[list[ImageUse], Credentials | None]:
    """The images in use, and the cluster's credentials for them; ``not_read`` collects what is passed over."""
    from multiarch.audit.uses import uses_in
    from multiarch.kubernetes.cluster import open_cluster

    if images is not None:
        return sources.from_list(images), None
    if paths:
        return uses_in(*reading.manifest_objects(paths), not_read), None
    with open_cluster(options.access) as cluster:
        uses = uses_in(reading.cluster_objects(cluster, options), not_read=not_read)
        return uses, reading.pull_secrets(cluster, uses)


async def _audited(uses: Sequence[ImageUse], architectures: Sequence[Architecture], registry: Registry) -> ImageAudit:
    from multiarch.audit.images import audit_images

    with progress("reading images") as step:
        return await audit_images(registry, uses, architectures, looked_up=step)


def _summarise(audit: ImageAudit, *, explain: bool) -> None:
    from multiarch.images.model import Verdict

    if explain:
        for row in audit.rows:
            say(f"{row.image}: {row.worst}")
            for judgement in row.judgements:
                say(f"  {judgement.architecture}: {judgement.verdict}: {judgement.reason}")
            for use in row.uses:
                say(f"  used by {use.workload.namespace or '-'} {use.workload}, {use.role} {use.container}".rstrip())
            say(f"  next: {row.next_step}")
    parts = ", ".join(f"{audit.count(verdict)} {verdict}" for verdict in Verdict)
    architectures = " and ".join(str(each) for each in audit.architectures)
    say(f"{counted(len(audit.rows), 'image')} for {architectures}: {parts}.")
