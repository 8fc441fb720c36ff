"""Stacks with an autoscaler, alone or with another; tests change their plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from components.rendering import declare
from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan, KarpenterPlan, order_capacities
from multiarch.facts.architectures import Architecture
from tests.components.declared import NO_NETWORK, PUBLIC, World
from tests.stack.test_webhook import webhook
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


def _planned(use: str, **words: object) -> AutoscalingPlan:
    return plan({**GROUPS, "autoscaling": {"use": use, "prefer": "arm64", **words}}).autoscaling


_SCALED = _planned(
    "cluster-autoscaler",
    clusterAutoscaler={
        "scaleDownUnneededMinutes": 12,
        "scaleDownDelayAfterAddMinutes": 7,
        "scaleDownUtilizationPercent": 45,
    },
).cluster_autoscaler
_POOL = {
    "instanceTypes": ["m7g.large", "m7i.large"],
    "labels": {"pool": "general"},
    "cpuLimit": 64,
}
_POOLED = _planned("karpenter", karpenter={"controllerGroup": "web", "nodePools": {"general": _POOL}}).karpenter
assert _SCALED
assert _POOLED
CLUSTER_AUTOSCALER = replace(
    _SCALED,
    # Not the tags of labels and of resources, which are the planner's matter.
    tags=(
        ("own-arm", tuple(sorted((*FOUND_BY, ARM64_TAINT_TAG)))),
        ("web", FOUND_BY),
        ("web-arm", tuple(sorted((*FOUND_BY, ARM64_TAINT_TAG)))),
    ),
    settings=_SCALED.settings.model_copy(update={"service_monitor": True}),
)
KARPENTER = replace(_POOLED, pools=(_POOLED.pools[0], _POOLED.pools[-1]))

EVERY_CHART: Mapping[str, Any] = {
    **PUBLIC,
    **NO_NETWORK,
    **webhook(),
    "gpuDevicePlugin": True,
    "efaDevicePlugin": True,
    "nodeGroups": {
        "own": {"instanceTypes": ["g6.xlarge"], "kind": "self-managed"},
        "near": {"instanceTypes": ["c7gn.16xlarge"], "efa": True},
    },
}
"""With both autoscalers, a stack that has every chart."""


def set_karpenter(**settings: object) -> KarpenterPlan:
    """Karpenter with other settings."""
    return replace(KARPENTER, settings=KARPENTER.settings.model_copy(update=settings))


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
