"""Settings by which an autoscaler removes or replaces nodes on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from multiarch.observed.resources.nodes import MANAGED_GROUP, NODE_POOL
from multiarch.observed.resources.properties import get_value, is_unknown
from multiarch.review.model import Operation, StackChange, State
from multiarch.review.nodes.installed import AUTOSCALER_RELEASES, RELEASE
from multiarch.review.properties import list_changes, list_resources
from multiarch.rules import REVIEW_RULES, Finding, Risk
from multiarch.stack.engine_config import format_scalar

DISRUPTION = REVIEW_RULES["change-disruption"]


_POOL_SETTINGS = (
    ("spec.disruption.consolidationPolicy", "which nodes Karpenter removes to save cost", None),
    ("spec.disruption.consolidateAfter", "how long a node is left alone before that", None),
    (
        "spec.template.spec.expireAfter",
        "the age at which nodes are replaced, also beyond budgets and in quiet hours",
        Risk.MEDIUM,
    ),
    ("spec.disruption.budgets", "how many nodes may end at a time, and when", None),
    (
        "spec.template.spec.terminationGracePeriod",
        "when the pods of an ending node are deleted, also against PodDisruptionBudgets",
        Risk.MEDIUM,
    ),
    ("spec.limits", "how much capacity Karpenter adds", None),
)
"""Settings by which an autoscaler ends nodes, what they decide, and the risk of a change."""
_GROUP_SETTINGS = (("nodeRepairConfig.enabled", "whether EKS replaces nodes that stay unhealthy", None),)
_ARGUMENTS = "values.extraArgs.scale-down"
_RELEASE_SETTINGS = (
    (f"{_ARGUMENTS}-unneeded-time", "how long a node stays unneeded", None),
    (f"{_ARGUMENTS}-delay-after-add", "how long no node is removed after one was added", None),
    (
        f"{_ARGUMENTS}-utilization-threshold",
        "below which share of requested CPU and memory a node is removed",
        None,
    ),
    (
        "values.settings.featureGates.spotToSpotConsolidation",
        "whether spot nodes are replaced by cheaper spot nodes",
        None,
    ),
)


def find_disruption(change: StackChange) -> Iterator[Finding]:
    """Yield settings by which Karpenter, the cluster autoscaler or EKS ends nodes."""
    kinds = {NODE_POOL: "NodePool", RELEASE: "Helm release", MANAGED_GROUP: "node group"}
    settings = {NODE_POOL: _POOL_SETTINGS, RELEASE: _RELEASE_SETTINGS, MANAGED_GROUP: _GROUP_SETTINGS}
    for step in list_resources(change.preview.steps, *kinds):
        if step.operation is not Operation.UPDATE or (step.type == RELEASE and step.name not in AUTOSCALER_RELEASES):
            continue
        subject = f"{kinds[step.type]} {step.name}"
        for path, effect, risk in settings[step.type]:
            if list_changes(step, path):
                key = path.removesuffix(".enabled").rpartition(".")[2]
                text = f"{key} {_describe(step.old, path)} → {_describe(step.new, path)}: {effect}."
                yield Finding(DISRUPTION, subject, text, (), (step.urn,), risk)


def _describe(state: State | None, path: str) -> str:
    if state is not None and is_unknown(state.inputs, path):
        return "a value that is known only during the update"
    value = get_value(state.inputs, path) if state else None
    if value is None:
        return "not set"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {each}" for key, each in sorted(value.items())) or "none"
    if isinstance(value, list):
        return "; ".join(_budget(each) for each in value if isinstance(each, Mapping)) or "none"
    return str(format_scalar(value))


def _budget(budget: Mapping[str, object]) -> str:
    when = f" for {budget.get('duration')} from {budget.get('schedule')} (UTC)" if budget.get("schedule") else ""
    return f"{budget.get('nodes')}{when}"
