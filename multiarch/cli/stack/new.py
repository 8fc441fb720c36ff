"""``multiarch stack new``: a commented stack file that is valid as written, for a new cluster or an existing one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import AccessOptions
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.stack.new_cluster import NewClusterOptions
from multiarch.cli.terminal import print_message, print_notes
from multiarch.errors import MultiarchError, StackError
from multiarch.existing.proposal import plan_addition
from multiarch.existing.stack_file import list_not_taken_over, write_stack_file
from multiarch.facts.partitions import explain_unknown_region
from multiarch.files import write_atomically
from multiarch.rules import Severity
from multiarch.runs.eks_clusters import read_cluster_nodes
from multiarch.runs.stacks import find_root
from multiarch.stack.load import STACKS_FOLDER, load_file, name_fault
from multiarch.stack.new_file import write_stack
from multiarch.stack.plan import make_plan
from multiarch.stack.yaml_source import format_path
from multiarch.today import get_today

_DEFAULT_REGION = "eu-west-1"
HELP = """Write a stack file for a new or an existing cluster.

The file is config/stacks/Pulumi.TEAM-ENV.yaml; it is valid and commented.

--from-cluster NAME reads an EKS cluster, whatever tool made it, and writes a stack that adds arm64 nodes to it: an
arm64 group for each amd64 group, with its size, disk, labels and taints; the taint and the autoscaler that are in use;
the subnets. Comments say where each value is from, and what the stack does not take over. Nothing of the cluster is
changed. Team and environment are those of its name, such as shop-prod, unless they are given. It needs AWS credentials
with read access; where the kubeconfig has a context of the cluster, Nodes, Deployments and NodePools are read too.

\b
Examples:
  multiarch stack new --team search --env dev
  multiarch stack new --team search --env prod --owner search@example.com
  multiarch stack new --team search --env prod --public-cidr "$(curl -s https://checkip.amazonaws.com)/32"
  multiarch stack new --team search --env qa --zones 3 --ami-family Bottlerocket --spot --tag tier=web
  multiarch stack new --from-cluster shop-prod --region eu-central-1

Nothing is written if `multiarch stack check` would reject the file.

Exit code: 0; 2 if the file exists, an option is invalid, or the cluster can't have a stack now; 3 if AWS can't be
reached or denies access."""
_WHOSE = "Who can reach the Kubernetes API is a setting of the cluster."


@with_groups
def new(
    *,
    team: Annotated[
        str | None, typer.Option(metavar="NAME", help="The team, the first part of the stack's name.")
    ] = None,
    env: Annotated[
        str | None, typer.Option(metavar="NAME", help="The environment, the second part: dev, prod.")
    ] = None,
    from_cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Write a stack for this EKS cluster, which exists.")
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(
            metavar="REGION",
            help=f"The AWS region. Default: {_DEFAULT_REGION}; with --from-cluster, the environment's.",
        ),
    ] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The contact: a mail address or a group. Default: the team.")
    ] = None,
    cost_center: Annotated[str | None, typer.Option(metavar="TEXT", help="The cost center. Default: the team.")] = None,
    public_cidr: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Allow this CIDR block to reach the Kubernetes API; may be repeated."),
    ] = None,
    cluster: NewClusterOptions,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    yes: Annotated[bool, typer.Option("--yes", hidden=True, help="Accepted from before; nothing prompts.")] = False,  # noqa: ARG001
    access: AccessOptions,
) -> None:
    """Write a stack file, as :data:`HELP` says."""
    if from_cluster is None and access.given:
        raise MultiarchError(f"{access.given} needs --from-cluster.")
    if from_cluster is not None and public_cidr:
        raise MultiarchError("--public-cidr and --from-cluster are mutually exclusive.", hint=_WHOSE)
    if from_cluster is not None and cluster.given:
        raise MultiarchError(f"{cluster.given} and --from-cluster are mutually exclusive.")
    team, env = _choose_names(team, env, from_cluster)
    region = _DEFAULT_REGION if region is None and from_cluster is None else region
    owner, cost_center = team if owner is None else owner, team if cost_center is None else cost_center
    for option, value, fault in (
        ("--team", team, name_fault(team)),
        ("--env", env, name_fault(env)),
        ("--region", region or "", region and explain_unknown_region(region)),
        ("--owner", json.dumps(owner), _text_fault(owner)),
        ("--cost-center", json.dumps(cost_center), _text_fault(cost_center)),
        *(("--public-cidr", json.dumps(each), _text_fault(each)) for each in public_cidr or ()),
    ):
        if fault:
            raise MultiarchError(f"{option} {value}: {fault}")
    path = find_root(get_chosen_project()) / STACKS_FOLDER / f"Pulumi.{team}-{env}.yaml"
    if os.path.lexists(path) and not force:  # also a link to nowhere, which may lead out of the clone
        raise MultiarchError(f"{format_path(path)} already exists.", hint="--force replaces it.")
    notes: Iterable[str] = ()
    if from_cluster is None:
        where, cidrs = region or _DEFAULT_REGION, public_cidr or []
        text = write_stack(
            team, env, cluster.choose(env), region=where, owner=owner, cost_center=cost_center, cidrs=cidrs
        )
    else:
        proposal = plan_addition(read_cluster_nodes(from_cluster, region, access.access), get_today())
        text = write_stack_file(proposal, team, env, owner=owner, cost_center=cost_center)
        notes = list_not_taken_over(proposal)
    _check(text, path)
    write_atomically(path, text)
    typer.echo(format_path(path))
    print_notes(notes)
    print_message(
        f"Next: edit it, then run `multiarch stack check {team}-{env}` and `multiarch stack render {team}-{env}`."
    )
    print_message(f"Before the first deployment, `multiarch stack pin {team}-{env}` pins images and add-on versions.")


def _choose_names(team: str | None, env: str | None, cluster: str | None) -> tuple[str, str]:
    """Return team and environment, by default those of the cluster's name. Raises MultiarchError if one is missing."""
    head, _, tail = (cluster or "").rpartition("-")
    team, env = (head or None) if team is None else team, (tail or None) if env is None else env
    if team is None or env is None:
        why = f"The cluster's name {cluster} is not TEAM-ENV." if cluster else "Team and environment are not given."
        raise MultiarchError(why, hint="Give --team and --env.")
    return team, env


def _text_fault(value: str) -> str | None:
    """Say why a string can't be a value of the file; ``None`` if it can."""
    if not value.strip():
        return "Give it a value, or omit the option."
    if not value.isprintable():
        return "Use printable characters only."
    return None


def _check(text: str, path: Path) -> None:
    """Check what is to be written as `stack check` does. Raises StackError with the errors.

    The file is not there yet: they name the key alone, or the place of a default in Pulumi.yaml.
    """
    try:
        make_plan(load_file(path, text=text), today=get_today())
    except StackError as error:
        errors = [each for each in error.problems if each.severity is Severity.ERROR]
        own = format_path(path)
        raise StackError(
            [replace(each, file=None, line=None) if each.file == own else each for each in errors]
        ) from error
