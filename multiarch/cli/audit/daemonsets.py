"""``multiarch audit daemonsets``: which DaemonSets run on which node groups, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from multiarch.cli import reading
from multiarch.cli.formats import Format, output_option, show
from multiarch.cli.options import stacks, with_groups
from multiarch.cli.options.cluster import ClusterOptions, ManifestsArgument
from multiarch.cli.options.completion import stack_names
from multiarch.cli.options.registry import RegistryOptions, ask
from multiarch.cli.terminal import say
from multiarch.errors import MultiarchError
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.audit.daemonset_groups import Groups
    from multiarch.audit.daemonset_model import DaemonSet, DaemonSetAudit
    from multiarch.audit.images import ImageAudit
    from multiarch.audit.uses import ImageUse
    from multiarch.facts.taints import Taint
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.registry.credentials.model import Credentials
    from multiarch.stack.model import Plan

HELP = """Show which DaemonSets run on which node groups.

Gives the reason for those that do not. Reads DaemonSets and Nodes from manifests (kubectl get nodes,daemonsets -A -o
yaml), or else from the live cluster of the kubeconfig. With --stack, the node groups, NodePools and add-ons are those
of the stack's plan, before any of them exists; the other DaemonSets come from manifests, or from a live cluster with
--context or --kubeconfig.

\b
Outcomes:
  runs           scheduled, and all its images have the architecture
  FAILS          scheduled, but an image lacks the architecture: pods can't start
  does not run   excluded only by labels or taints about the architecture
  excluded       excluded by other rules, also on the other architecture
  unknown        an image can't be read, or the nodes' labels are not known yet

Findings are FAILS, and "does not run" where it would run on the same nodes of the other architecture.

\b
Examples:
  multiarch audit daemonsets                                 every DaemonSet of the current context
  multiarch audit daemonsets --by architecture --fail-on finding
  multiarch audit daemonsets --stack payments-prod examples/pods.yaml
  helm template agent ./chart | multiarch audit daemonsets --stack checkout-dev - --output markdown
  multiarch audit daemonsets --stack checkout-dev --context production

Exit code: 0; 1 if --fail-on finds something; 2 for invalid input; 3 if the cluster can't be reached."""
_NODES_HINT = "Give --stack NAME for a stack's node groups, or manifests with Nodes: kubectl get nodes,daemonsets -A."


@dataclass(frozen=True, slots=True)
class DaemonSetInput:
    """DaemonSets, nodes, the images they use, and the cluster's credentials for them.

    ``nodes`` are those of a live cluster or of manifests, empty where a plan says which there are.
    """

    daemon_sets: tuple[LoadedObject, ...]
    nodes: tuple[LoadedObject, ...]
    uses: tuple[ImageUse, ...]
    credentials: Credentials | None = None


class FailOn(StrEnum):
    """What ``--fail-on`` can find."""

    FINDING = "finding"
    UNKNOWN = "unknown"


