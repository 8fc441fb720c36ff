"""What workloads keep in each failure."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.capacity.model import CapacityFailure
from multiarch.facts.architectures import Architecture
from multiarch.manifests.disruption_budgets import PodCount
from tests.capacity.evaluated import A, B, C, budget, counts, in_failure, of, report
from tests.scheduling.manifests import pod_manifest
from tests.simulate.simulated import NONE, TOLERANT, grown, pods, pooled
from tests.stack.words import merged

AMD64, ARM64 = Architecture.AMD64, Architecture.ARM64
ONE_PER_ZONE = {"instanceTypes": ["m7i.large"], "onePerZone": True}


def test_a_zone_that_fails_is_made_up_for_where_groups_may_grow() -> None:
    result = in_failure(report(grown({"amd": {**ONE_PER_ZONE, "maxSize": 2}}), pods(count=3)), f"zone {B}")
    assert counts(of(result)) == (2, 1, 0)
    assert result.lost == (("amd-b", 1),)
    assert sum(count for _, count in result.added) == 1
    assert not result.short


def test_pods_that_find_no_node_are_pending_until_the_failure_is_over() -> None:
    result = in_failure(report(grown({"amd": {**ONE_PER_ZONE, "maxSize": 1}}), pods(count=3)), f"zone {B}")
    assert counts(of(result)) == (2, 0, 1)
    assert result.short == (of(result),)
    assert not of(result).keeps_minimum


def test_an_auto_scaling_group_replaces_lost_nodes_in_its_other_zones_without_any_autoscaler() -> None:
    words = merged(NONE, {"nodeGroups": {"amd": {"instanceTypes": ["m7i.large"], "minSize": 3, "maxSize": 3}}})
    found = report(words, pods(count=3), failures=[CapacityFailure(zones=(B,)), CapacityFailure(groups=("amd",))])
    in_zone, of_group = found.failures
    assert counts(of(in_zone)) == (2, 1, 0)
    assert in_zone.added == (("amd", 1),)
    assert counts(of(of_group)) == (0, 0, 3)
    assert not of_group.added


def test_pods_for_one_architecture_are_stranded_where_its_nodes_are_lost() -> None:
    words = grown({"amd": {"instanceTypes": ["m7i.large"]}, "arm": {"instanceTypes": ["m7g.large"]}})
    found = report(words, pods("legacy", count=2), pods("modern", count=2, **TOLERANT))
    assert of(found.without_failure, "legacy").architectures == (AMD64,)
    assert of(found.without_failure, "modern").architectures == (AMD64, ARM64)
    lost = in_failure(found, "all amd64")
    assert counts(of(lost, "legacy")) == (0, 0, 2)
    assert of(lost, "modern").pending == 0


def test_spot_of_one_architecture_fails_without_that_of_the_other() -> None:
    spot = {"capacityType": "spot", "maxSize": 4}
    words = grown(
        {
            "amd-spot": {"instanceTypes": ["m7i.large"], **spot},
            "arm-spot": {"instanceTypes": ["m7g.large"], **spot},
            "amd": {"instanceTypes": ["m7i.large"], "maxSize": 1},
        },
    )
    found = report(words, pods(count=2))
    assert in_failure(found, "amd64 spot").lost == (("amd-spot", 2),)
    assert counts(of(in_failure(found, "amd64 spot"))) == (0, 1, 1)
    assert not in_failure(found, "arm64 spot").lost


def test_the_largest_nodes_come_back_where_their_group_is_whole() -> None:
    words = grown({"small": {"instanceTypes": ["m7i.large"]}, "large": {"instanceTypes": ["m7i.4xlarge"]}})
    found = report(words, pods(count=1), pods("big", cpu="12"), failures=[CapacityFailure(largest_nodes=1)])
    (result,) = found.failures
    assert result.lost == (("large", 1),)
    assert counts(of(result, "big")) == (0, 1, 0)
    assert str(result.failure) == "largest node"


def test_karpenter_makes_up_for_a_zone_within_the_limits_of_its_pools() -> None:
    pool = {"capacityTypes": ["on-demand"], "architectures": ["amd64"], "sizes": ["large"]}
    wide, limited = (
        in_failure(report(pooled({"general": {**pool, **more}}), pods(count=6, cpu="1500m")), f"zone {B}")
        for more in ({}, {"cpuLimit": 8})
    )
    # Six pods on two nodes of the controller's group and four of two vCPUs. Lost nodes do not count against the limit.
    assert counts(of(wide)) == counts(of(limited)) == (4, 2, 0)


def test_without_the_group_of_its_controller_karpenter_adds_no_nodes() -> None:
    pool = {"capacityTypes": ["on-demand"], "architectures": ["amd64", "arm64"], "sizes": ["large"]}
    words = pooled({"general": pool})
    both = [CapacityFailure(groups=("web",), largest_nodes=1), CapacityFailure(largest_nodes=1)]
    without, with_controller = report(words, pods(cpu="1500m", count=4), failures=both).failures
    assert of(with_controller).pending == 0
    assert of(without).pending == 3
    assert "Karpenter adds no nodes: its controller runs on web, which is lost" in of(without).limit


def test_pods_without_a_controller_are_gone_with_their_node() -> None:
    found = report(grown({"amd": {"instanceTypes": ["m7i.large"]}}), pod_manifest(containers=[_container("1")]))
    result = in_failure(found, "all amd64")
    assert counts(of(result)) == (0, 0, 1)
    assert not result.short
    assert "no controller replaces its pods" in of(result).limit
    assert [each for each in found.assumptions if "shop Pod/api" in each]


def test_pods_that_tolerate_unreachable_nodes_without_a_limit_stay_there() -> None:
    tolerant: dict[str, Any] = {"tolerations": [{"operator": "Exists"}]}
    found = report(grown({"amd": {"instanceTypes": ["m7i.large"]}}), pods(count=2, **tolerant))
    result = of(in_failure(found, "all amd64"))
    assert result.pending == 2
    assert "keeps 2 of its pods on unreachable nodes" in result.limit
    assert result.change == "set tolerationSeconds"


def test_pods_of_other_workloads_and_daemon_sets_take_their_room() -> None:
    words = merged(NONE, {"nodeGroups": {"amd": {"instanceTypes": ["m7i.large"], "minSize": 2, "maxSize": 2}}})
    agent = {**pods("agent", cpu="600m"), "kind": "DaemonSet"}
    alone, crowded = (
        report(words, pods(count=2), *more, failures=[CapacityFailure(groups=("amd",))]).without_failure
        for more in ((), (agent, pods("other", cpu="600m")))
    )
    assert of(alone).pending == 0
    assert sum(each.pending for each in crowded.workloads) == 1


def test_pods_that_fit_nowhere_are_named_apart_from_failures() -> None:
    found = report(grown({"amd": {"instanceTypes": ["m7i.large"]}}), pods(cpu="3"))
    assert counts(of(found.without_failure)) == (0, 0, 1)
    (warning,) = (each for each in found.warnings if "even when nothing fails" in each)
    assert warning.startswith("shop Deployment/api: 1 of 1 pods get no node even when nothing fails: amd: too large")


@pytest.mark.parametrize(
    ("limits", "least"),
    [
        ({"minAvailable": 2}, 2),
        ({"maxUnavailable": 1}, 2),
        ({"maxUnavailable": "30%"}, 2),
    ],
)
def test_the_minimum_is_that_of_the_budget(limits: dict[str, Any], least: int) -> None:
    words = grown({"amd": {**ONE_PER_ZONE, "maxSize": 1}})
    result = in_failure(report(words, pods(count=3), budget(**limits)), f"zone {B}")
    assert of(result).minimum.pods == least
    assert of(result).minimum.source.startswith("PodDisruptionBudget shop/api: m")
    assert of(result).pending == 1
    assert not result.short


def test_without_a_budget_the_minimum_is_assumed() -> None:
    words = grown({"amd": {**ONE_PER_ZONE, "maxSize": 1}})
    strict, lax = (
        in_failure(report(words, pods(count=3), without_budget=least), f"zone {B}")
        for least in (PodCount(100, percent=True), PodCount(2))
    )
    assert [len(each.short) for each in (strict, lax)] == [1, 0]
    assert of(strict).minimum.source == "no PodDisruptionBudget: 100%"


def test_jobs_may_wait() -> None:
    job = {**pods(), "kind": "Job"}
    found = report(grown({"amd": {"instanceTypes": ["m7i.large"]}}), job)
    assert of(in_failure(found, "all amd64")).minimum.pods == 0
    assert not in_failure(found, "all amd64").short
    assert [each for each in found.assumptions if each.startswith("Pods of Jobs")]


def test_workloads_of_one_budget_keep_its_minimum_together() -> None:
    shared = budget("both", minAvailable=4)
    shared["spec"]["selector"] = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["api", "web"]}]}
    words = grown({"amd": {**ONE_PER_ZONE, "maxSize": 2}})
    (result,) = report(
        words, pods(count=3), pods("web", count=3), shared, failures=[CapacityFailure(zones=(B,))]
    ).failures
    assert sum(each.pending for each in result.workloads) == 2
    assert not result.short
    (worse,) = report(
        words, pods(count=3), pods("web", count=3), shared, failures=[CapacityFailure(zones=(B, C))]
    ).failures
    assert len(worse.short) == 2
    text = "minimum 4 of the 6 pods of 2 workloads (PodDisruptionBudget shop/both: minAvailable 4)"
    assert of(worse).minimum_text == text
    assert {each.lacking for each in worse.short} == {2}


def test_pods_of_one_budget_that_stay_count_together_while_others_move() -> None:
    shared = budget("both", minAvailable=5)
    shared["spec"]["selector"] = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["api", "web"]}]}
    words = grown({"amd": {**ONE_PER_ZONE, "maxSize": 4}})
    (result,) = report(
        words, pods(count=3), pods("web", count=3), shared, failures=[CapacityFailure(zones=(B,))]
    ).failures
    assert [(each.surviving, each.keeps_minimum, each.keeps_minimum_throughout) for each in result.workloads] == [
        (2, True, False),
        (2, True, False),
    ]


def test_waiting_adds_up_detection_toleration_and_the_start_of_a_node() -> None:
    words = grown({"amd": {**ONE_PER_ZONE, "maxSize": 3}})
    toleration = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    hasty: dict[str, Any] = {"tolerations": [{**toleration, "tolerationSeconds": 20}]}
    found = report(words, pods(count=3), pods("hasty", count=3, **hasty), failures=[CapacityFailure(zones=(B,))])
    (result,) = found.failures
    # Two nodes of the zone fail: the second gets its taint ten seconds later.
    assert of(result).wait_seconds == 50 + 10 + 300 + 10 + 90
    assert of(result, "hasty").wait_seconds == 50 + 10 + 20 + 10 + 90


def test_a_pod_that_finds_room_waits_for_no_node() -> None:
    words = grown({"amd": {**ONE_PER_ZONE, "minSize": 2, "maxSize": 2}})
    result = in_failure(report(words, pods(count=3)), f"zone {B}")
    assert of(result).wait_seconds == 50 + 10 + 300
    assert of(result).keeps_minimum
    assert not of(result).keeps_minimum_throughout


def test_a_dump_of_live_pods_is_placed_on_the_nodes_of_the_plan() -> None:
    live = pod_manifest(containers=[_container("1")])
    live["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "api-1", "controller": True}]
    live["spec"]["nodeName"] = "ip-10-0-0-1"
    live["status"] = {"phase": "Running"}
    ended = {**live, "metadata": {**live["metadata"], "name": "old"}, "status": {"phase": "Succeeded"}}
    found = report(grown({"amd": {"instanceTypes": ["m7i.large"]}}), live, ended)
    assert counts(of(found.without_failure, "api-1")) == (1, 0, 0)


def _container(cpu: str) -> dict[str, Any]:
    return {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def test_pods_of_higher_priority_displace_others_whose_pods_then_count_as_pending() -> None:
    words = grown({"amd": {**ONE_PER_ZONE, "maxSize": 1}})
    important = pods("important", priorityClassName="important")
    manifests = (pods("low", count=2), important, priority_class("important", 1000))
    found = report(words, *manifests)
    for result in found.failures[:3]:
        assert of(result, "important").pending == 0
        assert of(result, "low").pending == 1
        for each in result.workloads:
            assert sum(counts(each)) == each.replicas
            assert min(counts(each)) >= 0
    assert found.warnings == ()


def test_an_unknown_priority_class_is_named() -> None:
    found = report(grown({"amd": ONE_PER_ZONE}), pods(priorityClassName="important"), failures=[])
    assert found.warnings == (
        "shop Deployment/api: the PriorityClass important is not in the manifests; its priority counts as 0.",
    )


def test_pods_of_nodes_and_of_daemon_sets_are_no_workloads() -> None:
    owned = [
        pod_manifest(kind, containers=[_container("1")])
        | {"metadata": {"name": kind, "ownerReferences": [{"kind": kind, "name": "a", "controller": True}]}}
        for kind in ("Node", "DaemonSet")
    ]
    found = report(grown({"amd": {"instanceTypes": ["m7i.large"], "maxSize": 1}}), pods(), *owned)
    assert [each.name for each in found.without_failure.workloads] == ["Deployment/api"]
    assert of(found.without_failure).pending == 0


SOFT = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "api"}}}


def stateful(count: int = 3, **more: Any) -> dict[str, Any]:
    made = {**pods("db", count), "kind": "StatefulSet"}
    made["spec"] = {**made["spec"], "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}], **more}
    return made


def test_pods_stay_in_the_zone_of_their_volumes() -> None:
    words = grown({"amd": {**ONE_PER_ZONE, "maxSize": 3}})
    zone, node = report(
        words, stateful(), failures=[CapacityFailure(zones=(B,)), CapacityFailure(largest_nodes=1)]
    ).failures
    assert counts(of(zone, "db")) == (2, 0, 1)
    assert of(zone, "db").limit == "1 pod with volumes in zone eu-west-1b; 2 of 3 pods run"
    assert counts(of(node, "db")) == (2, 1, 0)
    ((group, _),) = node.lost
    assert node.added == ((group, 1),)


@pytest.mark.parametrize(
    ("zones", "change"), [([B, C], "spread new replicas"), ([A], "keep its data in volumes that every zone")]
)
def test_a_spread_is_the_fix_where_more_pods_with_volumes_than_needed_are_in_one_zone(
    zones: list[str], change: str
) -> None:
    first = {"instanceTypes": ["m7i.xlarge"], "zones": [A], "minSize": 1, "maxSize": 2}
    words = grown({"first": first, "rest": {**first, "minSize": 0, "zones": zones}})
    (zone,) = report(words, stateful(), failures=[CapacityFailure(zones=(A,))]).failures
    found = of(zone, "db")
    assert (counts(found), found.limit) == ((0, 0, 3), "3 pods with volumes in zone eu-west-1a; 0 of 3 pods run")
    assert found.change.startswith(change)


@pytest.mark.parametrize(
    ("document", "zones", "named"),
    [
        (pods(count=3), [B], True),
        (pods(count=1), [B], False),
        (pods(count=3), [A], False),
        (pods(count=3, nodeSelector={"topology.kubernetes.io/zone": A}), [B], False),
        (pods(count=3, topologySpreadConstraints=[{**SOFT, "topologyKey": "topology.kubernetes.io/zone"}]), [B], False),
        (pods(count=3, topologySpreadConstraints=[{**SOFT, "topologyKey": "kubernetes.io/hostname"}]), [B], True),
        (stateful(), [B], False),
    ],
    ids=["replicas", "one", "no other zone", "one zone required", "spread", "spread over hosts", "volumes"],
)
def test_workloads_that_one_zone_takes_as_a_whole_are_named_with_the_constraint(
    document: dict[str, Any],
    zones: list[str],
    named: bool,  # noqa: FBT001
) -> None:
    first = {"instanceTypes": ["m7i.2xlarge"], "zones": [A], "minSize": 1, "maxSize": 2}
    words = grown({"first": first, "rest": {**first, "minSize": 0, "zones": zones}})
    found = [each for each in report(words, document, failures=[]).warnings if "all pods are in zone" in each]
    assert [each.split(":")[0] for each in found] == ["shop Deployment/api"] * named
    assert all("--spread-zones DoNotSchedule" in each and "whenUnsatisfiable DoNotSchedule" in each for each in found)


def test_all_groups_are_named_where_volumes_keep_the_pods_of_a_workload_in_several_zones() -> None:
    found = report(grown({"amd": {**ONE_PER_ZONE, "maxSize": 3}}), stateful())
    assert of(in_failure(found, "all amd64"), "db").limit == "lost: amd-a, amd-b, amd-c; 0 of 3 pods run"


def test_volumes_that_can_be_attached_everywhere_hold_no_pod() -> None:
    found = report(grown({"amd": {**ONE_PER_ZONE, "maxSize": 3}}), stateful(), zonal_volumes=False)
    assert counts(of(in_failure(found, f"zone {B}"), "db")) == (2, 1, 0)
    assert [each for each in found.warnings if "volume claim templates" in each]
