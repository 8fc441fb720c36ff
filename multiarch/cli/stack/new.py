"""``multiarch stack new``: a commented stack file that is valid as written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.options import project
from multiarch.cli.terminal import say, show_problems
from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.rules import Severity

_DEFAULT_REGION = "eu-west-1"
HELP = """Write a stack file with an amd64 and an arm64 node group.

The file is config/stacks/Pulumi.TEAM-ENV.yaml; it is valid and commented.

\b
Examples:
  multiarch stack new --team search --env dev
  multiarch stack new --team search --env prod --owner search@example.com
  multiarch stack new --team search --env prod --public-cidr "$(curl -s https://checkip.amazonaws.com)/32"

Nothing is written if `multiarch stack check` would refuse the file.

Exit code: 0; 2 if the file exists or an option is invalid."""
_OPTIONS = {
    "apiEndpoint": "--public-cidr",
    "aws:region": "--region",
    "costCenter": "--cost-center",
    "environment": "--env",
    "owner": "--owner",
    "team": "--team",
}
"""The option that a key of the new file is written from."""


def new(
    *,
    team: Annotated[str, typer.Option(metavar="NAME", help="The team, the first part of the stack's name.")],
    env: Annotated[str, typer.Option(metavar="NAME", help="The environment, the second part: dev, prod.")],
    region: Annotated[str, typer.Option(metavar="REGION", help="The AWS region.")] = _DEFAULT_REGION,
    owner: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The contact: a mail address or a group. Default: the team.")
    ] = None,
    cost_center: Annotated[str | None, typer.Option(metavar="TEXT", help="The cost center. Default: the team.")] = None,
    public_cidr: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Allow this range to reach the Kubernetes API; may be repeated."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a stack file, as :data:`HELP` says."""
    from multiarch.facts.partitions import why_not_region
    from multiarch.files import write_atomically
    from multiarch.stack.load import STACKS_FOLDER, name_fault
    from multiarch.stack.yaml_source import shown

    owner, cost_center = team if owner is None else owner, team if cost_center is None else cost_center
    for option, value, fault in (
        ("--team", team, name_fault(team)),
        ("--env", env, name_fault(env)),
        ("--region", region, why_not_region(region)),
        ("--owner", json.dumps(owner), _text_fault(owner)),
        ("--cost-center", json.dumps(cost_center), _text_fault(cost_center)),
        *(("--public-cidr", json.dumps(each), _text_fault(each)) for each in public_cidr or ()),
    ):
        if fault:
            raise MultiarchError(f"{option} {value}: {fault}")
    path = project.root() / STACKS_FOLDER / f"Pulumi.{team}-{env}.yaml"
    if path.exists() and not force:
        raise MultiarchError(f"{shown(path)} already exists.", hint="--force replaces it.")
    text = stack_text(team, env, region=region, owner=owner, cost_center=cost_center, cidrs=public_cidr or [])
    warnings = _checked(text, path)
    write_atomically(path, text)
    typer.echo(shown(path))
    show_problems(warnings)
    say(f"Next: edit it, then run `multiarch stack check {team}-{env}` and `multiarch stack render {team}-{env}`.")
    say(f"Before the first deployment, `multiarch stack pin {team}-{env}` pins AMI releases and add-on versions.")


def _text_fault(value: str) -> str | None:
    """Say why a text can't be a value of the file; ``None`` if it can."""
    if not value.strip():
        return "Give it a value, or leave the option out."
    if not value.isprintable():
        return "Use printable characters only."
    return None


def _checked(text: str, path: Path) -> list[Problem]:
    """Check what is to be written as `stack check` does, and return the warnings about options.

    Raises StackError with the problems; one of a value that an option gave names the option.
    """
    from multiarch.stack.load import load_text
    from multiarch.stack.plan import make_plan
    from multiarch.today import today

    try:
        plan = make_plan(load_text(text, path), today=today())
    except StackError as error:
        errors = [problem for problem in error.problems if problem.severity is Severity.ERROR]
        raise StackError(list(_by_option(errors))) from error
    return [problem for problem in _by_option(plan.warnings) if problem.file is None]


