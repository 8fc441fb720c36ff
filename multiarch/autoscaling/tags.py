"""Tags of Auto Scaling Groups: how the cluster autoscaler finds a group, and which nodes it expects of it.

While a group has no nodes, these tags are all that the autoscaler knows about its labels, taints and resources: with a
mistyped key the group never grows from zero, and without tags for resources it counts on 110 pods and the whole
instance. Sources:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md;
autoscaler, ``cluster-autoscaler/cloudprovider/aws/aws_manager.go`` (``buildNodeFromTemplate``).
"""

from __future__ import annotations

from collections import Counter

from multiarch.autoscaling.node_labels import group_labels
from multiarch.errors import KeyPath
from multiarch.facts.limits import MAX_TAGS_PER_RESOURCE, NameKind, check_name
from multiarch.facts.node_resources import MIB
from multiarch.nodes.model import NodeGroupPlan, Tags
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.resources import node_resources

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
_RESERVED_TAGS = 12
"""The number of tags that EKS, Auto Scaling and the plan add: names, owner, discovery."""


def cluster_tag(cluster: str) -> str:
    """Return the key of the tag that assigns a group to a cluster; its value is ``owned``."""
    return f"{_PREFIX}{cluster}"


def autoscaler_tags(group: NodeGroupPlan, cluster: str) -> Tags:
    """Return the tags of a group's Auto Scaling Group, sorted by key."""
    tags = {ENABLED_TAG: "true", cluster_tag(cluster): "owned"}
    tags |= {f"{LABEL_TAG}{key}": value for key, value in group_labels(group).items()}
    # VALUE:EFFECT, with the colon where there is no value. A second taint with the same key is refused below.
    tags |= {f"{TAINT_TAG}{taint.key}": f"{taint.value}:{taint.effect}" for taint in group.taints}
    tags |= {f"{RESOURCE_TAG}{name}": value for name, value in _resources(group)}
    return tuple(sorted(tags.items()))


def check_tags(group: NodeGroupPlan, tags: Tags, own: int, report: ProblemReport) -> None:
    """Report keys and values that AWS refuses, and too many tags; ``own`` is the number of the stack's tags."""
    path: KeyPath = group.path
    labels = frozenset(key for key, _ in group.labels)
    for key, value in tags:
        label = key.removeprefix(LABEL_TAG)
        # For taints and other tags the group's place.
        where = (*path, "labels", label) if key.startswith(LABEL_TAG) and label in labels else path
        fault = check_name(NameKind.ASG_TAG_KEY, key) or check_name(NameKind.ASG_TAG_VALUE, value)
        if fault:
            report(
                "autoscaler-tag",
                where,
                f"{fault}: while the group has no nodes, the cluster autoscaler would not know it.",
                value=key,
            )
    most = MAX_TAGS_PER_RESOURCE - _RESERVED_TAGS - own
    if len(tags) > most:
        report(
            "too-many-autoscaler-tags",
            path,
            f"the labels and taints of {group.name} make {len(tags)} tags for the cluster autoscaler; with the "
            f"stack's tags, an Auto Scaling Group has room for {most}.",
            value=len(tags),
        )
    counts = Counter(taint.key for taint in group.taints)
    for key in sorted(key for key, count in counts.items() if count > 1):
        report(
            "taint-key-twice",
            (*path, "taints"),
            f"{group.name} has several taints with the key {key}; a tag for the cluster autoscaler holds one.",
            value=key,
        )


def _resources(group: NodeGroupPlan) -> list[tuple[str, str]]:
    """What an empty node gives, for the autoscaler, which takes these numbers as capacity and as allocatable."""
    given = node_resources(group)
    written = {
        "cpu": f"{given.pop('cpu') + _KUBE_PROXY_CPU}m",
        "memory": f"{given.pop('memory') // MIB}Mi",
        "pods": str(given.pop("pods") + _KUBE_PROXY_PODS),
        "ephemeral-storage": f"{given.pop('ephemeral-storage') // MIB}Mi",
    }
    return [*written.items(), *((device, str(count)) for device, count in given.items())]
