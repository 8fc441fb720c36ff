"""``multiarch verify nodes``: whether a cluster's nodes are what their stack says."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.options import with_groups
from multiarch.cli.options.aws import AwsOptions
from multiarch.cli.options.cluster import AccessOptions
from multiarch.cli.options.stacks import OptionalStackArgument, plan_of
from multiarch.cli.terminal import print_command, print_message, show_progress
from multiarch.cli.verify.node_report import build_node_report
from multiarch.errors import MultiarchError, OutsideError
from multiarch.plurals import format_count
from multiarch.rules import Severity
from multiarch.runs.verify_nodes import NodeSourceReader, add_taints
from multiarch.verify.nodes.join import compare_sources
from multiarch.verify.nodes.model import NodeReadings, NodeVerdict, NodeVerification
from multiarch.verify.nodes.taints import TaintFix, list_taint_fixes

HELP = """Compare a cluster's nodes with their stack.

For each node it compares four sources and says where they disagree: the stack's plan (architecture, AMI, taints,
labels), EC2 and Auto Scaling (instance type, AMI, launch template version), the Kubernetes Node, and the node itself,
which is queried through SSM Run Command (CPU, kubelet, containerd, runc, kernel). Nothing is written on the nodes.
Instances that never became a Node are listed with the reason that their boot log or console output shows.

With --cluster, and without a stack, only the other three are compared.

\b
Verdicts:
  ok              every source was read, and they agree
  partly checked  what was read agrees; something could not be read
  joining         the instance started a few minutes ago
  warning         works, but is not what the stack says
  never joined    the instance runs and has no Node
  wrong           an architecture, a taint or a label is wrong, or the Node is not Ready

\b
Examples:
  multiarch verify nodes payments-prod
  multiarch verify nodes payments-prod --output json --fail-on warning
  multiarch verify nodes --cluster legacy --region eu-west-1 --no-ssm
  multiarch verify nodes payments-prod --fix-taints --dry-run

Exit code: 0; 1 if there is a finding (--fail-on); 2 for invalid input, or if the cluster does not exist; 3 if a source
could not be read and there is no finding."""


@with_groups
def nodes(
    stack: OptionalStackArgument = None,
    *,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="An EKS cluster without a stack, in place of STACK.")
    ] = None,
    aws: AwsOptions,
    access: AccessOptions,
    ssm: Annotated[bool, typer.Option("--ssm/--no-ssm", help="Query the nodes themselves through SSM.")] = True,
    join_minutes: Annotated[
        float,
        typer.Option(metavar="MINUTES", min=0, help="How long an instance may run before it must be a Node."),
    ] = 10,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="Time limit for querying all nodes through SSM.")
    ] = 300,
    fix_taints: Annotated[
        bool, typer.Option("--fix-taints", help="Add the stack's taints to Nodes that miss them, after a prompt.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix-taints: don't prompt.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --fix-taints: show the patches, and change nothing.")
    ] = False,
    fail_on: Annotated[
        Literal["error", "warning"],
        typer.Option(metavar="error|warning", help="From which severity on a finding gives exit code 1."),
    ] = "error",
    output: OutputOption = Format.TABLE,
) -> None:
    """Verify nodes, as :data:`HELP` says."""
    _check(stack, cluster, fix_taints=fix_taints, only_with_it=yes or dry_run)
    plan = plan_of(stack) if stack else None
    with show_progress("querying nodes") as step:
        reader = NodeSourceReader(
            cluster=plan.cluster.name if plan else str(cluster),
            plan=plan,
            clients=aws.open(plan.region, "aws:region in the stack file") if plan else aws.open(None),
            access=access.access,
            ssm=ssm,
            join_minutes=join_minutes,
            deadline=timeout,
            progress=step,
        )
        sources = reader.read()
    result = compare_sources(sources)
    if fix_taints:
        sources = _fixed(sources, result, access, yes=yes, dry_run=dry_run)
        result = compare_sources(sources)
    print_report(build_node_report(result, plan.stack if plan else None), output)
    _summarise(result)
    found = result.counted()
    if found[Severity.ERROR] or (fail_on == "warning" and found[Severity.WARNING]):
        raise typer.Exit(1)
    if reader.failed:
        raise typer.Exit(OutsideError.exit_code)


def _check(stack: str | None, cluster: str | None, *, fix_taints: bool, only_with_it: bool) -> None:
    """Raise MultiarchError for options that are mutually exclusive."""
    if (stack is None) == (cluster is None):
        raise MultiarchError(
            "STACK and --cluster are mutually exclusive." if stack else "Which nodes? Give a STACK, or --cluster NAME.",
            hint="" if stack else "`multiarch stack list` shows the stacks.",
        )
    if fix_taints and not stack:
        raise MultiarchError("--fix-taints needs a STACK.", hint="Its plan says which taints are missing.")
    if only_with_it and not fix_taints:
        raise MultiarchError("--yes and --dry-run belong to --fix-taints.")


def _fixed(
    sources: NodeReadings, result: NodeVerification, access: AccessOptions, *, yes: bool, dry_run: bool
) -> NodeReadings:
    """Return the sources once missing taints are added.

    Raises MultiarchError if there is no terminal, or if the first Node can't be changed.
    """
    if sources.nodes is None:
        print_message("The Nodes could not be read: no taint was added.")
        return sources
    fixes, foreign = list_taint_fixes(result)
    for name in foreign:
        print_message(
            f"{name} was left alone: the tags of its instance do not say that it belongs to {result.cluster} alone."
        )
    if not fixes:
        print_message("No taint can be added." if foreign else "No taint is missing.")
        return sources
    _show_fixes(fixes, access if dry_run else None)
    if dry_run or not (yes or _confirmed(len(fixes))):
        return sources
    return add_taints(sources, fixes, access.access, print_message)


def _show_fixes(fixes: Sequence[TaintFix], access: AccessOptions | None) -> None:
    """Show what is missing, or for a dry run with ``access`` the commands that add it."""
    for fix in fixes:
        taints = ", ".join(map(str, fix.taints))
        if access is not None:
            given = {"--kubeconfig": access.kubeconfig, "--context": access.context}
            chosen = [f"{option}={value}" for option, value in given.items() if value]
            patch = [*chosen, "patch", "node", fix.node.name, "--type=json", "-p", json.dumps(fix.operations)]
            print_command(shlex.join(["kubectl", *patch]))
        else:
            print_message(f"{fix.node.name}: {taints} is missing.")
    print_message("NoSchedule keeps new pods away and leaves running pods on the node; NoExecute evicts them.")
    print_message(
        "This changes these Nodes alone. Where a kubelet was started without the taint, the group's next node starts "
        "without it too: run `pulumi up`, and correct preBootstrap, kubeletExtraArgs or the AMI's bootstrap."
    )


def _confirmed(count: int) -> bool:
    """Return whether the person at the terminal agrees. Raises MultiarchError if there is none."""
    if not sys.stdin.isatty():
        raise MultiarchError(
            "--fix-taints needs a terminal to prompt for confirmation.", hint="Give --yes, or --dry-run."
        )
    return typer.confirm(f"Add taints to {format_count(count, 'node')}?", err=True)


def _summarise(result: NodeVerification) -> None:
    parts = [f"{count} {verdict}" for verdict in NodeVerdict if (count := result.count(verdict))]
    found = result.counted()
    kinds = [format_count(found[severity], severity) for severity in Severity if found[severity]]
    print_message(
        f"{format_count(len(result.rows), 'node')} of {result.cluster}"
        f"{': ' + ', '.join(parts) if parts else ''}; {', '.join(kinds) or 'no findings'}."
    )
