"""One set of words for both autoscalers, and the way from one to the other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from multiarch.autoscaling.expander import CORDONED_PRIORITY
from multiarch.autoscaling.groups import SCALE_UP_DELAY
from multiarch.autoscaling.iam import ArnScope, build_karpenter_policies
from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from tests.stack.words import merged, plan

GROUPS: dict[str, Any] = {
    "nodeGroups": {
        "web": {"minSize": 2},
        "web-arm": {"minSize": 0},
        "batch-arm": {"capacityType": "spot", "instanceTypes": ["m7g.large", "m6g.large"], "minSize": 0},
    }
}


def autoscaling(**words: object) -> AutoscalingPlan:
    return plan(merged(GROUPS, {"autoscaling": words})).autoscaling


def test_without_an_autoscaler_there_is_nothing() -> None:
    made = autoscaling()
    assert (made.use, made.cluster_autoscaler, made.karpenter, made.derived) == (Autoscaler.NONE, None, None, ())


def test_the_same_preference_orders_groups_and_pools() -> None:
    groups = autoscaling(use="cluster-autoscaler").cluster_autoscaler
    pools = autoscaling(use="karpenter").karpenter
    assert groups is not None
    assert pools is not None
    assert [(row.group, row.priority) for row in groups.priorities] == [("batch-arm", 90), ("web-arm", 70), ("web", 30)]
    assert [pool.weight for pool in pools.pools] == [90, 70, 50, 30]
    other = autoscaling(use="cluster-autoscaler", prefer="amd64").cluster_autoscaler
    assert other is not None
    assert [row.group for row in other.priorities] == ["web", "batch-arm", "web-arm"]


def test_the_autoscalers_image_has_the_clusters_minor() -> None:
    for version in ("1.32", "1.35", "1.36"):
        made = plan({"kubernetesVersion": version, "autoscaling": {"use": "cluster-autoscaler"}}).autoscaling
        assert made.cluster_autoscaler is not None
        assert made.cluster_autoscaler.image_tag.startswith(f"v{version}.")


def test_on_the_way_to_karpenter_the_old_groups_come_last_but_the_controllers_own() -> None:
    made = autoscaling(use="karpenter", migrateFrom="cluster-autoscaler")
    assert made.use is Autoscaler.KARPENTER
    assert made.karpenter is not None
    assert made.cluster_autoscaler is not None
    assert made.karpenter.controller_group == "web"
    assert made.cluster_autoscaler.cordoned == ("batch-arm", "web-arm")
    priorities = {row.group: row.priority for row in made.cluster_autoscaler.priorities}
    assert priorities == {"web": 30, "batch-arm": CORDONED_PRIORITY, "web-arm": CORDONED_PRIORITY}
    assert made.cluster_autoscaler.scale_up_delay_seconds == SCALE_UP_DELAY
    assert [pool.weight for pool in made.karpenter.pools] == [90, 70, 50, 30]


def test_on_the_way_from_karpenter_its_pools_come_last_and_get_no_new_nodes() -> None:
    made = autoscaling(
        use="cluster-autoscaler",
        migrateFrom="karpenter",
        karpenter={"nodePools": {"general": {"cpuLimit": 64, "memoryLimit": "1Ti"}}},
    )
    assert made.karpenter is not None
    assert made.cluster_autoscaler is not None
    assert [(pool.weight, pool.cpu_limit, pool.memory_limit) for pool in made.karpenter.pools] == [
        (4, 0, None), (3, 0, None), (2, 0, None), (1, 0, None),
    ]  # fmt: skip
    assert made.cluster_autoscaler.cordoned == ()


def test_every_priority_and_weight_is_explained() -> None:
    made = autoscaling(use="karpenter", migrateFrom="cluster-autoscaler")
    rows = {row.key: row for row in made.derived}
    assert len(rows) == len(made.derived), "two rows have one name"
    assert rows["priority of web-arm"].rule == "autoscaler being replaced: lowest priority"
    assert rows["priority of web"].rule == "amd64-on-demand is number 4 in the order"
    assert rows["weight of general-arm64-spot"].value.startswith("90 (")
    written = autoscaling(use="cluster-autoscaler", clusterAutoscaler={"priorities": {"web": 95}})
    assert {row.key: row for row in written.derived}["priority of web"].rule == "set in clusterAutoscaler.priorities"


def test_the_accounts_role_for_spot_is_named_where_karpenter_asks_for_spot_itself() -> None:
    def needed(**words: object) -> list[str]:
        return [row.value for row in autoscaling(**words).derived if row.key == "spot needs"]

    on_demand = {"nodePools": {"general": {"capacityTypes": ["on-demand"]}}}
    assert needed(use="karpenter") == ["AWSServiceRoleForEC2Spot"]
    assert needed(use="karpenter", karpenter=on_demand) == []
    assert needed(use="cluster-autoscaler") == []
    assert needed(use="cluster-autoscaler", migrateFrom="karpenter") == []
    # No policy here lets Karpenter make it, and no stack does.
    place = ArnScope("aws", "eu-west-1", "111122223333", "shop-dev")
    policies = build_karpenter_policies(place, node_role_arn="n", queue_arn="q")
    assert "iam:PassRole" in json.dumps(policies["iam-integration"])
    assert not [name for name, policy in policies.items() if "CreateServiceLinkedRole" in json.dumps(policy)]


def balanced(spot: dict[str, Any], **words: object) -> bool:
    """Whether alike groups are balanced, of two self-managed ones of which ``spot`` changes the second."""
    own = {"kind": "self-managed", "instanceTypes": ["m7g.large", "m6g.large"]}
    groups = {"nodeGroups": {"one": own, "two": {**own, **spot}}}
    made = plan(merged(groups, {"autoscaling": {"use": "cluster-autoscaler", **words}})).autoscaling.cluster_autoscaler
    assert made is not None
    return made.balance_similar


def test_groups_that_are_alike_share_what_is_added_unless_one_of_them_is_preferred() -> None:
    assert balanced({})
    # Spot comes first, and nothing on a self-managed node says that it is spot.
    assert not balanced({"capacityType": "spot"})
    assert not balanced({}, clusterAutoscaler={"priorities": {"one": 80}})


@pytest.mark.parametrize("label", ["lifecycle", "k8s.amazonaws.com/eniConfig", "alpha.eksctl.io/nodegroup-name"])
def test_labels_that_the_autoscaler_ignores_make_no_difference(label: str) -> None:
    assert not balanced({"capacityType": "spot", "labels": {label: "spot"}})
    assert balanced({"labels": {label: "other"}})


def test_stack_explain_says_which_groups_turn_balancing_off() -> None:
    own = {"kind": "self-managed", "instanceTypes": ["m7g.large"]}
    words = {
        "nodeGroups": {"one": own, "two": {**own, "capacityType": "spot"}},
        "autoscaling": {"use": "cluster-autoscaler"},
    }
    rows = {row.key: (row.value, row.rule) for row in plan(words).autoscaling.derived}
    assert rows["balancing of similar groups"] == ("off", "one and two are similar and have different priorities")


def test_groups_of_different_priorities_that_are_not_alike_keep_nobody_from_sharing() -> None:
    assert balanced({"capacityType": "spot", "labels": {"tier": "spot"}})
    assert balanced({"capacityType": "spot", "instanceTypes": ["c7g.large", "c6g.large"]})
    # EKS labels managed nodes with their capacity type.
    assert balanced({"capacityType": "spot", "kind": "managed"})
    both = {"kind": "managed", "capacityType": "spot"}
    assert balanced(both, clusterAutoscaler={"priorities": {"one": 80}})
