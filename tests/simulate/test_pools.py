"""Karpenter's rules, simulated: which NodePool makes a node for which pods, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scheduling.manifests import container, expression, required
from tests.simulate.simulated import TOLERANT, answer, got, group, grown, of, pods, pooled, run
from tests.stack.words import AUTO_MODE, merged

XLARGE: dict[str, Any] = {"general": {"sizes": ["xlarge"]}}
KINDS = ("general-arm64-spot", "general-arm64-on-demand", "general-amd64-spot", "general-amd64-on-demand")
ARCHITECTURE, CAPACITY = "kubernetes.io/arch", "karpenter.sh/capacity-type"
BIG: dict[str, Any] = {"cpu": "3", "memory": "4Gi"}
"""More than the controller's nodes have."""


def prefers(*preferences: tuple[int, str]) -> dict[str, Any]:
    written = [
        {"weight": weight, "preference": {"matchExpressions": [expression(ARCHITECTURE, "In", value)]}}
        for weight, value in preferences
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": written}}}


def apart(key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "api"}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(key: str, action: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "api"}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def test_the_highest_weight_that_a_pod_tolerates_gets_it() -> None:
    result = run(pooled(XLARGE), pods("api", **BIG, **TOLERANT), pods("old", **BIG))
    assert got(result) == {"general-arm64-spot": 1}
    assert got(result, "old") == {"general-amd64-spot": 1}
    assert answer(result, "general-arm64-spot", "old").reason == "does not tolerate arch=arm64:NoSchedule"
    assert answer(result, "general-amd64-on-demand", "old").reason == "weight 30 below general-amd64-spot's 50"
    assert [answer(result, name).rank for name in KINDS] == [1, 2, 3, 4]


def test_pods_that_request_efa_interfaces_get_an_instance_type_with_as_many() -> None:
    wanted: dict[str, Any] = {"containers": [container({"cpu": "1", "memory": "1Gi", "vpc.amazonaws.com/efa": 2})]}
    result = run(pooled({"general": {"families": ["c8gn", "m7g", "m7i"]}}), pods("api", **wanted, **TOLERANT))
    (bought,) = group(result, "general-arm64-spot").instance_types
    assert bought.instance_type in ("c8gn.48xlarge", "c8gn.metal-48xl")
    assert not any("vpc.amazonaws.com/efa" in note for note in result.notes)


def test_eks_auto_mode_chooses_as_karpenter_does_from_the_types_that_it_launches() -> None:
    words = merged(AUTO_MODE, {"autoscaling": {"autoMode": {"nodePools": XLARGE}}})
    chosen: dict[str, Any] = {"nodeSelector": {"eks.amazonaws.com/instance-family": "m7i"}}
    result = run(words, pods("api", **BIG, **TOLERANT), pods("old", **BIG), pods("intel", **BIG, **chosen))
    assert got(result) == {"general-arm64-spot": 1}
    assert got(result, "old") == {"general-amd64-spot": 1}
    assert got(result, "intel") == {"general-amd64-spot": 1}
    assert group(result, "general-amd64-spot").scaled_by == "auto-mode"
    # As small as can be: the smallest types of one vCPU are not launched.
    small = run(AUTO_MODE, pods("api", cpu="100m", memory="64Mi", **TOLERANT))
    (bought,) = group(small, "general-arm64-spot").instance_types
    assert bought.instance_type.endswith(".large")


def test_a_pod_for_windows_gets_no_node_from_either_autoscaler() -> None:
    for words in (pooled(XLARGE), grown({"general": {"instanceTypes": ["m7i.xlarge"]}})):
        result = run(words, pods(os={"name": "windows"}))
        assert got(result) == {}
        reasons = {each.reason for each in of(result).answers}
        assert reasons == {"os.name requires windows, and the nodes run Linux"}


def test_at_its_limit_a_pool_makes_way_for_the_next() -> None:
    result = run(pooled({"general": {"sizes": ["xlarge"], "cpuLimit": 8}}), pods(count=5, **BIG, **TOLERANT))
    assert got(result) == {"general-arm64-spot": 2, "general-arm64-on-demand": 2, "general-amd64-spot": 1}
    assert answer(result, "general-arm64-spot").reason.startswith("limit cpu 8 reached")


def test_a_limit_on_memory_counts_too() -> None:
    result = run(
        pooled({"general": {"families": ["m7g"], "architectures": ["arm64"], "sizes": ["xlarge"],
                            "memoryLimit": "16Gi"}}),
        pods(count=3, **BIG, **TOLERANT),
    )  # fmt: skip
    assert got(result) == {"general-arm64-spot": 1, "general-arm64-on-demand": 1}
    assert result.unplaced == 1
    assert answer(result, "general-arm64-spot").reason.startswith("limit memory 16Gi reached")


def test_a_planned_node_counts_as_its_largest_type_until_it_is_there() -> None:
    sizes = pooled({"general": {"sizes": ["xlarge", "8xlarge"], "cpuLimit": 40, "capacityTypes": ["on-demand"]}})
    result = run(sizes, pods(count=2, **BIG, **apart("kubernetes.io/hostname"), **TOLERANT))
    assert got(result) == {"general-arm64-on-demand": 2}
    three = run(sizes, pods(count=4, **BIG, **apart("kubernetes.io/hostname"), **TOLERANT))
    assert got(three)["general-amd64-on-demand"] == 1
    assert "largest instance type that it can become" in answer(three, "general-arm64-on-demand").reason


def test_pods_are_packed_together_and_the_smallest_type_that_holds_them_is_named() -> None:
    result = run(pooled({"general": {"families": ["m7g", "m7i"]}}), pods(count=9, **BIG, **TOLERANT))
    outcome = group(result, "general-arm64-spot")
    assert (outcome.new, dict(outcome.instance_types)) == (1, {"m7g.8xlarge": 1})


def test_a_node_planned_for_other_pods_is_filled_whatever_its_weight() -> None:
    result = run(
        pooled({"general": {"families": ["m7g", "m7i"]}}),
        pods("old", cpu="8", memory="8Gi"),
        pods("api", **BIG, **TOLERANT),
    )
    assert got(result) == {"general-amd64-spot": 1}
    assert "has room, and planned nodes are filled first" in answer(result, "general-arm64-spot").reason


def test_of_several_required_terms_the_first_is_tried_in_all_pools() -> None:
    terms = required([expression(ARCHITECTURE, "In", "amd64")], [expression(ARCHITECTURE, "In", "arm64")])
    result = run(pooled(XLARGE), pods(**BIG, affinity=terms, **TOLERANT))
    assert got(result) == {"general-amd64-spot": 1}
    assert "Karpenter tries the affinity term or preference first that" in answer(result, "general-arm64-spot").reason
    on_arm = required([expression(ARCHITECTURE, "In", "s390x")], [expression(ARCHITECTURE, "In", "arm64")])
    assert got(run(pooled(XLARGE), pods(**BIG, affinity=on_arm, **TOLERANT))) == {"general-arm64-spot": 1}


def test_a_preference_is_required_at_first_and_dropped_when_nothing_meets_it() -> None:
    liking = pods(**BIG, **prefers((1, "arm64"), (50, "amd64")), **TOLERANT)
    assert got(run(pooled(XLARGE), liking)) == {"general-amd64-spot": 1}
    impossible = pods(**BIG, **prefers((50, "s390x")), **TOLERANT)
    assert got(run(pooled(XLARGE), impossible)) == {"general-arm64-spot": 1}


def test_pods_apart_by_zone_are_as_many_as_there_are_zones() -> None:
    result = run(pooled(XLARGE), pods(count=4, **BIG, **apart("topology.kubernetes.io/zone"), **TOLERANT))
    assert (group(result, "general-arm64-spot").new, result.unplaced) == (3, 1)
    assert answer(result, "general-arm64-spot").reason.startswith("pod anti-affinity term 1")


@pytest.mark.parametrize("action", ["DoNotSchedule", "ScheduleAnyway"])
def test_spread_over_zones_makes_a_node_in_each(action: str) -> None:
    result = run(
        pooled({"general": {}}), pods(count=6, **BIG, **spread("topology.kubernetes.io/zone", action), **TOLERANT)
    )
    assert group(result, "general-arm64-spot").new == 3


def test_a_spread_over_hosts_is_kept_even_where_it_is_a_preference() -> None:
    hosts = spread("kubernetes.io/hostname", "ScheduleAnyway")
    assert group(run(pooled({"general": {}}), pods(count=4, **BIG, **hosts, **TOLERANT)), "general-arm64-spot").new == 4


def test_daemon_sets_are_counted_on_planned_nodes() -> None:
    agent = pods("agent", cpu="1500m", tolerations=[{"operator": "Exists"}]) | {"kind": "DaemonSet"}
    result = run(pooled(XLARGE), pods(**BIG, **TOLERANT), agent)
    assert result.unplaced == 1
    assert answer(result, "general-arm64-spot").reason == "too large for its instance types, DaemonSets included"


def test_pods_of_daemon_sets_and_bound_pods_are_omitted() -> None:
    bound = pods()["spec"]["template"] | {"kind": "Pod"}
    bound = {**bound, "metadata": {"name": "bound"}, "spec": {**bound["spec"], "nodeName": "ip-10-0-0-1"}}
    assert run(pooled(XLARGE), bound).omitted == (("already on a node, or finished", 1),)


def test_in_a_migration_the_new_autoscaler_comes_first_and_the_old_adds_nothing() -> None:
    words = pooled(XLARGE, migrateFrom="cluster-autoscaler")
    result = run(words, pods(**BIG, **TOLERANT))
    assert got(result) == {"general-arm64-spot": 1}
    assert "t3.medium" not in dict(group(result, "web").instance_types)


def test_a_pool_that_is_being_left_says_that_it_is_closed_whether_pods_got_a_node_or_not() -> None:
    words = pooled(XLARGE, use="cluster-autoscaler", migrateFrom="karpenter")
    words = merged(words, {"nodeGroups": {"web": {"instanceTypes": ["m7i.xlarge"], "maxSize": 3}}})
    few, many = run(words, pods(count=3, **BIG, **TOLERANT)), run(words, pods(count=9, **BIG, **TOLERANT))
    assert (few.unplaced, many.unplaced) == (0, 6)
    for result in (few, many):
        assert {answer(result, name).reason for name in KINDS} == {"closed: limit cpu is 0"}


def test_a_pod_above_the_whole_limit_has_not_reached_it() -> None:
    large: dict[str, Any] = {"cpu": "12", "memory": "4Gi"}
    result = run(pooled({"general": {"sizes": ["4xlarge"], "cpuLimit": 16}}), pods(**large, **TOLERANT))
    assert result.unplaced == 0
    words = pooled({"general": {"sizes": ["xlarge", "4xlarge"], "cpuLimit": 8, "memoryLimit": "64Gi"}})
    result = run(words, pods(**large, **TOLERANT))
    assert {answer(result, name).reason for name in KINDS} == {"limit cpu 8 is less than the pod's 12"}
    words = pooled({"general": {"sizes": ["xlarge", "4xlarge"], "memoryLimit": "8Gi"}})
    result = run(words, pods(cpu="12", memory="12Gi", **TOLERANT))
    assert {answer(result, name).reason for name in KINDS} == {"limit memory 8Gi is less than the pod's 12Gi"}


def test_where_karpenter_decides_otherwise_is_said_where_the_documentation_says_it_is() -> None:
    both, unknown = "NodePool of two architectures", "not known before a node exists"
    plain = run(pooled({"any": {"cpuLimit": 64}}), pods())
    text = "\n".join(plain.notes)
    assert [each for each in (both, unknown) if each in text] == []
    assert of(plain).notes == ()

    port = {"name": "a", "image": "a", "ports": [{"containerPort": 80, "hostPort": 80}]}
    special = pods(nodeSelector={"karpenter.k8s.aws/instance-cpu-manufacturer": "aws"}, initContainers=[port])
    result = run(pooled({"any": {"cpuLimit": 64, "multiArchitecture": True}}), special)
    text = "\n".join(result.notes)
    assert both in text
    assert unknown in text
    assert "host ports" not in text
    assert [note for note in of(result).notes if note.startswith("host ports")]


def test_a_pool_for_both_architectures_takes_either() -> None:
    both = pooled({"general": {"multiArchitecture": True, "sizes": ["xlarge"]}})
    result = run(both, pods(**BIG, **TOLERANT), pods("old", **BIG))
    assert got(result) == {"general-spot": 1}
    assert of(result, "old").unplaced == ("old-0",)


def test_karpenter_does_not_spread_over_a_deprecated_label() -> None:
    key = "failure-domain.beta.kubernetes.io/zone"
    result = run(pooled(XLARGE), pods(**BIG, **TOLERANT, **spread(key, "DoNotSchedule")))
    assert result.unplaced == 1
    placed = run(pooled(XLARGE), pods(**BIG, **TOLERANT, nodeSelector={key: "eu-west-1a"}))
    assert got(placed) == {"general-arm64-spot": 1}
