"""Which node groups the cluster autoscaler considers similar.

With ``--balance-similar-node-groups`` these share new nodes. It compares a node of each group: instance type, resources
and labels, but not taints, and not the labels below.
Source: autoscaler, ``cluster-autoscaler/processors/nodegroupset/aws_nodegroups.go`` and ``compare_nodegroups.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from multiarch.autoscaling.node_labels import build_group_labels
from multiarch.facts import labels as keys
from multiarch.nodes.model import NodeGroupPlan

IGNORED_ON_AWS = frozenset(
    (
        keys.HOSTNAME,
        keys.ZONE,
        keys.REGION,
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        keys.EKS_NODE_GROUP,
        "alpha.eksctl.io/instance-id",
        "alpha.eksctl.io/nodegroup-name",
        "beta.kubernetes.io/fluentd-ds-ready",
        "k8s.amazonaws.com/eniConfig",
        "kops.k8s.io/instancegroup",
        "lifecycle",
        "topology.ebs.csi.aws.com/zone",
    )
)
"""Labels that its comparison for AWS omits."""
IGNORED_BY_FLAG = (
    keys.EKS_IMAGE,
    keys.EKS_LAUNCH_TEMPLATE_ID,
    keys.EKS_LAUNCH_TEMPLATE_VERSION,
    "nodegroup-name",
)
"""Labels that differ between similar managed groups, for ``--balancing-ignore-label``.

EKS sets the first three on nodes. The last is what the autoscaler makes of EKS's tag ``eks:nodegroup-name`` for a group
without nodes; without the flag, empty managed groups would never be similar.
"""


def select_compared_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that are compared."""
    return {key: value for key, value in labels.items() if key not in IGNORED_ON_AWS and key not in IGNORED_BY_FLAG}


def list_joined_priorities(
    groups: Sequence[NodeGroupPlan], priorities: Mapping[str, int]
) -> tuple[tuple[str, str], ...]:
    """Return pairs of groups that can be similar though their priorities differ.

    Their nodes can have the same instance type and the same labels; sizes may differ a little. Balancing would give
    nodes to both, although the expander chose one of them.
    """
    nodes = [
        (
            group.name,
            frozenset(select_compared_labels(build_group_labels(group)).items()),
            frozenset(each.name for each in group.instance_types),
        )
        for group in groups
    ]
    return tuple(
        (first, second)
        for (first, labels, types), (second, other_labels, other_types) in combinations(nodes, 2)
        if priorities[first] != priorities[second] and labels == other_labels and not types.isdisjoint(other_types)
    )