def _by_option(problems: Iterable[Problem]) -> Iterator[Problem]:
    for problem in problems:
        key = (problem.key or "").partition(".")[0].partition("[")[0]
        yield replace(problem, file=None, line=None, key=_OPTIONS[key]) if key in _OPTIONS else problem


def stack_text(team: str, env: str, *, region: str, owner: str, cost_center: str, cidrs: list[str]) -> str:
    """The file's text, with values quoted where YAML needs it. The same arguments give the same bytes."""
    from multiarch.facts.kubernetes import DEFAULT_VERSION
    from multiarch.stack.checks.production import PRODUCTION

    production = env in PRODUCTION
    return _TEMPLATE.format(
        name=f"{team}-{env}",
        team=json.dumps(team),
        env=json.dumps(env),
        region=region,
        owner=json.dumps(owner, ensure_ascii=False),
        cost_center=json.dumps(cost_center, ensure_ascii=False),
        version=DEFAULT_VERSION,
        zones=3 if production else 2,
        nat="per-zone" if production else "single",
        api=_public_api(cidrs) if cidrs else _PRIVATE_API,
    )


def _public_api(cidrs: list[str]) -> str:
    return _PUBLIC_API.format(cidrs=", ".join(json.dumps(cidr) for cidr in cidrs))


_PRIVATE_API = """\
  # Access to the Kubernetes API. A private endpoint is reachable from within the VPC only. To use kubectl from your own
  # machine, set public: true and publicCidrs: [YOUR.PUBLIC.IP.ADDRESS/32].
  multiarch-eks:apiEndpoint:
    private: true
    public: false

  # The default StorageClass is created through the Kubernetes API. Set this to true where Pulumi can reach it.
  multiarch-eks:storageClass: false
"""

_PUBLIC_API = """\
  # Access to the Kubernetes API: nodes from within the VPC, people from these ranges.
  multiarch-eks:apiEndpoint:
    private: true
    public: true
    publicCidrs: [{cidrs}]
"""

_TEMPLATE = """\
# yaml-language-server: $schema=../stack.schema.json
#
# The stack {name}: one EKS cluster with amd64 and arm64 nodes. Every key that is not set has a safe default.
#   multiarch stack check {name}      is it valid?
#   multiarch stack explain {name}    which values are derived from it?
#   multiarch stack render {name}     which resources will Pulumi declare?
config:
  aws:region: {region}

  # Keep the prefix multiarch-eks: of the keys at this level. Without it, Pulumi adds it when it first writes to this
  # file, and removes the comments.
  multiarch-eks:team: {team}
  multiarch-eks:environment: {env}
  multiarch-eks:owner: {owner} # a mail address or a group
  multiarch-eks:costCenter: {cost_center}

  # Keep the quotes: without them 1.30 is the number 1.3.
  multiarch-eks:kubernetesVersion: "{version}"

  multiarch-eks:network:
    cidr: 10.0.0.0/16
    zones: {zones}
    nat: {nat} # per-zone survives the loss of a zone; single costs less

{api}
  # ARNs of IAM roles or users, in addition to the one that creates the cluster.
  multiarch-eks:access:
    admins: []
    readers: []

  # A node group has one architecture, derived from its instance types.
  multiarch-eks:nodeGroups:
    general:
      instanceTypes: [m7i.large]
      minSize: 1
      maxSize: 4
    # Graviton. These nodes have the taint arch=arm64:NoSchedule, so only pods that tolerate it are scheduled here. Add
    # the toleration to workloads whose images have arm64.
    graviton:
      instanceTypes: [m7g.large]
      minSize: 1
      maxSize: 4

  # Autoscaling is off unless this is set. With prefer: arm64, new nodes are arm64 first, for pods that tolerate the
  # taint. use: cluster-autoscaler scales the groups above; use: karpenter creates nodes of its own, and runs on two
  # nodes of general (minSize: 2). docs/explanation/autoscaling.md compares them.
  # multiarch-eks:autoscaling:
  #   use: karpenter
  #   prefer: arm64
  #   karpenter:
  #     controllerGroup: general
  #     nodePools:
  #       general: {{cpuLimit: 64}}
"""