@with_groups
def daemonsets(
    paths: ManifestsArgument = None,
    *,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="STACK|FILE", autocompletion=stack_names, help="Take node groups and add-ons from this stack."
        ),
    ] = None,
    by: Annotated[
        Literal["group", "architecture"], typer.Option(help="One column per node group or architecture.")
    ] = "group",
    architecture_taint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE:EFFECT",
            help="A taint of an architecture's nodes whose key and value don't name it; may be repeated.",
        ),
    ] = None,
    cluster: ClusterOptions,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            metavar="finding|unknown", help="Exit with 1 if there is a finding, or an unknown cell; may be repeated."
        ),
    ] = None,
    output: Annotated[Format, output_option("records")] = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Audit DaemonSets, as :data:`HELP` says."""
    from multiarch.audit.daemonsets import by_architecture
    from multiarch.cli.audit.daemonset_report import daemonset_report
    from multiarch.facts.taints import parse_taint

    reading.check(paths or (), cluster)
    taints = [parse_taint(text) for text in architecture_taint or ()]
    plan = stacks.plan_of(stack) if stack else None
    live = not paths and (cluster.given or not stack)
    found = _from_cluster(cluster, plan) if live else _from_manifests(paths or (), plan)
    audit = audited(found, plan, images_of(found, registries), taints)
    if by == "architecture":
        audit = by_architecture(audit)
    show(daemonset_report(audit), output)
    _summarise(audit)
    if _fails(audit, fail_on or ()):
        raise typer.Exit(1)


def _from_manifests(paths: Sequence[str], plan: Plan | None) -> DaemonSetInput:
    """Raises MultiarchError if there are no DaemonSets, or no nodes to compare them with."""
    from multiarch.audit.daemonset_sources import image_uses
    from multiarch.kubernetes.manifests import read_manifests
    from multiarch.kubernetes.resources import Kind

    found = list(read_manifests(paths))
    daemon_sets = tuple(each for each in found if each.value["kind"] == Kind.DAEMON_SET)
    nodes = tuple(each for each in found if each.value["kind"] == Kind.NODE)
    if paths and not daemon_sets:
        raise MultiarchError(f"{', '.join(paths)}: no DaemonSets found.")
    if plan is None and not nodes:
        raise MultiarchError("The manifests have DaemonSets and no Nodes.", hint=_NODES_HINT)
    return DaemonSetInput(daemon_sets, nodes, tuple(image_uses(daemon_sets)))


def _from_cluster(options: ClusterOptions, plan: Plan | None) -> DaemonSetInput:
    """Raises MultiarchError for a missing namespace, or a cluster without nodes."""
    from multiarch.audit.daemonset_sources import image_uses
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.kubernetes.resources import Kind

    with open_cluster(options.access) as cluster:
        reading.check_namespaces(cluster, options)
        daemon_sets = tuple(
            cluster.objects([Kind.DAEMON_SET], namespaces=options.namespace or None, selector=options.selector)
        )
        nodes = () if plan is not None else tuple(cluster.objects([Kind.NODE]))
        if plan is None and not nodes:
            raise MultiarchError(f"The cluster of context {cluster.name} has no nodes.", hint=_NODES_HINT)
        uses = image_uses(daemon_sets)
        return DaemonSetInput(daemon_sets, nodes, tuple(uses), reading.pull_secrets(cluster, uses))


def images_of(found: DaemonSetInput, registries: RegistryOptions) -> ImageAudit:
    """Look up the images that the DaemonSets use."""
    from multiarch.audit.images import ImageAudit, audit_images
    from multiarch.facts.architectures import Architecture

    both = tuple(Architecture)
    if not found.uses:
        return ImageAudit(both, ())
    return ask(registries, lambda registry: audit_images(registry, found.uses, both), credentials=found.credentials)


def audited(found: DaemonSetInput, plan: Plan | None, images: ImageAudit, taints: Sequence[Taint]) -> DaemonSetAudit:
    """Audit DaemonSets on the groups of ``plan``, or else of the nodes. Raises MultiarchError where there are none.

    ``taints`` stand for an architecture though their key and value don't name it.
    """
    from multiarch.audit.daemonset_sources import daemon_sets_in, planned_daemon_sets, without
    from multiarch.audit.daemonsets import audit_daemon_sets, label_keys

    daemon_sets: tuple[DaemonSet, ...] = daemon_sets_in(found.daemon_sets, images)
    notes = ["Not checked: whether the nodes have room for the pods."]
    if plan is None:
        notes.append("Node groups without nodes at present are not listed.")
    else:
        daemon_sets += without(planned_daemon_sets(plan), daemon_sets)
        taints = [*taints, *([plan.arm64_taint] if plan.arm64_taint else [])]
        notes.append("What the stack installs is judged by AWS's published manifests; their images were not read.")
    groups = _groups(found, plan, label_keys(daemon_sets))
    return audit_daemon_sets(daemon_sets, groups.groups, architecture_taints=taints, notes=(*groups.notes, *notes))


def _groups(found: DaemonSetInput, plan: Plan | None, keys: frozenset[str]) -> Groups:
    from multiarch.audit.daemonset_groups import live_groups, planned_groups

    if plan is not None:
        return planned_groups(plan, keys)
    groups = live_groups(found.nodes, keys)
    if not groups.groups:
        raise MultiarchError(f"No amd64 or arm64 nodes found. {' '.join(groups.notes)}")
    return groups


def _fails(audit: DaemonSetAudit, fail_on: Sequence[str]) -> bool:
    from multiarch.audit.daemonset_model import DaemonSetOutcome

    return ("unknown" in fail_on and audit.count(DaemonSetOutcome.UNKNOWN) > 0) or (
        "finding" in fail_on and audit.findings > 0
    )


def _summarise(audit: DaemonSetAudit) -> None:
    from multiarch.audit.daemonset_model import DaemonSetOutcome

    for row in audit.rows:
        names = [
            column.name
            for column, cell in zip(audit.columns, row.cells, strict=True)
            if cell.outcome is DaemonSetOutcome.FAILS
        ]
        if names:
            say(f"worst: {row.daemon_set} is scheduled on {', '.join(names)} and can't start there.")
    parts = ", ".join(f"{audit.count(outcome)} {outcome}" for outcome in DaemonSetOutcome)
    say(
        f"{counted(len(audit.rows), 'DaemonSet')} on {counted(len(audit.columns), 'column')}: {parts}; "
        f"{counted(audit.findings, 'finding')}."
    )
