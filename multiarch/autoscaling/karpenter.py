"""NodePools and node classes as manifests, as the API server takes them: karpenter.sh/v1 and karpenter.k8s.aws/v1.

Source: https://karpenter.sh/v1.14/concepts/nodepools/ and https://karpenter.sh/v1.14/concepts/nodeclasses/; for EKS
Auto Mode's eks.amazonaws.com/v1 EKS user guide, "Create a Node Class for Amazon EKS", "Node Class Specification".
"""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.autoscaling.model import Budget, NodeClassPlan, NodePoolPlan
from multiarch.facts.ami_families import AmiFamily, get_family
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import UNTAINTED, keeps_pods_away
from multiarch.nodes.model import Tags
from multiarch.nodes.user_data import build_config, render_pool_user_data

Manifest = dict[str, object]
_CLASS_GROUP = "karpenter.k8s.aws"
_AUTO_MODE_GROUP = "eks.amazonaws.com"
_NOT_KARPENTERS = ("containerLogMaxSize", "containerLogMaxFiles")
"""Fields of KubeletConfiguration that ``spec.kubelet`` does not have."""
_DISCOVERY_TAG = "karpenter.sh/discovery"


def build_discovery_tags(cluster: str) -> Tags:
    """Return the tags by which Karpenter finds the stack's subnets and its nodes' security group."""
    return ((_DISCOVERY_TAG, cluster),)


def build_node_class(
    plan: NodeClassPlan,
    *,
    cluster: str,
    role: object,
    tags: Tags,
    security_groups: Sequence[object] = (),
    instance_profile: object = None,
) -> Manifest:
    """Return the EC2NodeClass. ``role`` is the node role's name, or an output of it; ``tags`` are for instances.

    With an ``instance_profile``, by its name, Karpenter makes none of the role, and calls no IAM.

    ``security_groups`` are IDs of an existing cluster's groups, or outputs of them: nothing of such a cluster is
    tagged.

    Subnets of an existing network are listed by ID: a tag on them has one value, and two stacks may use the same
    subnets. The security group is the one that EKS creates for each cluster.

    Pods reach the metadata service only as far as ``imds_hop_limit`` allows; IMDSv2 is required.
    """
    tagged = [{"tags": dict(build_discovery_tags(cluster))}]
    spec: Manifest = {
        "amiFamily": plan.ami_family,
        "amiSelectorTerms": [{"alias": plan.ami_alias}],
        "blockDeviceMappings": _volumes(plan),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": plan.imds_hop_limit,
            "httpTokens": "required",
        },
        **({"role": role} if instance_profile is None else {"instanceProfile": instance_profile}),
        "securityGroupSelectorTerms": [{"id": each} for each in security_groups] or tagged,
        "subnetSelectorTerms": [{"id": each} for each in plan.subnet_ids] or tagged,
        "tags": dict(tags),
    }
    config = build_config(plan.kubelet.config)
    rest = {key: config.pop(key) for key in _NOT_KARPENTERS if key in config}
    if plan.max_pods is not None:
        config["maxPods"] = plan.max_pods
    if config:
        spec["kubelet"] = config
    if plan.instance_store:
        spec["instanceStorePolicy"] = "RAID0"
    if plan.placement_group:
        spec["placementGroupSelector"] = {"name": plan.placement_group}
    if plan.capacity_reservations:
        spec["capacityReservationSelectorTerms"] = [{"id": each} for each in plan.capacity_reservations]
    if user_data := render_pool_user_data(AmiFamily(plan.ami_family), rest, plan.registry_mirrors):
        spec["userData"] = user_data
    return {
        "apiVersion": f"{_CLASS_GROUP}/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": plan.name},
        "spec": spec,
    }


def build_auto_mode_class(
    plan: NodeClassPlan, *, role: object, subnet_ids: object, security_groups: Sequence[object], tags: Tags
) -> Manifest:
    """Return EKS Auto Mode's NodeClass; all but the tags may be outputs.

    Its volumes, image, metadata options and max pods are AWS's. Subnets and security groups are named by their IDs, so
    that nothing of the cluster or its network has to be tagged.
    """
    spec: Manifest = {
        "role": role,
        "securityGroupSelectorTerms": [{"id": each} for each in security_groups],
        "subnetSelectorTerms": subnet_ids,
    }
    if tags:
        spec["tags"] = dict(tags)
    return {
        "apiVersion": f"{_AUTO_MODE_GROUP}/v1",
        "kind": "NodeClass",
        "metadata": {"name": plan.name},
        "spec": spec,
    }


def build_node_pool(plan: NodePoolPlan) -> Manifest:
    """Return the NodePool."""
    group, kind = (_AUTO_MODE_GROUP, "NodeClass") if plan.auto_mode else (_CLASS_GROUP, "EC2NodeClass")
    node: Manifest = {
        "expireAfter": plan.expire_after,
        "nodeClassRef": {"group": group, "kind": kind, "name": plan.node_class},
        "requirements": [
            {"key": each.key, "operator": each.operator, "values": list(each.values)} for each in plan.requirements
        ],
    }
    if plan.termination_grace_period is not None:
        node["terminationGracePeriod"] = plan.termination_grace_period
    if plan.taints:
        node["taints"] = [
            {"key": taint.key, "effect": str(taint.effect)} | ({"value": taint.value} if taint.value else {})
            for taint in plan.taints
        ]
    template: Manifest = {"spec": node}
    if plan.labels:
        template["metadata"] = {"labels": dict(plan.labels)}
    spec: Manifest = {
        "disruption": {
            "budgets": [_budget(each) for each in plan.budgets],
            "consolidateAfter": plan.consolidate_after,
            "consolidationPolicy": plan.consolidation_policy,
        },
        "template": template,
        "weight": plan.weight,
    }
    limits: dict[str, str] = {}
    if plan.cpu_limit is not None:
        limits["cpu"] = str(plan.cpu_limit)
    if plan.memory_limit is not None:
        limits["memory"] = plan.memory_limit
    if limits:
        spec["limits"] = limits
    metadata: Manifest = {"name": plan.name}
    if {each.architecture for each in plan.capacities} == {Architecture.ARM64} and not keeps_pods_away(plan.taints):
        metadata["annotations"] = dict([UNTAINTED])
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata, "spec": spec}


def _budget(budget: Budget) -> dict[str, str]:
    written = {"nodes": budget.nodes, "schedule": budget.schedule, "duration": budget.duration}
    return {key: value for key, value in written.items() if value is not None}


def _volumes(plan: NodeClassPlan) -> list[Manifest]:
    """Encrypted gp3 volumes: the configured size for images and pods, the image's size for a separate root volume."""
    disks = get_family(AmiFamily(plan.ami_family)).devices
    sizes = [(disks.root, disks.root_gib or plan.disk_size)]
    if disks.data is not None:
        sizes.append((disks.data, plan.disk_size))
    return [
        {
            "deviceName": device,
            "ebs": {"deleteOnTermination": True, "encrypted": True, "volumeSize": f"{gib}Gi", "volumeType": "gp3"},
        }
        for device, gib in sizes
    ]
