"""How many nodes are replaced, at what pace and for how long: managed, self-managed and Karpenter's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from multiarch.observed.resources.nodes import AUTO_MODE_CLASS
from multiarch.observed.resources.paths import UNKNOWN
from multiarch.review.model import Operation, Step
from multiarch.review.nodes import node_rolls, placement
from multiarch.rules import Finding, Risk
from tests.review.by_hand import (
    CLUSTER,
    EC2_NODE_CLASS,
    GROUP,
    MANAGED,
    NODE_CLASS,
    NODE_POOL,
    POOL,
    SCALING_GROUP,
    SELF_MANAGED,
    TEMPLATE,
    by_rule,
    change,
    changed,
    made,
    said,
)
from tests.simulate.simulated import pooled
from tests.stack.words import merged, plan

HOOK = "aws:autoscaling/lifecycleHook:LifecycleHook"


def group(words: dict[str, Any], nodes: int | None = 2, **config: Any) -> Step:
    base = {**MANAGED, "updateConfig": config or {"maxUnavailable": 1}}
    outputs = {} if nodes is None else {"scalingConfig": {"desiredSize": nodes, "maxSize": 99, "minSize": 0}}
    if nodes is None:
        base["scalingConfig"] = {}
    return changed(GROUP, "graviton", base, words, outputs=outputs)


def only(*steps: Step, **more: Any) -> Finding:
    found = list(node_rolls.find_node_rolls(change(*steps, **more)))
    assert len(found) == 1, said(found)
    return found[0]


@pytest.mark.parametrize(
    ("nodes", "config", "expected"),
    [
        (1, {"maxUnavailable": 1}, "1 node is replaced, 1 at a time; evictions take 15 minutes at most."),
        (5, {"maxUnavailable": 2}, "5 nodes are replaced, 2 at a time; evictions take 45 minutes at most."),
        (None, {"maxUnavailable": 2}, "All nodes are replaced, 2 at a time; how many is unknown"),
        (20, {"maxUnavailablePercentage": 33}, "6 at a time (33 %); evictions take 60 minutes at most."),
        (400, {"maxUnavailablePercentage": 100}, "100 at a time (100 %); evictions take 60 minutes at most."),
        (6, {}, "1 at a time; evictions take 90 minutes at most."),
    ],
)
def test_a_managed_group_rolls_at_the_pace_of_its_update_config(
    nodes: int | None, config: dict[str, int], expected: str
) -> None:
    found = only(group({"version": "1.36"}, nodes, **config))
    assert found.rule.name == "roll-nodes"
    assert expected in found.text
    assert "Reason: Kubernetes version 1.35 → 1.36." in found.details
    assert found.level is Risk.MEDIUM


def test_a_group_without_nodes_rolls_none() -> None:
    found = only(group({"version": "1.36"}, 0))
    assert (found.text, found.level) == ("The group has no nodes now; new ones get the new version.", Risk.LOW)


@pytest.mark.parametrize(("force", "expected"), [(False, "the update fails"), (True, "deletes the remaining ones")])
def test_what_happens_to_pods_that_a_budget_protects_depends_on_force(force: bool, expected: str) -> None:  # noqa: FBT001
    step = changed(GROUP, "graviton", {**MANAGED, "forceUpdateVersion": force}, {"version": "1.36"})
    assert expected in said([only(step)])


def test_a_new_launch_template_version_names_what_changes_in_it() -> None:
    template = changed(
        TEMPLATE,
        "graviton",
        {"imageId": "ami-1", "userData": "YQ=="},
        {"imageId": "ami-2", "userData": "Yg=="},
        id_="lt-e0536f16c8d436d18",
    )
    found = only(template, group({"launchTemplate": {"version": UNKNOWN}}))
    assert "Reason: launch template (image ami-1 → ami-2, user data)." in found.details
    assert template.urn in found.urns
    assert "newest AMI release" not in said([found])


def test_a_template_that_names_no_image_brings_the_newest_release_and_a_late_value_may_turn_out_the_same() -> None:
    template = changed(TEMPLATE, "graviton", {"userData": "YQ=="}, {"userData": UNKNOWN}, id_="lt-e0536f16c8d436d18")
    newest = "EKS takes the newest AMI release too, whichever is pinned"
    found = only(template, group({"launchTemplate": {"version": UNKNOWN}}))
    assert newest in said([found])
    assert "Reason: launch template (user data, known only during the update)." in found.details
    sent = {"launchTemplate": {"version": UNKNOWN}, "releaseVersion": "1.35.4-20261106"}
    assert newest not in said([only(template, group(sent))])


@pytest.mark.parametrize(
    "words",
    [
        {"scalingConfig": {"maxSize": 9}},
        {"taints": []},
        {"updateConfig": {"maxUnavailable": 3}},
    ],
)
def test_what_eks_changes_in_place_rolls_nothing(words: dict[str, Any]) -> None:
    assert list(node_rolls.find_node_rolls(change(group(words)))) == []


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (False, "2 new nodes start, then all 5 old nodes end at the same time."),
        (True, "all 5 old nodes end at the same time, then 2 new nodes start."),
        (None, "2 new nodes start, and all 5 old nodes end at the same time."),
    ],
)
def test_a_replaced_group_names_new_and_old_nodes_their_order_and_the_reason(first: bool | None, text: str) -> None:  # noqa: FBT001
    step = changed(
        GROUP,
        "graviton",
        MANAGED,
        {"instanceTypes": ["m7g.xlarge"]},
        operation=Operation.REPLACE,
        causes=["instanceTypes[0]"],
        outputs={"scalingConfig": {"desiredSize": 5}},
        deletes_first=first,
    )
    found = only(step)
    assert found.text == f"The group is replaced: {text}"
    assert (found.level is Risk.HIGH, "this preview does not say" in said([found])) == (bool(first), first is None)
    assert "Reason: instanceTypes m7g.large → m7g.xlarge." in found.details
    assert "starts with 2 of 5 nodes" in said([found])
    assert "5 minutes" in said([found])


def test_a_deleted_group_with_a_successor_is_of_less_risk() -> None:
    found = by_rule(
        node_rolls.find_node_rolls(change(made(GROUP, "graviton", MANAGED, None), made(GROUP, "arm", None, MANAGED)))
    )
    assert "It has a successor: graviton is renamed to arm." in found["roll-nodes"][0].details
    assert "remove-nodes" not in found


@pytest.mark.parametrize(
    ("gone", "added", "other"),
    [
        (["graviton"], ["arm"], {"capacityType": "SPOT"}),
        (["graviton"], ["arm-a", "arm-b"], {}),
        (["arm-a", "arm-b"], ["graviton"], {}),
    ],
    ids=["another capacity type", "split", "joined"],
)
def test_deleted_groups_without_one_successor_of_the_same_nodes_are_not_renamed(
    gone: list[str], added: list[str], other: dict[str, Any]
) -> None:
    old = [made(GROUP, name, MANAGED, None) for name in gone]
    seen = change(*old, *(made(GROUP, name, None, {**MANAGED, **other}) for name in added))
    removed = node_rolls.find_node_rolls(seen)
    assert [(each.rule.name, each.subject) for each in removed] == [("remove-nodes", f"node group {n}") for n in gone]
    new = by_rule(placement.find_placement_changes(seen))["add-group"]
    assert [each.subject for each in new] == [f"node group {name}" for name in added]


def test_node_pools_that_drift_for_the_same_reason_are_one_finding() -> None:
    steps = [changed(POOL, name, NODE_POOL, {"spec": {"template": {"spec": {"expireAfter": "24h"}}}}) for name in "abc"]
    found = only(*steps)
    assert found.subject == "NodePools a, b, c"
    assert len(found.urns) == 3


def test_a_deleted_group_names_its_nodes() -> None:
    found = only(made(GROUP, "graviton", MANAGED, None))
    assert (found.rule.name, found.level) == ("remove-nodes", Risk.HIGH)
    assert found.text == "The group is deleted: EKS drains all 2 nodes at the same time."
    step = made(GROUP, "graviton", MANAGED, None)
    assert step.old is not None
    assert "It is protected" in said([only(replace(step, old=replace(step.old, protect=True)))])
    empty = made(GROUP, "graviton", MANAGED, None, outputs={"scalingConfig": {"desiredSize": 0}})
    assert only(empty).level is Risk.LOW


def test_a_self_managed_group_is_refreshed_for_an_unknown_time() -> None:
    found = only(_refreshed())
    assert found.text == (
        "8 nodes are replaced by an instance refresh, 1 at a time (88 % stay in service); for how long is unknown."
    )
    assert "states no limit" in said([found])
    assert "Pods get SIGTERM with the instance" in said([found])


def _refreshed(**more: Any) -> Step:
    policy = {"launchTemplate": {"launchTemplateSpecification": {"version": UNKNOWN}}}
    return changed(SCALING_GROUP, "batch", {**SELF_MANAGED, **more}, {"mixedInstancesPolicy": policy})


def test_a_lifecycle_hook_limits_a_drain_and_without_an_instance_refresh_old_nodes_stay() -> None:
    hook = {"autoscalingGroupName": SELF_MANAGED["name"], "heartbeatTimeout": 180}
    found = only(_refreshed(), made(HOOK, "batch", hook, hook))
    assert "drained for 3 minutes at most" in said([found])
    found = only(_refreshed(instanceRefresh=None))
    assert (found.rule.name, found.level) == ("keep-old-nodes", Risk.LOW)


def test_a_changed_taint_makes_all_nodes_of_a_pool_drift_at_its_budgets_pace() -> None:
    quiet = [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 8 * * mon-fri", "duration": "10h"}]
    base = _pool(disruption={"budgets": quiet})
    graceful = merged(base, {"spec": {"template": {"spec": {"terminationGracePeriod": "48h"}}}})
    drained = only(changed(POOL, "p", graceful, {"spec": {"template": {"spec": {"expireAfter": "24h"}}}}))
    assert "drained for 48h at most" in said([drained])
    found = only(changed(POOL, "general-arm64-spot", base, {"spec": {"template": {"spec": {"taints": []}}}}))
    assert found.text == (
        "Karpenter replaces all nodes, at most 10% of them at a time (rounded up); none for 10h from 0 8 * * mon-fri "
        "(UTC)."
    )
    assert "Reason: taints." in found.details
    assert "How many is unknown" in said([found])
    assert "without limit" in said([found])


def _pool(**spec: Any) -> dict[str, Any]:
    return {**NODE_POOL, "spec": {**NODE_POOL["spec"], **spec}}


@pytest.mark.parametrize(
    "spec",
    [
        {"weight": 10},
        {"limits": {"cpu": "0"}},
        {"disruption": {"consolidateAfter": "5m"}},
        {"template": {"spec": {"requirements": [*NODE_POOL["spec"]["template"]["spec"]["requirements"][:1]]}}},
    ],
)
def test_what_karpenter_does_not_count_as_drift_rolls_nothing(spec: dict[str, Any]) -> None:
    assert (
        list(node_rolls.find_node_rolls(change(changed(POOL, "general-arm64-spot", NODE_POOL, {"spec": spec})))) == []
    )


def test_narrower_requirements_replace_the_nodes_that_no_longer_fit() -> None:
    requirements = [dict(each) for each in NODE_POOL["spec"]["template"]["spec"]["requirements"]]
    requirements[2] = {**requirements[2], "values": ["6"]}
    found = only(changed(POOL, "p", NODE_POOL, {"spec": {"template": {"spec": {"requirements": requirements}}}}))
    assert found.text.startswith("Karpenter replaces the nodes that no longer fit the requirements")
    assert "instance-generation Gt 5 → karpenter.k8s.aws/instance-generation Gt 6" in said([found])
    requirements[2] = {**requirements[2], "values": ["4"]}
    wider = changed(POOL, "p", NODE_POOL, {"spec": {"template": {"spec": {"requirements": requirements}}}})
    assert list(node_rolls.find_node_rolls(change(wider))) == []


def test_a_changed_node_class_rolls_the_nodes_of_its_pools() -> None:
    image = changed(
        NODE_CLASS, "default", EC2_NODE_CLASS, {"spec": {"amiSelectorTerms": [{"alias": "al2023@v20260801"}]}}
    )
    found = only(image, made(POOL, "general-arm64-spot", NODE_POOL, NODE_POOL))
    assert (found.subject, found.urns) == ("NodePool general-arm64-spot", (image.urn,))
    assert found.text == "Karpenter replaces all nodes, at most 10% of them at a time (rounded up)."
    assert "Reason: EC2NodeClass default: amiSelectorTerms al2023@v20260715 → al2023@v20260801." in found.details
    alone = only(image)
    assert (alone.subject, alone.text) == (
        "NodePool with EC2NodeClass default",
        "Karpenter replaces all nodes, as its budgets allow.",
    )


def test_a_changed_node_class_of_eks_auto_mode_rolls_the_nodes_of_its_pools() -> None:
    pool, other = ({"nodeClassRef": {"kind": "NodeClass", "name": "multiarch"}}, {"expireAfter": "24h"})
    own = {**NODE_POOL, "spec": {"template": {"spec": pool}}}
    role = changed(AUTO_MODE_CLASS, "multiarch", {"spec": {"role": "a"}}, {"spec": {"role": "b"}})
    found = only(role, made(POOL, "general-arm64-spot", own, own))
    assert found.subject == "NodePool general-arm64-spot"
    assert found.text == "EKS Auto Mode replaces all nodes, at most 10% of them at a time (rounded up)."
    assert "Reason: NodeClass multiarch: role a → b." in found.details
    # Its own default.
    assert "drained for 24h at most" in said([found])
    assert only(changed(POOL, "p", own, {"spec": {"template": {"spec": {**pool, **other}}}})).text.startswith(
        "EKS Auto Mode replaces all nodes"
    )


def test_an_upgrade_of_kubernetes_makes_nodes_of_an_alias_drift() -> None:
    cluster = changed(CLUSTER, "cluster-eksCluster", {"version": "1.35"}, {"version": "1.36"})
    found = only(cluster, made(NODE_CLASS, "default", EC2_NODE_CLASS, EC2_NODE_CLASS))
    assert "Kubernetes 1.35 → 1.36: al2023@v20260715 stands for another image then" in said([found])


def test_an_image_of_their_own_keeps_nodes_at_their_version_in_an_upgrade() -> None:
    own = {"nodeGroups": {"web-arm": {"ami": {"id": "ami-0123456789abcdef0"}}}}
    plans = (plan({**own, "kubernetesVersion": "1.34"}), plan({**own, "kubernetesVersion": "1.35"}))
    cluster = changed(CLUSTER, "cluster-eksCluster", {"version": "1.34"}, {"version": "1.35"})
    found = only(cluster, plans=plans)
    assert (found.rule.name, found.subject) == ("keep-old-nodes", "node group web-arm")
    assert "stays, and with it the kubelet's version" in found.text


def test_a_deleted_node_pool_drains_all_of_its_nodes_at_once() -> None:
    found = only(made(POOL, "general-arm64-spot", NODE_POOL, None))
    assert (found.rule.name, found.level) == ("remove-nodes", Risk.HIGH)
    assert "without regard to budgets" in found.text


def test_without_a_preview_the_stack_files_say_which_groups_roll() -> None:
    plans = (plan(), plan({"nodeGroups": {"web-arm": {"diskSize": 80}}}))
    (found,) = node_rolls.find_node_rolls(change(plans=plans, succeeded=False))
    assert (found.subject, found.text) == ("node group web-arm", "Its nodes are replaced, 1 at a time.")
    assert "Reason: diskSize." in found.details
    assert "a preview says" in said([found])


def test_without_a_preview_removed_groups_are_named() -> None:
    more = {"nodeGroups": {"batch": {"instanceTypes": ["m7i.large"], "capacityType": "spot"}}}
    (found,) = node_rolls.find_node_rolls(change(plans=(plan(more), plan()), succeeded=False))
    assert (found.rule.name, found.subject) == ("remove-nodes", "node group batch")
    assert found.text == "The group is deleted, and all of its nodes end."
    other = {"nodeGroups": {"jobs": more["nodeGroups"]["batch"]}}
    (found,) = node_rolls.find_node_rolls(change(plans=(plan(more), plan(other)), succeeded=False))
    assert (found.rule.name, found.details[0]) == ("roll-nodes", "It has a successor: batch is renamed to jobs.")


def test_without_a_preview_the_plans_say_which_of_karpenters_nodes_drift() -> None:
    old, new = plan(pooled({"general": {}})), plan(pooled({"general": {"expireAfter": "24h"}}))
    (found,) = node_rolls.find_node_rolls(change(plans=(old, new)))
    assert found.subject.startswith("NodePools general-a")
    assert found.urns == ()
    assert "Reason: expireAfter 720h → 24h." in found.details
    (removed,) = node_rolls.find_node_rolls(
        change(plans=(old, plan(pooled({"general": {"architectures": ["arm64"]}}, prefer="arm64"))))
    )
    assert removed.rule.name == "remove-nodes"
    assert removed.subject == "NodePools general-amd64-on-demand, general-amd64-spot"
    image = plan(pooled({"general": {}}, karpenter={"amiAlias": "al2023@v20260801"}))
    assert "al2023@v20260715 → al2023@v20260801" in said(node_rolls.find_node_rolls(change(plans=(old, image))))


def test_a_preview_that_failed_before_a_group_leaves_it_to_the_plans() -> None:
    seen = changed(GROUP, "web", MANAGED, {"version": "1.36"})
    plans = (plan({"kubernetesVersion": "1.35"}), plan({"kubernetesVersion": "1.36"}))
    found = {each.subject: each for each in node_rolls.find_node_rolls(change(seen, plans=plans, succeeded=False))}
    assert "evictions take" in found["node group web"].text
    assert "a preview says" in said([found["node group web-arm"]])


def test_a_new_group_rolls_nothing() -> None:
    steps = (
        made(GROUP, "graviton", None, MANAGED),
        made(POOL, "p", None, NODE_POOL),
        made(NODE_CLASS, "default", None, EC2_NODE_CLASS),
    )
    assert list(node_rolls.find_node_rolls(change(*steps))) == []
