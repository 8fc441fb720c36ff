"""Which autoscalers are installed before and after a change."""

from __future__ import annotations

from collections.abc import Mapping

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.review.model import Operation, StackChange
from multiarch.review.properties import list_resources

RELEASE = "kubernetes:helm.sh/v3:Release"
AUTOSCALER_RELEASES: Mapping[str, Autoscaler] = {
    "cluster-autoscaler": Autoscaler.CLUSTER_AUTOSCALER,
    "karpenter": Autoscaler.KARPENTER,
}


def list_autoscalers(change: StackChange) -> tuple[set[Autoscaler], set[Autoscaler], tuple[str, ...]]:
    """Return the autoscalers before and after, and the resources that say so."""
    steps = [step for step in list_resources(change.preview.steps, RELEASE) if step.name in AUTOSCALER_RELEASES]
    plans = change.plans
    if plans is not None:
        old, new = (_of_plan(plan.autoscaling) for plan in plans)
    else:
        old = {AUTOSCALER_RELEASES[step.name] for step in steps if step.old is not None}
        new = {
            AUTOSCALER_RELEASES[step.name]
            for step in steps
            if step.operation not in (Operation.DELETE, Operation.FORGET)
        }
    return old, new, tuple(step.urn for step in steps if step.operation not in (Operation.SAME, Operation.DRIFT))


def _of_plan(plan: AutoscalingPlan) -> set[Autoscaler]:
    found = {Autoscaler.CLUSTER_AUTOSCALER} if plan.cluster_autoscaler else set()
    found |= {Autoscaler.AUTO_MODE} if plan.auto_mode else set()
    return found | ({Autoscaler.KARPENTER} if plan.karpenter else set())
