"""``multiarch stack new``: a commented stack file that is valid as written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.output import say
from multiarch.errors import MultiarchError

_DEFAULT_REGION = "eu-west-1"


def new(
    *,
    team: Annotated[str, typer.Option(help="The team; the first part of the stack's name.")],
    env: Annotated[str, typer.Option(help="The environment, such as dev or prod; the second part.")],
    region: Annotated[str, typer.Option(help="The AWS region.")] = _DEFAULT_REGION,
    owner: Annotated[
        str | None, typer.Option(help="Whom to ask: a mail address or a group. Default: the team.")
    ] = None,
    cost_center: Annotated[str | None, typer.Option(help="Who pays. Default: the team.")] = None,
    public_cidr: Annotated[
        list[str] | None,
        typer.Option(help="Open the Kubernetes API to this range, such as your own address; may be repeated."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write config/stacks/Pulumi.TEAM-ENV.yaml: commented, valid as written, one amd64 and one arm64 node group."""
    from multiarch.cli.files import write_atomically
    from multiarch.stack.load import STACKS_FOLDER, name_fault, project_root, region_fault
    from multiarch.stack.yaml_source import shown

    for option, value, fault in (
        ("--team", team, name_fault(team)),
        ("--env", env, name_fault(env)),
        ("--region", region, region_fault(region)),
    ):
        if fault:
            raise MultiarchError(f"{option} {value}: {fault}")
    path = project_root(Path.cwd()) / STACKS_FOLDER / f"Pulumi.{team}-{env}.yaml"
    if path.exists() and not force:
        raise MultiarchError(f"{shown(path)} is there already.", hint="--force replaces it.")
    write_atomically(
        path,
        stack_text(
            team, env, region=region, owner=owner or team, cost_center=cost_center or team, cidrs=public_cidr or []
        ),
    )
    typer.echo(shown(path))
    say(f"Next: look through it, then `multiarch stack check {team}-{env}` and `multiarch stack render {team}-{env}`.")
    say(f"Before the first deployment `multiarch stack pin {team}-{env}` writes the image releases and versions down.")


def stack_text(team: str, env: str, *, region: str, owner: str, cost_center: str, cidrs: list[str]) -> str:
    """The file's text. Values are quoted as YAML needs it; the same arguments give the same bytes."""
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
  # Who reaches the Kubernetes API. Private means: from within the network alone. To use kubectl from your own machine,
  # add public: true and publicCidrs: [YOUR.PUBLIC.IP.ADDRESS/32].
  multiarch-eks:apiEndpoint:
    private: true
    public: false

  # A default StorageClass is written through the Kubernetes API, so Pulumi must reach it. Turn this on where it does.
  multiarch-eks:storageClass: false
"""

_PUBLIC_API = """\
  # Who reaches the Kubernetes API: nodes from within, people from these ranges.
  multiarch-eks:apiEndpoint:
    private: true
    public: true
    publicCidrs: [{cidrs}]
"""

_TEMPLATE = """\
# yaml-language-server: $schema=../stack.schema.json
#
# The stack {name}: one EKS cluster with amd64 and arm64 nodes. What is left out has a safe default:
#   multiarch stack check {name}      is it valid?
#   multiarch stack explain {name}    what follows from it, and by which rule?
#   multiarch stack render {name}     what will Pulumi declare?
config:
  aws:region: {region}

  # Keep multiarch-eks: before the keys at this level. Pulumi adds it when it first writes to this file, and then the
  # comments are lost.
  multiarch-eks:team: {team}
  multiarch-eks:environment: {env}
  multiarch-eks:owner: {owner} # whom to ask: a mail address or a group
  multiarch-eks:costCenter: {cost_center} # who pays

  # In quotes: 1.30 without them is the number 1.3.
  multiarch-eks:kubernetesVersion: "{version}"

  multiarch-eks:network:
    cidr: 10.0.0.0/16
    zones: {zones}
    nat: {nat} # per-zone survives the loss of a zone, single costs less

{api}
  # Besides the one who creates the cluster: ARNs of IAM roles or users.
  multiarch-eks:access:
    admins: []
    readers: []

  # A node group has one architecture, and it follows from the instance types.
  multiarch-eks:nodeGroups:
    general:
      instanceTypes: [m7i.large]
      minSize: 1
      maxSize: 4
    # Graviton. The nodes carry the taint arch=arm64:NoSchedule, so only workloads that tolerate it come here: those
    # that have images for arm64.
    graviton:
      instanceTypes: [m7g.large]
      minSize: 1
      maxSize: 4

  # Who adds nodes: nobody, unless this says otherwise. New capacity is then arm64 first, for pods that tolerate the
  # taint. The other autoscaler is cluster-autoscaler, which grows the groups above; karpenter makes nodes of its own,
  # and needs two nodes of general for itself (minSize: 2). docs/explanation/autoscaling.md compares them.
  # multiarch-eks:autoscaling:
  #   use: karpenter
  #   prefer: arm64
  #   karpenter:
  #     controllerGroup: general
  #     nodePools:
  #       general: {{cpuLimit: 64}}
"""
