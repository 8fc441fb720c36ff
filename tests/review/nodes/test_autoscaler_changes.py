"""Which capacity new pods get first, which autoscaler adds it, and when nodes are removed."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.autoscaling.expander import format_priorities
from multiarch.review.model import Step
from multiarch.review.nodes import autoscalers
from multiarch.rules import Finding, Risk
from multiarch.stack.model import Plan
from tests.review.by_hand import GROUP, MANAGED, NODE_POOL, POOL, RELEASE, by_rule, change, changed, made
from tests.simulate.simulated import grown, pooled
from tests.stack.words import plan

GROUPS: dict[str, Any] = {"web": {"instanceTypes": ["m7i.large"]}, "web-arm": {"instanceTypes": ["m7g.large"]}}
GROUP_STEPS = (
    made(GROUP, "web", *[{**MANAGED, "instanceTypes": ["m7i.large"], "nodeGroupName": "web-1a2b"}] * 2),
    made(GROUP, "web-arm", *[{**MANAGED, "nodeGroupName": "web-arm-3c4d"}] * 2),
)


def find(*steps: Step, **more: Any) -> list[Finding]:
    return list(autoscalers.find_autoscaler_changes(change(*steps, **more)))


def release(old: Plan | None, new: Plan | None) -> Step:
    """The cluster autoscaler's release, with the priorities of two plans."""
    before, after = (
        None if each is None or each.autoscaling.cluster_autoscaler is None else _values(each) for each in (old, new)
    )
    return made(RELEASE, "cluster-autoscaler", before, after)


def _values(plan: Plan) -> dict[str, Any]:
    assert plan.autoscaling.cluster_autoscaler is not None
    return {"values": {"expanderPriorities": format_priorities(plan.autoscaling.cluster_autoscaler.priorities)}}


ARM, AMD = plan(grown(GROUPS, prefer="arm64")), plan(grown(GROUPS, prefer="amd64"))


def test_new_pods_prefer_another_architecture() -> None:
    (found,) = find(*GROUP_STEPS, release(ARM, AMD), plans=(ARM, AMD))
    assert found.rule.name == "change-preference"
    assert found.text == "New pods prefer amd64 from now on (before: arm64), where they may run on both."
    assert found.details[:2] == (
        "Before: web-arm (arm64), then web (amd64).",
        "From now on: web (amd64), then web-arm (arm64).",
    )


def test_weights_say_the_preference_of_karpenter() -> None:
    plans = (plan(pooled({"general": {}})), plan(pooled({"general": {}}, prefer="amd64")))
    (found,) = find(changed(POOL, "general-arm64-spot", NODE_POOL, {"spec": {"weight": 70}}), plans=plans)
    assert "prefer amd64 from now on (before: arm64)" in found.text


def test_pools_for_special_pods_do_not_count() -> None:
    """A pool of another architecture with a taint of its own says nothing about other pods."""
    jobs = {"weight": 95, "capacityTypes": ["spot"], "taints": ["team=batch:NoSchedule"]}
    old, new = (plan(pooled({"general": {}, "jobs": {**jobs, "architectures": [each]}})) for each in ("arm64", "amd64"))
    step = made(POOL, "jobs-arm64-spot", NODE_POOL, None)
    assert not by_rule(find(step, plans=(old, new))).get("change-preference")


def test_an_unchanged_stack_and_a_new_group_in_between_are_no_other_preference() -> None:
    assert find(*GROUP_STEPS, release(ARM, ARM), plans=(ARM, ARM)) == []
    old, new = plan(grown(GROUPS)), plan(grown({**GROUPS, "more": {"instanceTypes": ["c7g.large"]}}))
    assert not by_rule(find(*GROUP_STEPS, release(old, new), plans=(old, new))).get("change-preference")


def test_karpenter_is_installed_beside_the_cluster_autoscaler_by_a_migration() -> None:
    (found,) = find(*GROUP_STEPS, release(ARM, ARM), made(RELEASE, "karpenter", None, {}))
    assert found.text == "Karpenter is installed beside the cluster autoscaler."
    assert found.level is Risk.MEDIUM
    assert "is unknown" in found.details[0]
    plans = (plan(pooled({"general": {}})), plan(pooled({"general": {}}, migrateFrom="cluster-autoscaler")))
    (found,) = by_rule(find(*GROUP_STEPS, plans=plans, succeeded=False))["swap-autoscaler"]
    assert found.details == ("New pods get nodes of Karpenter first (autoscaling.use); the other one is the fallback.",)


@pytest.mark.parametrize(
    ("old", "new", "text", "risk", "left"),
    [
        (
            {"karpenter"},
            {"cluster-autoscaler"},
            "Karpenter is replaced by the cluster autoscaler at once",
            Risk.HIGH,
            "The nodes of Karpenter end with its NodePools",
        ),
        (
            {"cluster-autoscaler"},
            {"karpenter"},
            "is replaced by Karpenter at once",
            Risk.HIGH,
            "The nodes of the cluster autoscaler stay, and nothing removes them.",
        ),
        (set(), {"karpenter"}, "Karpenter is installed: from now on it adds", Risk.MEDIUM, ""),
        ({"karpenter"}, set(), "Karpenter is removed: nothing adds nodes", Risk.HIGH, ""),
        (
            {"cluster-autoscaler", "karpenter"},
            {"karpenter"},
            "is removed; Karpenter remains",
            Risk.MEDIUM,
            "Node groups",
        ),
    ],
)
def test_autoscalers_that_come_and_go(old: set[str], new: set[str], text: str, risk: Risk, left: str) -> None:
    steps = [
        made(RELEASE, name, {} if name in old else None, {} if name in new else None) for name in sorted(old | new)
    ]
    (found,) = by_rule(find(*GROUP_STEPS, *steps))["swap-autoscaler"]
    assert text in found.text
    assert found.level is risk
    assert " ".join(found.details).startswith(left)
