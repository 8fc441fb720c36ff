"""``multiarch audit daemonsets``: which DaemonSets run on which groups of nodes, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli import registries, stack_files
from multiarch.cli.kubernetes import ContextOption, KubeconfigOption, NamespacesOption, SelectorOption, cluster_options
from multiarch.cli.output import counted, say
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.audit.daemonset_groups import Groups
    from multiarch.audit.daemonset_model import DaemonSet, DaemonSetAudit
    from multiarch.audit.images import ImageAudit
    from multiarch.audit.uses import ImageUse
    from multiarch.facts.taints import Taint
    from multiarch.kubernetes.access import ClusterAccess
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.registry.credentials.model import Credentials
    from multiarch.stack.model import Plan

HELP = """Say which DaemonSets run on which node groups, and why the others do not.

DaemonSets and nodes are those of the live cluster of the kubeconfig, or of manifests (kubectl get nodes,daemonsets
-A -o yaml). With --stack the node groups and NodePools are those of the stack's plan, before any of them exists, and
its add-ons count; the other DaemonSets are those of manifests, or with --context or --kubeconfig those of a live
cluster.

\b
In a cell stands what becomes of the pods:
  runs           they are put on the group's nodes, and all images have a build for them
  FAILS          they are put there and never start: an image has no build for the architecture
  does not run   a label, a taint or both keep them off, for no other reason than the architecture
  excluded       something else keeps them off, as it would on the same nodes of the other architecture
  unknown        an image can't be read, or the nodes' labels can't be known yet
FAILS is a finding, and so is "does not run" where the same nodes of the other architecture would run them.

\b
Examples:
  multiarch audit daemonsets                                 every DaemonSet of the current context
  multiarch audit daemonsets --by architecture --fail-on finding
  multiarch audit daemonsets --stack payments-prod examples/pods.yaml
  helm template agent ./chart | multiarch audit daemonsets --stack checkout-dev - --output markdown
  multiarch audit daemonsets --stack checkout-dev --context production

Exit code: 0, or 1 where --fail-on finds something."""
_NODES_HINT = "Give --stack NAME for a stack's node groups, or manifests with Nodes: kubectl get nodes,daemonsets -A."


class Format(StrEnum):
    """The shapes an audit of DaemonSets can have."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class By(StrEnum):
    """What the columns are."""

    GROUP = "group"
    ARCHITECTURE = "architecture"


