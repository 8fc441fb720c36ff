"""Which amd64 nodes may be emptied, and why the others are left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from multiarch.autoscaling.model import AutoscalingPlan, NodePoolPlan
from multiarch.facts.labels import EKS_COMPUTE_TYPE, KARPENTER_CAPACITY_TYPE, KARPENTER_NODE_POOL, OPERATING_SYSTEM
from multiarch.facts.rebalance import DO_NOT_DISRUPT
from multiarch.nodes.model import CapacityType
from multiarch.rebalance.snapshot import explain_unfit, read_leftover

_NEVER = "Never"


def explain_skip(node: Mapping[str, Any], plan: AutoscalingPlan) -> str:
    """Return why a node is not to be emptied, a clause; empty if it may be.

    What an earlier run has cordoned counts as it will be once that is undone.
    """
    if why := explain_unfit(node):
        return why
    if (node.get("spec") or {}).get("unschedulable") and read_leftover(node) is None:
        return "it is cordoned"
    if (node["metadata"].get("annotations") or {}).get(DO_NOT_DISRUPT) == "true":
        return f"its annotation {DO_NOT_DISRUPT} is 'true'"
    return _why_not_ours(_labels(node), plan)


def _why_not_ours(labels: Mapping[str, str], plan: AutoscalingPlan) -> str:
    if (system := labels.get(OPERATING_SYSTEM, "linux")) != "linux":
        return f"it runs {system}"
    if (compute := labels.get(EKS_COMPUTE_TYPE)) and _pool(labels, plan) is None:
        return f"EKS manages it ({compute})"
    if KARPENTER_NODE_POOL in labels and _pool(labels, plan) is None:
        name = labels[KARPENTER_NODE_POOL]
        return f"its NodePool {name} is not in the stack: what Karpenter does with it is unknown"
    return ""


def explain_left_to_karpenter(node: Mapping[str, Any], pods: Iterable[Mapping[str, str]], plan: AutoscalingPlan) -> str:
    """Say that Karpenter replaces a node itself, a clause; empty if it does not.

    It replaces a node by a cheaper one if that takes all of its pods; a spot node only with ``spot_to_spot``, and no
    node with a pod that it must not disrupt. ``pods`` are the annotations of the node's pods.
    Source: https://karpenter.sh/docs/concepts/disruption/ (consolidation, pod-level controls)
    """
    labels = _labels(node)
    pool = _pool(labels, plan)
    if pool is None or pool.consolidation_policy == "WhenEmpty" or pool.consolidate_after == _NEVER:
        return ""
    if any(each.get(DO_NOT_DISRUPT) == "true" for each in pods):
        return ""
    spot_to_spot = plan.karpenter is not None and plan.karpenter.settings.spot_to_spot_consolidation
    if labels.get(KARPENTER_CAPACITY_TYPE) == CapacityType.SPOT and not spot_to_spot:
        return ""
    return f"{pool.owner} consolidates NodePool {pool.name}: it moves these pods itself where that is cheaper"


def _labels(node: Mapping[str, Any]) -> Mapping[str, str]:
    return node["metadata"].get("labels") or {}


def _pool(labels: Mapping[str, str], plan: AutoscalingPlan) -> NodePoolPlan | None:
    return next((each for each in plan.pools if each.name == labels.get(KARPENTER_NODE_POOL)), None)
