"""Which amd64 nodes may be emptied, and why the others are left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multiarch.autoscaling.model import AutoscalingPlan, NodePoolPlan
from multiarch.facts.labels import EKS_COMPUTE_TYPE, KARPENTER_CAPACITY_TYPE, KARPENTER_NODE_POOL
from multiarch.nodes.model import CapacityType
from multiarch.rebalance.snapshot import leftover_of, why_unfit

_LEAVING = ("ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption")
"""Taints of nodes that an autoscaler is draining."""
_NEVER = "Never"


def why_skipped(node: Mapping[str, Any], plan: AutoscalingPlan) -> str:
    """Why a node is not to be emptied, a clause; empty if it may be.

    What an earlier run has cordoned counts as it will be once that is undone.
    """
    if why := why_unfit(node):
        return why
    spec = node.get("spec") or {}
    taints = {str(each.get("key")) for each in spec.get("taints") or ()}
    if leaving := sorted(taints.intersection(_LEAVING)):
        return f"it has the taint {leaving[0]}: an autoscaler removes it"
    if spec.get("unschedulable") and leftover_of(node) is None:
        return "it is cordoned"
    labels = node["metadata"].get("labels") or {}
    if compute := labels.get(EKS_COMPUTE_TYPE):
        return f"EKS manages it ({compute})"
    return _left_to_karpenter(labels, plan)


def _left_to_karpenter(labels: Mapping[str, str], plan: AutoscalingPlan) -> str:
    """Why Karpenter's own disruption makes moves from its node unneeded or unsafe; empty if neither holds.

    Karpenter replaces a node by a cheaper one if that takes all of its pods; a spot node only with
    ``spot_to_spot``. Source: https://karpenter.sh/docs/concepts/disruption/#consolidation
    """
    name = labels.get(KARPENTER_NODE_POOL)
    if name is None:
        return ""
    pools: Sequence[NodePoolPlan] = () if plan.karpenter is None else plan.karpenter.pools
    pool = next((each for each in pools if each.name == name), None)
    if pool is None:
        return f"its NodePool {name} is not in the stack: what Karpenter does with it is unknown"
    spot = labels.get(KARPENTER_CAPACITY_TYPE) == CapacityType.SPOT
    replaced = not spot or (plan.karpenter is not None and plan.karpenter.spot_to_spot)
    if pool.consolidation_policy == "WhenEmptyOrUnderutilized" and pool.consolidate_after != _NEVER and replaced:
        return f"Karpenter consolidates NodePool {name}: it moves these pods itself where that is cheaper"
    return ""