class FailOn(StrEnum):
    """What can make the command fail."""

    FINDING = "finding"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where DaemonSets and nodes come from. ``live``: from a cluster, for lack of manifests or because one is named."""

    paths: tuple[str, ...]
    plan: Plan | None
    access: ClusterAccess
    namespaces: tuple[str, ...] | None
    selector: str
    live: bool


@dataclass(frozen=True, slots=True)
class _Read:
    """Objects that were read, and the credentials that the cluster has for their images."""

    daemon_sets: tuple[LoadedObject, ...]
    nodes: tuple[LoadedObject, ...]
    uses: tuple[ImageUse, ...]
    credentials: Credentials | None = None


def daemonsets(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE|FOLDER|-]...", help="Manifests, YAML or JSON; - is stdin.")
    ] = None,
    *,
    stack: Annotated[
        str | None, typer.Option("--stack", metavar="NAME|FILE", help="Take node groups and add-ons from this stack.")
    ] = None,
    by: Annotated[By, typer.Option("--by", help="What the columns are.")] = By.GROUP,
    architecture_taint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE:EFFECT",
            help="A taint that stands for an architecture though neither key nor value name one; may be repeated.",
        ),
    ] = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespacesOption = None,
    selector: SelectorOption = None,
    fail_on: Annotated[
        list[FailOn] | None, typer.Option(help="Exit with 1 if there is a finding, or a cell unknown; may be repeated.")
    ] = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="How the result looks on stdout.")] = Format.TABLE,
    insecure_registry: registries.InsecureOption = None,
    ca_file: registries.CaFileOption = None,
    hosts_dir: registries.HostsDirOption = None,
    docker_config: registries.DockerConfigOption = None,
    no_cache: registries.NoCacheOption = False,
    timeout: registries.TimeoutOption = registries.DEFAULT_TIMEOUT,
) -> None:
    """Judge DaemonSets as :data:`HELP` says."""
    from multiarch.audit.daemonsets import by_architecture
    from multiarch.cli.audit import daemonset_formats
    from multiarch.facts.taints import parse_taint
    from multiarch.kubernetes.access import ClusterAccess

    given = cluster_options(kubeconfig=kubeconfig, context=context, namespace=namespace, selector=selector)
    if paths and given:
        raise MultiarchError(f"{', '.join(given)} is for a live cluster, not for manifests.", hint="Give one of them.")
    taints = [parse_taint(text) for text in architecture_taint or ()]
    asked = _Asked(
        tuple(paths or ()),
        stack_files.planned(stack_files.file(stack))[1] if stack else None,
        ClusterAccess(kubeconfig, context),
        tuple(namespace) if namespace else None,
        selector or "",
        live=not paths and (bool(given) or not stack),
    )
    options = registries.options(
        insecure_registry, ca_file, hosts_dir, docker_config, no_cache=no_cache, timeout=timeout
    )
    audit = _audited(asked, options, taints)
    if by is By.ARCHITECTURE:
        audit = by_architecture(audit)
    daemonset_formats.show(audit, output)
    _summarise(audit)
    if _fails(audit, fail_on or ()):
        raise typer.Exit(1)


def _audited(asked: _Asked, options: registries.RegistryOptions, taints: Sequence[Taint]) -> DaemonSetAudit:
    from multiarch.audit.daemonset_sources import add_on_daemon_sets, daemon_sets_in, without
    from multiarch.audit.daemonsets import audit_daemon_sets, label_keys

    read = _read(asked)
    images = registries.waited(_judged(options, read))
    found: tuple[DaemonSet, ...] = daemon_sets_in(read.daemon_sets, images)
    notes = ["Whether nodes have room for the pods is not judged."]
    if asked.plan is not None:
        found += without(add_on_daemon_sets(asked.plan.addons), found)
        taints = [*taints, *([asked.plan.arm64_taint] if asked.plan.arm64_taint else [])]
        notes.append("Add-ons are judged by what AWS publishes about them: their images were not looked up.")
    else:
        notes.append("Groups that have no node at present are not seen.")
    groups = _groups(asked, read, label_keys(found))
    return audit_daemon_sets(found, groups.groups, architecture_taints=taints, notes=(*groups.notes, *notes))


def _read(asked: _Asked) -> _Read:
    """Read what was asked for. Raises MultiarchError where there is nothing to hold DaemonSets against."""
    from multiarch.audit.daemonset_sources import image_uses
    from multiarch.kubernetes.manifests import read_manifests
    from multiarch.kubernetes.resources import Kind

    if asked.live:
        return _from_cluster(asked)
    found = list(read_manifests(asked.paths))
    daemon_sets = tuple(each for each in found if each.value["kind"] == Kind.DAEMON_SET)
    nodes = tuple(each for each in found if each.value["kind"] == Kind.NODE)
    if asked.paths and not daemon_sets:
        raise MultiarchError(f"{', '.join(asked.paths)}: there is no DaemonSet in it.")
    if asked.plan is None and not nodes:
        raise MultiarchError("The manifests hold DaemonSets and no Nodes to hold them against.", hint=_NODES_HINT)
    return _Read(daemon_sets, nodes, tuple(image_uses(daemon_sets)))


def _from_cluster(asked: _Asked) -> _Read:
    from multiarch.audit.daemonset_sources import image_uses
    from multiarch.cli.audit.source import pull_secrets
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.kubernetes.resources import Kind

    with open_cluster(asked.access) as cluster:
        if missing := cluster.missing_namespaces(asked.namespaces or ()):
            raise MultiarchError(
                f"There is no namespace {', '.join(missing)} in the cluster of context {cluster.name}."
            )
        daemon_sets = tuple(cluster.objects([Kind.DAEMON_SET], namespaces=asked.namespaces, selector=asked.selector))
        nodes = () if asked.plan is not None else tuple(cluster.objects([Kind.NODE]))
        if asked.plan is None and not nodes:
            raise MultiarchError(f"The cluster of context {cluster.name} has no node.", hint=_NODES_HINT)
        uses = image_uses(daemon_sets)
        return _Read(daemon_sets, nodes, tuple(uses), pull_secrets(cluster, uses))


def _groups(asked: _Asked, read: _Read, keys: frozenset[str]) -> Groups:
    from multiarch.audit.daemonset_groups import live_groups, planned_groups

    if asked.plan is not None:
        return planned_groups(asked.plan, keys)
    groups = live_groups(read.nodes, keys)
    if not groups.groups:
        raise MultiarchError(f"There is no node to hold DaemonSets against. {' '.join(groups.notes)}")
    return groups


async def _judged(options: registries.RegistryOptions, read: _Read) -> ImageAudit:
    from multiarch.audit.images import ImageAudit, audit_images
    from multiarch.facts.architectures import Architecture

    both = tuple(Architecture)
    if not read.uses:
        return ImageAudit(both, ())
    async with registries.connected(options, more_credentials=read.credentials) as registry:
        return await audit_images(registry, read.uses, both)


def _fails(audit: DaemonSetAudit, fail_on: Sequence[FailOn]) -> bool:
    from multiarch.audit.daemonset_model import DaemonSetOutcome

    unknown = FailOn.UNKNOWN in fail_on and audit.count(DaemonSetOutcome.UNKNOWN) > 0
    return unknown or (FailOn.FINDING in fail_on and audit.findings > 0)


def _summarise(audit: DaemonSetAudit) -> None:
    from multiarch.audit.daemonset_model import DaemonSetOutcome

    for row in audit.rows:
        names = [
            column.name
            for column, cell in zip(audit.columns, row.cells, strict=True)
            if cell.outcome is DaemonSetOutcome.FAILS
        ]
        if names:
            say(f"worst: {row.daemon_set} is put on the nodes of {', '.join(names)} and never starts there.")
    parts = ", ".join(f"{audit.count(outcome)} {outcome}" for outcome in DaemonSetOutcome)
    say(
        f"{counted(len(audit.rows), 'DaemonSet')} on {counted(len(audit.columns), 'column')}: {parts}; "
        f"{counted(audit.findings, 'finding')}."
    )
