"""A new, commented stack file that is valid as written."""

from __future__ import annotations

import json

from multiarch.facts.kubernetes import DEFAULT_VERSION
from multiarch.stack.checks.production import PRODUCTION


def write_stack(team: str, env: str, *, region: str, owner: str, cost_center: str, cidrs: list[str]) -> str:
    """Return the content of a stack file, with values quoted where YAML needs it: the same bytes every time."""
    production = env in PRODUCTION
    return _TEMPLATE.format(
        name=f"{team}-{env}",
        names=format_names(team, env, region=region, owner=owner, cost_center=cost_center),
        version=DEFAULT_VERSION,
        zones=3 if production else 2,
        nat="per-zone" if production else "single",
        api=_public_api(cidrs) if cidrs else _PRIVATE_API,
    )


def format_names(team: str, env: str, *, region: str, owner: str, cost_center: str) -> str:
    """Return the first keys of any stack file."""
    of_people = (json.dumps(each, ensure_ascii=False) for each in (owner, cost_center))
    return _NAMES.format(region, json.dumps(team), json.dumps(env), *of_people)


def _public_api(cidrs: list[str]) -> str:
    return _PUBLIC_API.format(cidrs=", ".join(json.dumps(cidr) for cidr in cidrs))


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
{names}
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
