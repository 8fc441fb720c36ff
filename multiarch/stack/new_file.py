"""A new, commented stack file that is valid as written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import indent

from multiarch.facts.kubernetes import DEFAULT_VERSION
from multiarch.stack.checks.cluster import PRODUCTION
from multiarch.yaml_text.dump import dump_yaml


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """What a team chose for a new cluster; what is empty gets a default, or is omitted.

    ``zones`` are a number or names; ``vpc`` is an existing VPC, which takes ``subnets`` in place of ``zones`` and
    ``cidr``; ``webhook`` is the admission webhook's image.
    """

    zones: Sequence[str] = ()
    cidr: str = "10.0.0.0/16"
    vpc: str = ""
    subnets: Sequence[str] = ()
    ami_family: str = ""
    spot: bool = False
    autoscaler: str = "none"
    webhook: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


def write_stack(
    team: str, env: str, choice: ClusterChoice, *, region: str, owner: str, cost_center: str, cidrs: list[str]
) -> str:
    """Return the content of a stack file, with values quoted where YAML needs it: the same bytes every time."""
    production = env in PRODUCTION
    on_spot = choice.spot and choice.autoscaler in ("none", "cluster-autoscaler")
    return _TEMPLATE.format(
        name=f"{team}-{env}",
        names=format_names(team, env, region=region, owner=owner, cost_center=cost_center),
        tags=_line("tags", choice.tags),
        version=DEFAULT_VERSION,
        network=_network(choice, production=production),
        api=_PUBLIC_API.format(cidrs=", ".join(map(json.dumps, cidrs))) if cidrs else _PRIVATE_API,
        groups=""
        if choice.autoscaler == "auto-mode"
        else _GROUPS.format(
            family=_line("amiFamily", choice.ami_family),
            # Karpenter's controller runs on two nodes.
            nodes=2 if choice.autoscaler == "karpenter" else 1,
            types="[m7g.large, m6g.large, c7g.xlarge]\n      capacityType: spot" if on_spot else "[m7g.large]",
        ),
        autoscaling=_autoscaling(choice),
        webhook=_WEBHOOK.format(image=json.dumps(choice.webhook)) if choice.webhook else "",
    )


def format_names(team: str, env: str, *, region: str, owner: str, cost_center: str) -> str:
    """Return the first keys of any stack file."""
    of_people = (json.dumps(each, ensure_ascii=False) for each in (owner, cost_center))
    return _NAMES.format(region, json.dumps(team), json.dumps(env), *of_people)


def _line(key: str, value: object) -> str:
    """Return the line of a key at the top with a JSON value, which is YAML too; nothing for an empty value."""
    return f"  multiarch-eks:{key}: {json.dumps(value, ensure_ascii=False)}\n" if value else ""


def _network(choice: ClusterChoice, *, production: bool) -> str:
    if choice.vpc:
        return _EXISTING_NETWORK.format(vpc=json.dumps(choice.vpc), subnets=json.dumps([*choice.subnets]))
    zones = [*choice.zones] or ["3" if production else "2"]
    return _NEW_NETWORK.format(
        cidr=json.dumps(choice.cidr),
        zones=zones[0] if len(zones) == 1 and zones[0].isdecimal() else json.dumps(zones),
        nat="per-zone" if production else "single",
    )


def _autoscaling(choice: ClusterChoice) -> str:
    """Return the section of the autoscaler, with a limit for what it may add; an example in comments without one."""
    pools = {"general": {"capacityTypes": ["spot", "on-demand"] if choice.spot else ["on-demand"], "cpuLimit": 64}}
    settings: dict[str, dict[str, object]] = {
        "cluster-autoscaler": {},
        "karpenter": {"karpenter": {"controllerGroup": "general", "nodePools": pools}},
        "auto-mode": {"autoMode": {"nodePools": pools}},
    }
    if choice.autoscaler not in settings:
        return _NO_AUTOSCALER
    written = {"use": choice.autoscaler, "prefer": "arm64", **settings[choice.autoscaler]}
    return f"{indent(dump_yaml({'multiarch-eks:autoscaling': written}), '  ')}\n"


_NAMES = """\
config:
  aws:region: {}

  # Keep the prefix multiarch-eks: of the keys at this level. Without it, Pulumi adds it when it first writes to this
  # file, and removes the comments.
  multiarch-eks:team: {}
  multiarch-eks:environment: {}
  multiarch-eks:owner: {} # a mail address or a group
  multiarch-eks:costCenter: {}
"""

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
  # Access to the Kubernetes API: nodes from within the VPC, people from these CIDR blocks.
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
{names}{tags}
  # Keep the quotes: without them 1.30 is the number 1.3.
  multiarch-eks:kubernetesVersion: "{version}"
  # At the end of standard support EKS upgrades the cluster. EXTENDED keeps the version, at six times the hourly price.
  multiarch-eks:upgradePolicy: STANDARD

{network}
{api}
  # ARNs of IAM roles or users, in addition to the one that creates the cluster.
  multiarch-eks:access:
    admins: []
    readers: []

{groups}{autoscaling}{webhook}"""

_NEW_NETWORK = """\
  multiarch-eks:network:
    cidr: {cidr}
    zones: {zones}
    nat: {nat} # per-zone survives the loss of a zone; single costs less
"""

_EXISTING_NETWORK = """\
  multiarch-eks:network:
    vpcId: {vpc}
    privateSubnetIds: {subnets} # in at least two zones
"""

_GROUPS = """\
{family}  # A node group has one architecture, derived from its instance types.
  multiarch-eks:nodeGroups:
    general:
      instanceTypes: [m7i.large]
      minSize: {nodes}
      maxSize: 4
    # Graviton. These nodes have the taint arch=arm64:NoSchedule, so only pods that tolerate it are scheduled here. Add
    # the toleration to workloads whose images have arm64.
    graviton:
      instanceTypes: {types}
      minSize: 1
      maxSize: 4

"""

_WEBHOOK = """\
  # Adds the toleration of arm64 nodes to pods whose images support both architectures. With mode: observe it decides
  # and records, and changes no pod.
  multiarch-eks:admissionWebhook:
    enabled: true
    image: {image}
    configuration:
      mode: observe
"""

_NO_AUTOSCALER = """\
  # Autoscaling is off unless this is set. With prefer: arm64, new nodes are arm64 first, for pods that tolerate the
  # taint. use: cluster-autoscaler scales the groups above; use: karpenter creates nodes of its own, and runs on two
  # nodes of general (minSize: 2). docs/explanation/autoscaling.md compares them.
  # multiarch-eks:autoscaling:
  #   use: karpenter
  #   prefer: arm64
  #   karpenter:
  #     controllerGroup: general
  #     nodePools:
  #       general: {cpuLimit: 64}
"""
