"""Karpenter's objects as steps, by the stack files alone: where there is no preview, as for a fork."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from multiarch.autoscaling.karpenter import build_node_class, build_node_pool
from multiarch.autoscaling.model import KarpenterPlan
from multiarch.observed.resources.nodes import NODE_CLASS, NODE_POOL
from multiarch.observed.resources.paths import list_differences
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.properties import list_resources
from multiarch.rules import Finding
from multiarch.stack.model import Plan

_PLANNED = "planned:"


def with_planned_pools(change: StackChange) -> StackChange:
    """Return the change with a step for each NodePool and EC2NodeClass that the preview should show and does not."""
    plans = change.plans
    if plans is None or change.preview.is_complete:
        return change
    seen = {(step.type, step.name) for step in list_resources(change.preview.steps, NODE_CLASS, NODE_POOL)}
    more = [step for step in _steps(*plans) if (step.type, step.name) not in seen]
    return replace(change, preview=replace(change.preview, steps=(*change.preview.steps, *more)))


def replace_planned_urns(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings, with the URNs that the preview knows."""
    for each in findings:
        yield replace(each, urns=tuple(urn for urn in each.urns if not urn.startswith(_PLANNED)))


def _steps(old: Plan, new: Plan) -> Iterator[Step]:
    before, after = _manifests(old), _manifests(new)
    for kind, name in sorted({*before, *after}):
        was, now = before.get((kind, name)), after.get((kind, name))
        changed = tuple(list_differences(was, now)) if was is not None and now is not None else ()
        operation = Operation.UPDATE if changed else Operation.SAME
        if was is None or now is None:
            operation = Operation.CREATE if was is None else Operation.DELETE
        yield Step(operation, f"{_PLANNED}{kind}::{name}", kind, name, "", _state(was), _state(now), changed)


def _manifests(plan: Plan) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    karpenter: KarpenterPlan | None = plan.autoscaling.karpenter
    if karpenter is None:
        return {}
    node_class = build_node_class(karpenter.node_class, cluster=plan.cluster.name, role="", tags=plan.tags)
    return {
        (NODE_CLASS, karpenter.node_class.name): node_class,
        **{(NODE_POOL, pool.name): build_node_pool(pool) for pool in karpenter.pools},
    }


def _state(manifest: Mapping[str, Any] | None) -> State | None:
    return None if manifest is None else State(manifest, {})
