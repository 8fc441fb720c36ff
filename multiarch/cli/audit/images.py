"""``multiarch audit images``: a verdict per architecture for every image in use."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli import registries
from multiarch.cli.audit.source import (
    GroupByOption,
    Sources,
    from_cluster,
    from_list,
    from_manifests,
    group_label,
    pull_secrets,
)
from multiarch.cli.kubernetes import ContextOption, KubeconfigOption, NamespacesOption, SelectorOption, cluster_options
from multiarch.cli.memory import few_collections
from multiarch.cli.output import counted, say
from multiarch.cli.progress import progress
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture

if TYPE_CHECKING:
    from multiarch.audit.images import ImageAudit
    from multiarch.audit.uses import ImageUse
    from multiarch.registry.credentials.model import Credentials

HELP = """Say which images run on amd64 and arm64, and who uses them.

Looks at manifests (files, folders, - for standard input), at a list (--images), or else at the live cluster of the
kubeconfig. Init, sidecar and ephemeral containers count, CronJobs and Jobs, bare pods, and pod specs inside objects of
unknown kinds. An image that can't be read is unknown, with the reason; the others are judged all the same.

\b
Examples:
  multiarch audit images                                     every namespace of the current context
  multiarch audit images -n shop -n pay --group-by team      two namespaces, by the workloads' label team
  helm template shop ./chart | multiarch audit images - --fail-on unsupported
  multiarch audit images examples/pods.yaml --output markdown
  multiarch audit images --images images.txt --output json

Exit code: 0, or 1 where --fail-on finds something."""


class Format(StrEnum):
    """The shapes an audit of images can have."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    SARIF = "sarif"


class FailOn(StrEnum):
    """The verdicts that can make the command fail."""

    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


def images(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE|FOLDER|-]...", help="Manifests, YAML or JSON; - is stdin.")
    ] = None,
    *,
    images: Annotated[
        str | None, typer.Option("--images", metavar="FILE", help="Judge this list, one image on a line; - is stdin.")
    ] = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespacesOption = None,
    selector: SelectorOption = None,
    architecture: Annotated[
        list[Architecture] | None, typer.Option(help="Judge for this architecture; may be repeated. Default: both.")
    ] = None,
    fail_on: Annotated[
        list[FailOn] | None, typer.Option(help="Exit with 1 if an image has this verdict; may be repeated.")
    ] = None,
    group_by: GroupByOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say of each image what to do next, on stderr.")] = False,
    output: Annotated[Format, typer.Option("--output", "-o", help="How the result looks on stdout.")] = Format.TABLE,
    insecure_registry: registries.InsecureOption = None,
    ca_file: registries.CaFileOption = None,
    hosts_dir: registries.HostsDirOption = None,
    docker_config: registries.DockerConfigOption = None,
    no_cache: registries.NoCacheOption = False,
    timeout: registries.TimeoutOption = registries.DEFAULT_TIMEOUT,
) -> None:
    """Judge images as :data:`HELP` says."""
    from multiarch.cli.audit import image_formats
    from multiarch.kubernetes.access import ClusterAccess

    given = cluster_options(kubeconfig=kubeconfig, context=context, namespace=namespace, selector=selector)
    sources = Sources(
        tuple(paths or ()),
        ClusterAccess(kubeconfig, context),
        tuple(namespace) if namespace else None,
        selector or "",
        images,
    )
    sources.check(given)
    label = group_label(group_by)
    if label and images is not None:
        raise MultiarchError(
            "--group-by is about workloads' labels, and a list has no workloads.", hint="Leave it out."
        )
    options = registries.options(
        insecure_registry, ca_file, hosts_dir, docker_config, no_cache=no_cache, timeout=timeout
    )
    with few_collections():
        uses, credentials = _uses(sources)
    wanted = tuple(dict.fromkeys(architecture)) if architecture else tuple(Architecture)
    with few_collections():
        audit = registries.waited(_audited(options, uses, wanted, credentials))
    image_formats.show(audit, output, group_by=label)
    _summarise(audit, explain=explain)
    if any(audit.has(verdict) for verdict in fail_on or ()):
        raise typer.Exit(1)


def _uses(sources: Sources) -> tuple[list[ImageUse], Credentials | None]:
    """The images in use, and the credentials that the cluster has for them."""
    if sources.images is not None:
        return from_list(sources.images), None
    if sources.paths:
        return from_manifests(sources.paths), None
    from multiarch.kubernetes.cluster import open_cluster

    with open_cluster(sources.access) as cluster:
        uses = from_cluster(cluster, sources.namespaces, sources.selector)
        return uses, pull_secrets(cluster, uses)


async def _audited(
    options: registries.RegistryOptions,
    uses: Sequence[ImageUse],
    architectures: Sequence[Architecture],
    credentials: Credentials | None,
) -> ImageAudit:
    from multiarch.audit.images import audit_images

    with progress("looking images up") as step:
        async with registries.connected(options, more_credentials=credentials) as registry:
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
    wanted = " and ".join(str(each) for each in audit.architectures)
    say(f"{counted(len(audit.rows), 'image')} for {wanted}: {parts}.")
