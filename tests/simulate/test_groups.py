"""The cluster autoscaler's rules, simulated: which group grows for which pods, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scheduling.manifests import ZONES, expression, required
from tests.simulate.simulated import TOLERANT, answer, got, group, grown, of, pods, run

LARGE: dict[str, Any] = {
    "arm-spot": {"instanceTypes": ["m7g.large"], "capacityType": "spot"},
    "arm": {"instanceTypes": ["m7g.large"]},
    "amd-spot": {"instanceTypes": ["m7i.large"], "capacityType": "spot"},
    "amd": {"instanceTypes": ["m7i.large"]},
}
NAMED: dict[str, Any] = {"network": {"zones": list(ZONES)}}
ARCHITECTURE = "kubernetes.io/arch"


def spread(name: str = "api", **more: Any) -> list[dict[str, Any]]:
    constraint = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    return [{**constraint, "labelSelector": {"matchLabels": {"app": name}}, **more}]


def test_a_pod_that_tolerates_arm64_gets_it_on_spot_capacity() -> None:
    result = run(grown(LARGE), pods(**TOLERANT))
    assert got(result) == {"arm-spot": 1}
    assert [each.rank for each in of(result).answers] == [1, 2, 3, 4]
    assert answer(result, "amd").reason == "priority 30 below arm-spot's 90"


def test_a_pod_without_the_toleration_gets_amd64_and_is_told_why() -> None:
    result = run(grown(LARGE), pods())
    assert got(result) == {"amd-spot": 1}
    assert answer(result, "arm-spot").reason == "does not tolerate arch=arm64:NoSchedule"
    assert answer(result, "arm-spot").rank is None
    assert answer(result, "amd-spot").rank == 1


def test_a_group_at_its_maximum_is_out_and_the_next_priority_takes_over() -> None:
    words = grown(LARGE | {"arm-spot": {**LARGE["arm-spot"], "maxSize": 2}})
    result = run(words, pods(count=5, **TOLERANT))
    assert got(result) == {"arm-spot": 2, "arm": 3}
    assert answer(result, "arm-spot").reason == "at its maxSize 2"
    assert (group(result, "arm-spot").new, group(result, "arm").new) == (2, 3)


def test_pods_that_nobody_has_room_for_stay_without_a_node() -> None:
    words = grown({"amd": {"instanceTypes": ["m7i.large"], "maxSize": 2}})
    result = run(words, pods(count=3))
    assert (got(result), of(result).unplaced, result.unplaced) == ({"amd": 2}, ("api-2",), 1)


def test_a_written_priority_counts_and_the_least_waste_decides_among_equals() -> None:
    sizes = {"small": {"instanceTypes": ["m7i.large"]}, "big": {"instanceTypes": ["m7i.4xlarge"]}}
    result = run(grown(sizes), pods())
    assert got(result) == {"small": 1}
    assert answer(result, "big").reason == "same priority, but its nodes would waste more than those of small"
    assert got(run(grown(sizes), pods(count=15))) == {"big": 15}
    written = grown(sizes, clusterAutoscaler={"priorities": {"big": 95}})
    assert got(run(written, pods())) == {"big": 1}
    assert answer(run(written, pods()), "small").reason == "priority 30 below big's 95"


def test_required_affinity_is_named_by_its_term() -> None:
    terms = required([expression(ARCHITECTURE, "In", "s390x")], [expression(ARCHITECTURE, "In", "amd64")])
    result = run(grown(LARGE), pods(affinity=terms, **TOLERANT))
    assert got(result) == {"amd-spot": 1}
    reason = answer(result, "arm").reason
    assert "architecture s390x required by affinity term 1" in reason
    assert "architecture amd64 required by affinity term 2" in reason


def test_daemon_sets_take_their_part_of_every_new_node() -> None:
    agent = pods("agent", cpu="1", memory="1Gi") | {"kind": "DaemonSet"}
    words = grown({"amd": {"instanceTypes": ["m7i.large"], "maxSize": 5}})
    assert got(run(words, pods(count=2, cpu="900m"))) == {"amd": 2}
    assert group(run(words, pods(count=2, cpu="900m")), "amd").new == 1
    result = run(words, pods(count=2, cpu="900m"), agent)
    assert (group(result, "amd").new, group(result, "amd").cpu_requested) == (2, 3800)
    result = run(words, pods(cpu="1500m"), agent)
    assert result.unplaced == 1
    assert "DaemonSets included: cpu: 1.5 requested, 930m available" in answer(result, "amd").reason


@pytest.mark.parametrize(("zone", "new"), [(ZONES[0], 1), (ZONES[1], 0)])
def test_an_empty_group_of_several_zones_grows_for_its_first_zone_alone(zone: str, new: int) -> None:
    result = run(grown({"amd": LARGE["amd"]}), pods(nodeSelector={"topology.kubernetes.io/zone": zone}))
    assert (group(result, "amd").new, result.unplaced) == (new, 1 - new)
    if not new:
        assert answer(result, "amd").reason == (
            f"the autoscaler expects new nodes in {ZONES[0]}, its first zone: "
            f"nodeSelector requires topology.kubernetes.io/zone={ZONES[1]}"
        )


@pytest.mark.parametrize(("priority", "new"), [(-10, 2), (-11, 0)])
def test_pods_below_the_cutoff_get_no_new_nodes(priority: int, new: int) -> None:
    result = run(grown({"amd": LARGE["amd"]}), pods(count=2, cpu="1500m", priority=priority))
    assert (group(result, "amd").new, result.unplaced) == (new, 2 - new)
    if not new:
        why = "priority -11 is below -10: the cluster autoscaler adds no nodes for such pods"
        assert answer(result, "amd").reason == why


def test_similar_groups_share_new_nodes() -> None:
    result = run(grown({"one": LARGE["amd"], "two": LARGE["amd"]}), pods(count=7, cpu="1500m"))
    assert got(result) == {"one": 4, "two": 3}
    # Two nodes of the same type that differ in max pods are not similar.
    result = run(grown({"one": LARGE["amd"], "two": {**LARGE["amd"], "maxPods": 20}}), pods(count=7, cpu="1500m"))
    assert sorted(got(result).values()) == [7]


def test_no_new_nodes_are_shared_over_two_priorities() -> None:
    own: dict[str, Any] = {"instanceTypes": ["m7i.large"], "kind": "self-managed"}
    groups = {
        "on-demand": {**own, "labels": {"lifecycle": "normal"}},
        "spot": {**own, "capacityType": "spot", "labels": {"lifecycle": "spot"}},
    }
    result = run(grown(groups), pods(count=8, cpu="1500m"))
    assert got(result) == {"spot": 8}
    assert any("on-demand and spot are similar and have different priorities" in note for note in result.notes)
    groups["spot"]["labels"] = {"tier": "spot"}
    assert not any("are similar" in note for note in run(grown(groups), pods()).notes)


def test_groups_that_took_some_pods_say_why_they_took_no_more() -> None:
    there = {"amd": {"instanceTypes": ["m7i.large"], "minSize": 2, "maxSize": 2}}
    alone = grown(there) | {"autoscaling": {"use": "none"}}
    full = "no room left on its 2 nodes, and no autoscaler adds nodes"
    assert (answer(run(alone, pods(count=5)), "amd").pods, answer(run(alone, pods(count=5)), "amd").reason) == (2, full)
    assert answer(run(alone, pods(count=2)), "amd").reason == ""
    capped = run(grown(there), pods(count=5))
    assert (got(capped), answer(capped, "amd").reason) == ({"amd": 2}, "at its maxSize 2")
    more = run(grown(there | {"more": {"instanceTypes": ["m7i.large"]}}), pods(count=5))
    assert (got(more), answer(more, "amd").reason) == ({"amd": 2, "more": 3}, "at its maxSize 2")


def test_the_same_reason_on_several_nodes_is_given_once() -> None:
    there = {"amd": {"instanceTypes": ["m7i.xlarge"], "minSize": 4, "maxSize": 4}}
    words = grown(there) | {"autoscaling": {"use": "none"}}
    term = {"labelSelector": {"matchLabels": {"app": "api"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    result = answer(run(words, pods(count=5, affinity=apart)), "amd")
    assert result.reason == (
        "pod anti-affinity term 1: a pod with app=api is in kubernetes.io/hostname already on its 4 nodes, and no "
        "autoscaler adds nodes"
    )


def test_waste_is_what_nobody_asked_for() -> None:
    count = 7
    outcome = group(run(grown({"amd": {"instanceTypes": ["m7i.xlarge"], "maxSize": 40}}), pods(count=count)), "amd")
    assert outcome.cpu_requested == count * 1000
    assert outcome.cpu_allocatable == outcome.new * 3920
    assert outcome.cpu_waste == outcome.cpu_allocatable - outcome.cpu_requested
    assert outcome.memory_waste == outcome.memory_allocatable - count * 2**30


@pytest.mark.parametrize(
    "selector",
    [
        {"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux"},
        {"beta.kubernetes.io/instance-type": "m7i.large"},
        {"failure-domain.beta.kubernetes.io/zone": ZONES[0], "topology.kubernetes.io/region": ZONES[0][:-1]},
        {
            "eks.amazonaws.com/nodegroup": "amd-20251121102233445500000003",
            "eks.amazonaws.com/capacityType": "ON_DEMAND",
        },
    ],
)
def test_labels_that_nodes_get_from_the_kubelet_aws_and_eks_make_a_group_grow(selector: dict[str, str]) -> None:
    result = run(grown({"amd": LARGE["amd"], "amd-spot": LARGE["amd-spot"]}), pods(nodeSelector=selector))
    assert sum(got(result).values()) == 1
    assert got(result).get("amd") or "eks.amazonaws.com/nodegroup" not in selector
    assert not any("not known before a node exists" in note for note in result.notes)


def test_a_label_that_a_node_only_gets_once_it_exists_counts_as_missing_and_is_named() -> None:
    image = "eks.amazonaws.com/nodegroup-image"
    result = run(grown({"amd": LARGE["amd"]}), pods(nodeSelector={image: "ami-0123456789abcdef0"}))
    assert result.unplaced == 1
    assert f"Labels whose values are not known before a node exists count as missing: {image}." in result.notes
    terms = required([expression("eks.amazonaws.com/nodegroup", "Exists")])
    assert got(run(grown({"amd": LARGE["amd"]}), pods(affinity=terms))) == {"amd": 1}
