"""Tags of Auto Scaling Groups: how the cluster autoscaler finds a group, and which nodes it expects of it.

While a group has no nodes, these tags are all that the autoscaler knows about its labels, taints and resources: with a
mistyped key the group never grows from zero, and without tags for resources it counts on 110 pods and the whole
instance. Sources:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md;
autoscaler, ``cluster-autoscaler/cloudprovider/aws/aws_manager.go`` (``buildNodeFromTemplate``).
"""

from __future__ import annotations

from collections import Counter

from multiarch.autoscaling.node_labels import build_group_labels
from multiarch.facts.node_resources import MIB
from multiarch.nodes.model import NodeGroupPlan, Tags
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.resources import get_node_resources

_PREFIX = "k8s.io/cluster-autoscaler/"
ENABLED_TAG = f"{_PREFIX}enabled"
"""The autoscaler manages groups with this tag; its value does not matter."""
LABEL_TAG = f"{_PREFIX}node-template/label/"
TAINT_TAG = f"{_PREFIX}node-template/taint/"
RESOURCE_TAG = f"{_PREFIX}node-template/resources/"
_KUBE_PROXY_CPU, _KUBE_PROXY_PODS = 100, 1
"""Millicores and pods that the autoscaler takes from each node that it knows by tags alone, for kube-proxy as a static
pod. On EKS kube-proxy is a DaemonSet, which it counts as well: the tags give these back.

Source: autoscaler, ``cluster-autoscaler/cloudprovider/cloud_provider.go`` (``BuildKubeProxy``).
"""


def get_cluster_tag(cluster: str) -> str:
    """Return the key of the tag that assigns a group to a cluster; its value is ``owned``."""
    return f"{_PREFIX}{cluster}"


def build_autoscaler_tags(group: NodeGroupPlan, cluster: str) -> Tags:
    """Return the tags of a group's Auto Scaling Group, sorted by key."""
    tags = {ENABLED_TAG: "true", get_cluster_tag(cluster): "owned"}
    tags |= {f"{LABEL_TAG}{key}": value for key, value in build_group_labels(group).items()}
    # VALUE:EFFECT, with the colon where there is no value. A second taint with the same key is rejected below.
    tags |= {f"{TAINT_TAG}{taint.key}": f"{taint.value}:{taint.effect}" for taint in group.taints}
    tags |= {f"{RESOURCE_TAG}{name}": value for name, value in _resources(group)}
    return tuple(sorted(tags.items()))


def check_tags(group: NodeGroupPlan, report: ProblemReport) -> None:
    """Report taints with one key: a tag holds one of them. AWS itself rejects keys, values and numbers of tags."""
    counts = Counter(taint.key for taint in group.taints)
    for key in sorted(key for key, count in counts.items() if count > 1):
        report(
            "taint-key-twice",
            (*group.path, "taints"),
            f"{group.name} has several taints with the key {key}; a tag for the cluster autoscaler holds one.",
        )


def _resources(group: NodeGroupPlan) -> list[tuple[str, str]]:
    """Return what an empty node gives, for the autoscaler, which takes these numbers as capacity and as allocatable."""
    given = get_node_resources(group)
    written = {
        "cpu": f"{given.pop('cpu') + _KUBE_PROXY_CPU}m",
        "memory": f"{given.pop('memory') // MIB}Mi",
        "pods": str(given.pop("pods") + _KUBE_PROXY_PODS),
        "ephemeral-storage": f"{given.pop('ephemeral-storage') // MIB}Mi",
    }
    return [*written.items(), *((device, str(count)) for device, count in given.items())]
