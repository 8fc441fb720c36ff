"""Settings by which an autoscaler removes or replaces nodes on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from multiarch.observed.resources.nodes import NODE_POOL
from multiarch.observed.resources.properties import at, is_unknown
from multiarch.review.model import Change, Operation, Step
from multiarch.review.nodes.installed import AUTOSCALER_RELEASES, RELEASE
from multiarch.review.properties import changes_of, resources
from multiarch.rules import REVIEW_RULES, Finding, Risk

DISRUPTION = REVIEW_RULES["change-disruption"]


@dataclass(frozen=True, slots=True)
class _Setting:
    """A setting by which an autoscaler ends nodes, and what it decides. ``risk`` of its change."""

    path: str
    name: str
    effect: str
    risk: Risk | None = None


_POOL_SETTINGS = (
    _Setting(
        "spec.disruption.consolidationPolicy", "consolidationPolicy", "which nodes Karpenter removes to save cost"
    ),
    _Setting("spec.disruption.consolidateAfter", "consolidateAfter", "how long a node is left alone before that"),
    _Setting(
        "spec.template.spec.expireAfter",
        "expireAfter",
        "the age at which nodes are replaced, also beyond budgets and in quiet hours",
        Risk.MEDIUM,
    ),
    _Setting("spec.disruption.budgets", "budgets", "how many nodes may end at a time, and when"),
    _Setting(
        "spec.template.spec.terminationGracePeriod",
        "terminationGracePeriod",
        "when the pods of an ending node are deleted, also against PodDisruptionBudgets",
        Risk.MEDIUM,
    ),
    _Setting("spec.limits", "limits", "how much capacity Karpenter adds"),
)
_RELEASE_SETTINGS = (
    _Setting("values.extraArgs.scale-down-unneeded-time", "scale-down-unneeded-time", "how long a node stays unneeded"),
    _Setting(
        "values.extraArgs.scale-down-delay-after-add",
        "scale-down-delay-after-add",
        "how long no node is removed after one was added",
    ),
    _Setting(
        "values.extraArgs.scale-down-utilization-threshold",
        "scale-down-utilization-threshold",
        "below which share of requested CPU and memory a node is removed",
    ),
    _Setting(
        "values.settings.featureGates.spotToSpotConsolidation",
        "spotToSpotConsolidation",
        "whether spot nodes are replaced by cheaper spot nodes",
    ),
)


def find_disruption(change: Change) -> Iterator[Finding]:
    """Settings by which Karpenter or the cluster autoscaler ends nodes."""
    for step in resources(change.preview.steps, NODE_POOL, RELEASE):
        if step.operation is not Operation.UPDATE or (step.type == RELEASE and step.name not in AUTOSCALER_RELEASES):
            continue
        rows = _POOL_SETTINGS if step.type == NODE_POOL else _RELEASE_SETTINGS
        subject = f"NodePool {step.name}" if step.type == NODE_POOL else f"Helm release {step.name}"
        for row in rows:
            if changes_of(step, row.path):
                old, new = _setting(step, row.path, late=False), _setting(step, row.path, late=True)
                text = f"{row.name} {old} → {new}: {row.effect}."
                yield Finding(DISRUPTION, subject, text, (), (step.urn,), row.risk)


def _setting(step: Step, path: str, *, late: bool) -> str:
    state = step.new if late else step.old
    if state is not None and is_unknown(state.inputs, path):
        return "a value that is known only during the update"
    value = at(state.inputs, path) if state else None
    if value is None:
        return "not set"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {each}" for key, each in sorted(value.items())) or "none"
    if isinstance(value, list):
        return "; ".join(_budget(each) for each in value if isinstance(each, Mapping)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _budget(budget: Mapping[str, object]) -> str:
    when = f" for {budget.get('duration')} from {budget.get('schedule')} (UTC)" if budget.get("schedule") else ""
    return f"{budget.get('nodes')}{when}"
