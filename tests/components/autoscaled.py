"""Stacks with an autoscaler, their plans made by hand: components declare what a plan says, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from components.rendering import declare
from multiarch.autoscaling.model import (
    Autoscaler,
    AutoscalingPlan,
    Budget,
    Capacity,
    ClusterAutoscalerPlan,
    KarpenterPlan,
    NodeClassPlan,
    NodePoolPlan,
    Priority,
    Requirement,
    ScaleDown,
    order_capacities,
    parse_capacity,
)
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.taints import parse_taint
from tests.components.declared import World
from tests.stack.words import merged, plan

RELEASE = "kubernetes:helm.sh/v3:Release"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
GROUP_TAG = "aws:autoscaling/tag:Tag"
EC2_TAG = "aws:ec2/tag:Tag"
QUEUE = "aws:sqs/queue:Queue"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
RULE = "aws:cloudwatch/eventRule:EventRule"
TARGET = "aws:cloudwatch/eventTarget:EventTarget"
POLICY = "aws:iam/policy:Policy"
GUARD = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
GUARD_BINDING = f"{GUARD}Binding"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"

# One group of our own among the managed ones: its Auto Scaling Group is tagged in another way.
GROUPS: Mapping[str, Any] = {
    "nodeGroups": {"own-arm": {"instanceTypes": ["m7g.large"], "kind": "self-managed", "capacityType": "spot"}}
}
FOUND_BY = (("k8s.io/cluster-autoscaler/enabled", "true"), ("k8s.io/cluster-autoscaler/shop-dev", "owned"))
ARM64_TAINT_TAG = ("k8s.io/cluster-autoscaler/node-template/taint/arch", "arm64:NoSchedule")

CLUSTER_AUTOSCALER = ClusterAutoscalerPlan(
    chart_version="9.59.0",
    image_tag="v1.35.0",
    priorities=(
        Priority(40, "own-arm", r"^shop-dev-own-arm-[0-9]+$"),
        Priority(30, "web-arm", r"^eks-web-arm-[0-9]+-[0-9a-f-]{36}$"),
        Priority(10, "web", r"^eks-web-[0-9]+-[0-9a-f-]{36}$"),
    ),
    tags=(
        ("own-arm", tuple(sorted((*FOUND_BY, ARM64_TAINT_TAG)))),
        ("web", FOUND_BY),
        ("web-arm", tuple(sorted((*FOUND_BY, ARM64_TAINT_TAG)))),
    ),
    scale_down=ScaleDown(unneeded_minutes=12, delay_after_add_minutes=7, utilization_percent=45),
    service_monitor=True,
)


def _pool(name: str, weight: int, capacities: tuple[Capacity, ...], type_: str) -> NodePoolPlan:
    arm64 = any(capacity.architecture == "arm64" for capacity in capacities)
    return NodePoolPlan(
        key="autoscaling.karpenter.nodePools.general",
        name=name,
        weight=weight,
        capacities=capacities,
        requirements=(
            Requirement(
                "karpenter.sh/capacity-type",
                "In",
                tuple(sorted({str(capacity.capacity_type) for capacity in capacities})),
            ),
            Requirement(
                "kubernetes.io/arch", "In", tuple(sorted({str(capacity.architecture) for capacity in capacities}))
            ),
        ),
        instance_types=(get_instance_type(type_),),
        labels=(("pool", "general"),),
        taints=(parse_taint("arch=arm64:NoSchedule"),) if arm64 else (),
        node_class="default",
        cpu_limit=64,
        memory_limit=None,
        budgets=(Budget("10%", None, None),),
        consolidation_policy="WhenEmptyOrUnderutilized",
        consolidate_after="5m",
        expire_after="720h",
    )


KARPENTER = KarpenterPlan(
    chart_version="1.14.1",
    queue="shop-dev-karpenter",
    controller_group="web",
    node_class=NodeClassPlan(
        name="default",
        ami_family="AL2023",
        ami_alias="al2023@v20260715",
        disk_size=50,
        imds_hop_limit=1,
        max_pods=None,
    ),
    pools=(
        _pool("general-arm64-spot", 90, (parse_capacity("arm64-spot"),), "m7g.large"),
        _pool("general-amd64-on-demand", 10, (parse_capacity("amd64-on-demand"),), "m7i.large"),
    ),
)


def autoscaling(*, cluster_autoscaler: bool = False, karpenter: bool = False) -> AutoscalingPlan:
    """Either, both (a migration to Karpenter), or neither."""
    use = Autoscaler.CLUSTER_AUTOSCALER if cluster_autoscaler else Autoscaler.NONE
    return AutoscalingPlan(
        use=Autoscaler.KARPENTER if karpenter else use,
        order=order_capacities(Architecture.ARM64),
        cluster_autoscaler=CLUSTER_AUTOSCALER if cluster_autoscaler else None,
        karpenter=KARPENTER if karpenter else None,
    )


def world(wanted: AutoscalingPlan, change: Mapping[str, Any] | None = None) -> World:
    """Declare the smallest stack with another group, ``change`` and an autoscaler."""
    made = replace(plan(merged(GROUPS, change or {})), autoscaling=wanted)
    declared = declare(made)
    return World(declared.resources, dict(declared.outputs), made)
