"""Taints, labels, architectures, capacity types, sizes and names of groups, in words."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.facts.taints import Effect
from multiarch.observed.resources.paths import UNKNOWN
from multiarch.review.model import Operation, Step
from multiarch.review.nodes import placement
from multiarch.rules import Finding, Risk
from tests.review.by_hand import (
    CLUSTER,
    GROUP,
    MANAGED,
    NODE_POOL,
    POOL,
    SCALING_GROUP,
    SELF_MANAGED,
    by_rule,
    change,
    changed,
    made,
)
from tests.stack.words import plan

LOST = "Its nodes lose the taint arch=arm64:NoSchedule: pods without the toleration can be scheduled there from now on."
OTHER = made(GROUP, "general", {**MANAGED, "instanceTypes": ["m7i.large"], "taints": [], "labels": {}}, None)


def find(*steps: Step, **more: Any) -> list[Finding]:
    return list(placement.find_placement_changes(change(*steps, **more)))


def texts(*steps: Step, rule: str, **more: Any) -> list[str]:
    return [each.text for each in by_rule(find(*steps, **more)).get(rule, [])]


def tainted(*taints: str) -> list[dict[str, str]]:
    """Taints of the EKS API, from ``KEY=VALUE:NO_SCHEDULE``."""
    rows = []
    for each in taints:
        pair, _, effect = each.partition(":")
        key, _, value = pair.partition("=")
        rows.append({"key": key, "value": value, "effect": effect})
    return rows


@pytest.mark.parametrize(
    ("effect", "consequence", "risk"),
    [
        ("NO_SCHEDULE", "can't be scheduled there; running pods stay", Risk.MEDIUM),
        ("NO_EXECUTE", "and running ones are evicted", Risk.HIGH),
        ("PREFER_NO_SCHEDULE", "only if no other node has room", Risk.MEDIUM),
    ],
)
def test_a_taint_says_what_it_does_to_pods(effect: str, consequence: str, risk: Risk) -> None:
    step = changed(GROUP, "graviton", {**MANAGED, "taints": []}, {"taints": tainted(f"team=pay:{effect}")})
    (found,) = by_rule(find(step))["change-taints"]
    kube = Effect[effect]
    assert found.subject == "node group graviton"
    assert found.text.startswith(f"Its nodes get the taint team=pay:{kube}: pods without the toleration")
    assert consequence in found.text
    assert found.level is risk
    assert found.details == ("EKS changes the taints of running nodes in place.",)


def test_a_lost_taint_lets_other_pods_in() -> None:
    step = changed(GROUP, "graviton", MANAGED, {"taints": []})
    found = by_rule(find(step))
    assert [each.text for each in found["change-taints"]] == [LOST]
    assert found["open-arm64"][0].level is Risk.HIGH


def test_another_value_of_a_taint_is_a_change_of_it() -> None:
    step = changed(GROUP, "graviton", MANAGED, {"taints": tainted("arch=graviton:NO_SCHEDULE")})
    (text,) = texts(step, rule="change-taints")
    assert text.startswith("The taint arch=arm64:NoSchedule of its nodes becomes arch=graviton:NoSchedule: pods that")


def test_a_new_untainted_arm64_group_is_open_to_images_for_amd64() -> None:
    new = made(GROUP, "arm", None, {**MANAGED, "taints": tainted("a=b:PREFER_NO_SCHEDULE")})
    assert "exec format error" in texts(OTHER, new, rule="open-arm64")[0]
    assert not texts(OTHER, made(GROUP, "arm", None, MANAGED), rule="open-arm64")


def test_taints_of_a_self_managed_group_come_from_the_plans_where_there_are_plans() -> None:
    own = {"nodeGroups": {"web-arm": {"kind": "self-managed"}}}
    plans = (plan(own), plan({**own, "arm64Taint": "cpu=arm:NoSchedule"}))
    step = changed(SCALING_GROUP, "web-arm", {**SELF_MANAGED, "tags": []}, {"maxSize": 9})
    gained, lost = texts(step, rule="change-taints", plans=plans)
    assert gained.startswith("Its nodes get the taint cpu=arm:NoSchedule: pods without the toleration can't be")
    assert (
        lost == "Its nodes lose the taint arch=arm64:NoSchedule: pods there still have to tolerate cpu=arm:NoSchedule."
    )


def test_labels_that_nodes_lose_or_change_matter_more_than_new_ones() -> None:
    lost = changed(GROUP, "graviton", MANAGED, {"labels": {"checkout.example.com/tier": "other", "new": "1"}})
    (found,) = by_rule(find(lost))["change-labels"]
    assert "change the labels checkout.example.com/tier: graviton → other" in found.text
    assert "New labels: new=1." in found.details
    gained = changed(GROUP, "graviton", MANAGED, {"labels": {"new": "1"}})
    (found,) = by_rule(find(gained))["change-labels"]
    assert (found.text, found.level) == ("Its nodes get the labels new=1.", Risk.LOW)


def test_another_architecture_names_both() -> None:
    step = changed(
        GROUP,
        "graviton",
        MANAGED,
        {"instanceTypes": ["m7i.large"], "amiType": "AL2023_x86_64_STANDARD"},
        operation=Operation.REPLACE,
    )
    (text,) = texts(step, rule="change-architecture")
    assert text == (
        "Its new nodes are amd64 instead of arm64: pods that need arm64 can't be scheduled there any more; images must "
        "also exist for amd64."
    )


def test_a_pool_that_may_buy_another_architecture_as_well_strands_nobody() -> None:
    requirements = [dict(each) for each in NODE_POOL["spec"]["template"]["spec"]["requirements"]]
    requirements[0]["values"] = ["amd64", "arm64"]
    step = changed(POOL, "p", NODE_POOL, {"spec": {"template": {"spec": {"requirements": requirements}}}})
    (found,) = by_rule(find(step))["change-architecture"]
    assert found.text == "Its new nodes are amd64 or arm64 instead of arm64: images must also exist for amd64."
    assert found.level is Risk.MEDIUM


def test_spot_instead_of_on_demand_is_said() -> None:
    step = changed(GROUP, "graviton", MANAGED, {"capacityType": "SPOT"}, operation=Operation.REPLACE)
    assert "two minutes' notice" in texts(step, rule="change-capacity-type")[0]
    back = changed(GROUP, "graviton", {**MANAGED, "capacityType": "SPOT"}, {"capacityType": "ON_DEMAND"})
    assert by_rule(find(back))["change-capacity-type"][0].level is Risk.LOW
    shared = {"onDemandPercentageAboveBaseCapacity": 0, "onDemandBaseCapacity": 1}
    both = changed(SCALING_GROUP, "b", SELF_MANAGED, {"mixedInstancesPolicy": {"instancesDistribution": shared}})
    assert "as on-demand or spot instead of spot" in texts(both, rule="change-capacity-type")[0]


def test_new_limits_leave_the_number_of_nodes_alone() -> None:
    step = changed(GROUP, "graviton", MANAGED, {"scalingConfig": {"maxSize": 9}})
    assert texts(step, rule="change-size") == ["maxSize 4 → 9; the number of nodes stays 2."]


@pytest.mark.parametrize(("name", "value"), [("minSize", 3), ("maxSize", 1)])
def test_limits_that_exclude_the_present_number_are_rejected_by_aws(name: str, value: int) -> None:
    step = changed(GROUP, "graviton", MANAGED, {"scalingConfig": {name: value}})
    (found,) = by_rule(find(step))["refused-size"]
    assert "while the group has 2 nodes" in found.text
    assert found.level is Risk.HIGH


@pytest.mark.parametrize(("size", "risk"), [(1, Risk.HIGH), (3, Risk.LOW)])
def test_a_number_of_nodes_that_the_update_sets_is_reported(size: int, risk: Risk) -> None:
    step = changed(GROUP, "graviton", MANAGED, {"scalingConfig": {"desiredSize": size}})
    (found,) = by_rule(find(step))["change-size"]
    ends = ", 1 node fewer" if size == 1 else ""
    assert found.text == f"The update sets the number of nodes{ends} (desiredSize 2 → {size})."
    assert found.level is risk


def test_limits_and_number_that_change_together_are_not_rejected() -> None:
    step = changed(GROUP, "graviton", MANAGED, {"scalingConfig": {"minSize": 3, "desiredSize": 3}})
    assert by_rule(find(step)).keys() == {"change-size"}
    step = changed(GROUP, "graviton", MANAGED, {"scalingConfig": {"minSize": 3, "desiredSize": 9}})
    assert texts(step, rule="refused-size") == ["AWS rejects the new sizes (desiredSize 9, minSize 3, maxSize 4)."]


def test_a_new_group_says_what_it_is_for() -> None:
    (found,) = by_rule(find(OTHER, made(GROUP, "graviton", None, MANAGED)))["add-group"]
    assert found.text == "New: arm64 on-demand nodes, m7g.large; 2 nodes at first, 4 at most."
    assert found.details == (
        "Only pods that tolerate arch=arm64:NoSchedule can be scheduled there.",
        "Labels: checkout.example.com/tier=graviton.",
    )
    pools = [made(POOL, name, None, NODE_POOL) for name in ("a", "b")]
    (found,) = by_rule(find(OTHER, *pools))["add-group"]
    assert (found.subject, found.text) == ("NodePools a, b", "New: arm64 spot nodes; without a limit.")


@pytest.mark.parametrize(
    "words",
    [
        {"taints": UNKNOWN},
        {"taints": [{"key": "arch", "value": UNKNOWN, "effect": "NO_SCHEDULE"}]},
        {"labels": {"checkout.example.com/tier": UNKNOWN}},
        {"capacityType": UNKNOWN},
        {"instanceTypes": UNKNOWN, "amiType": UNKNOWN},
    ],
)
def test_what_is_known_only_during_the_update_is_not_claimed_to_be_lost(words: dict[str, Any]) -> None:
    assert find(changed(GROUP, "graviton", MANAGED, words)) == []


def test_a_new_or_deleted_stack_and_drift_alone_have_no_findings() -> None:
    assert find(made(GROUP, "graviton", None, {**MANAGED, "taints": []})) == []
    assert find(made(GROUP, "graviton", MANAGED, None)) == []
    assert find(changed(GROUP, "graviton", MANAGED, {"taints": []}, operation=Operation.DRIFT)) == []


def test_the_preview_decides_whether_a_planned_change_happens() -> None:
    """What the stack file changes and the preview leaves alone was deployed before."""
    plans = (plan(), plan({"arm64Taint": "none"}))
    same = {**MANAGED, "taints": []}
    assert not texts(made(GROUP, "web-arm", same, same), rule="change-taints", plans=plans)
    assert not texts(OTHER, rule="change-taints", plans=plans)
    assert "lose the taint" in texts(rule="change-taints", plans=plans, succeeded=False)[0]


def test_a_node_pool_without_a_requirement_for_it_has_both_architectures() -> None:
    def pool(*requirements: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": {"name": "p"}, "spec": {"template": {"spec": {"requirements": list(requirements)}}}}

    amd64 = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
    step = made(POOL, "p", pool(amd64), pool())
    assert texts(step, rule="change-architecture") == [
        "Its new nodes are amd64 or arm64 instead of amd64: images must also exist for arm64."
    ]


def test_the_first_group_of_a_cluster_that_is_there_is_reported() -> None:
    first = made(GROUP, "graviton", None, {**MANAGED, "taints": []})
    there, new = (made(CLUSTER, "cluster", old, {"version": "1.35"}) for old in ({"version": "1.35"}, None))
    assert by_rule(find(there, first)).keys() == {"open-arm64", "add-group"}
    assert find(new, first) == []
