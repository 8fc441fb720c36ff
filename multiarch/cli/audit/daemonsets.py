"""``multiarch audit daemonsets``: which DaemonSets run on which node groups, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

import typer

from multiarch.audit.daemonset_model import DaemonSetAudit, DaemonSetOutcome
from multiarch.cli.audit.daemonset_report import build_daemonset_report
from multiarch.cli.formats import Format, RowsOutputOption, print_report
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import ClusterOptions, ManifestsArgument, SourceOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import complete_stacks, plan_of, reject_stacks
from multiarch.cli.terminal import print_message, print_notes, show_progress
from multiarch.facts.taints import parse_taint
from multiarch.plurals import format_count
from multiarch.runs.audits import audit_daemon_sets

HELP = """Show which DaemonSets run on which node groups.

Gives the reason for those that do not. Reads DaemonSets and Nodes from manifests (--manifests; kubectl get
nodes,daemonsets -A -o yaml), or else from the live cluster of the kubeconfig (--live). With --stack, the node groups,
NodePools and add-ons are those of the stack's plan, before any of them exists; the other DaemonSets come from
--manifests or --live.

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
  multiarch audit daemonsets --stack payments-prod --manifests examples/pods.yaml
  helm template agent ./chart | multiarch audit daemonsets --stack checkout-dev --manifests - --output markdown
  multiarch audit daemonsets --stack checkout-dev --live --context production

Exit code: 0; 1 if --fail-on finds something; 2 for invalid input; 3 if the cluster can't be reached."""


class DaemonSetFailOn(StrEnum):
    """What ``--fail-on`` can find."""

    FINDING = "finding"
    UNKNOWN = "unknown"


@with_groups
def daemonsets(
    paths: ManifestsArgument = None,
    *,
    source: SourceOptions,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="STACK|FILE", autocompletion=complete_stacks, help="Take node groups and add-ons from this stack."
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
        list[DaemonSetFailOn] | None,
        typer.Option(
            metavar="finding|unknown", help="Exit with 1 if there is a finding, or an unknown cell; may be repeated."
        ),
    ] = None,
    output: RowsOutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Audit DaemonSets, as :data:`HELP` says."""
    objects = source.choose_objects(cluster, paths)
    reject_stacks(objects.files)
    taints = [parse_taint(text) for text in architecture_taint or ()]
    plan = plan_of(stack) if stack else None
    with show_progress("reading images") as step:
        audit, notes = audit_daemon_sets(
            objects if objects.files or source.live or cluster.given or plan is None else None,
            registries.access,
            plan,
            taints=taints,
            per_architecture=by == "architecture",
            progress=step,
        )
    print_report(build_daemonset_report(audit), output)
    print_notes(notes)
    _summarise(audit)
    if _fails(audit, fail_on or ()):
        raise typer.Exit(1)


def _fails(audit: DaemonSetAudit, fail_on: Sequence[str]) -> bool:
    return ("unknown" in fail_on and audit.count(DaemonSetOutcome.UNKNOWN) > 0) or (
        "finding" in fail_on and audit.findings > 0
    )


def _summarise(audit: DaemonSetAudit) -> None:
    for row in audit.rows:
        names = [
            column.name
            for column, cell in zip(audit.columns, row.cells, strict=True)
            if cell.outcome is DaemonSetOutcome.FAILS
        ]
        if names:
            print_message(f"worst: {row.daemon_set} is scheduled on {', '.join(names)} and can't start there.")
    parts = ", ".join(f"{audit.count(outcome)} {outcome}" for outcome in DaemonSetOutcome)
    print_message(
        f"{format_count(len(audit.rows), 'DaemonSet')} on {format_count(len(audit.columns), 'column')}: {parts}; "
        f"{format_count(audit.findings, 'finding')}."
    )
