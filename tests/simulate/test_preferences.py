"""Karpenter's preferences and topology domains, simulated: what it tries first, and what it drops in which order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from multiarch.scheduling.pods import read_pods
from multiarch.simulate.pools import relax_spec
from tests.scheduling.manifests import expression, required
from tests.simulate.simulated import TOLERANT, answer, got, group, of, pods, pooled, run

XLARGE: dict[str, Any] = {"sizes": ["xlarge"]}
LIMITED: dict[str, Any] = {**XLARGE, "cpuLimit": 4}
ARCHITECTURE, CAPACITY, HOST = "kubernetes.io/arch", "karpenter.sh/capacity-type", "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
HALF: dict[str, Any] = {"cpu": "1500m", "memory": "1Gi"}
"""Two of them fill a node of four vCPUs."""
BIG: dict[str, Any] = {"cpu": "3", "memory": "4Gi"}
SPOT, ON_DEMAND = "general-arm64-spot", "general-arm64-on-demand"
AMD64_SPOT = "general-amd64-spot"
# The controller's nodes, two t3.medium, would take small pods in: none of these tests is about them.
ELSEWHERE = expression("node.kubernetes.io/instance-type", "NotIn", "t3.medium")


def preferred(kind: str, key: str, *, weight: int = 100, app: str = "api") -> dict[str, Any]:
    """Preferred ``podAffinity`` or ``podAntiAffinity`` to pods of a workload."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]}}


def rule(kind: str, key: str, *, app: str = "api") -> dict[str, Any]:
    """Required ``podAffinity`` or ``podAntiAffinity`` to pods of a workload."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(key: str, action: str = "DoNotSchedule", **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "api"}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector, **more}
    return {"topologySpreadConstraints": [constraint]}


def off_the_controllers_nodes(affinity: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"affinity": {**required([ELSEWHERE]), **(affinity or {})}, **TOLERANT}


@pytest.mark.parametrize(
    ("affinity", "count", "nodes"),
    [
        pytest.param({}, 2, {SPOT: 1}, id="no preference"),
        pytest.param(
            preferred("podAntiAffinity", HOST, app="other"), 2, {SPOT: 1}, id="apart from pods that do not exist"
        ),
        # The first node can start in any zone, so no zone is free of it and the preference is dropped at once.
        pytest.param(preferred("podAntiAffinity", ZONE), 2, {SPOT: 1}, id="apart by zone"),
        pytest.param(
            preferred("podAntiAffinity", ARCHITECTURE), 2, {SPOT: 1, AMD64_SPOT: 1}, id="apart by architecture"
        ),
        pytest.param(preferred("podAffinity", HOST), 3, {SPOT: 2}, id="together by host, more than there is room"),
    ],
)
def test_a_preference_about_other_pods_is_a_rule_until_nothing_meets_it(
    affinity: Mapping[str, Any], count: int, nodes: Mapping[str, int]
) -> None:
    result = run(pooled({"general": XLARGE}), pods(count=count, **HALF, **off_the_controllers_nodes(affinity)))
    assert result.unplaced == 0
    assert {each.name: each.new for each in result.groups if each.new} == nodes


def test_preferred_anti_affinity_takes_all_pools_to_their_limits_before_it_is_dropped() -> None:
    words = pooled({"general": {**LIMITED, "capacityTypes": ["spot"]}})
    result = run(words, pods(count=4, **HALF, **off_the_controllers_nodes(preferred("podAntiAffinity", HOST))))
    assert (got(result), result.unplaced) == ({SPOT: 2, AMD64_SPOT: 2}, 0)


def asked(affinity: Mapping[str, Any], **spec: Any) -> list[tuple[str, ...]]:
    """What each way of requesting a pod still minds, as words."""
    (pod,) = read_pods([pods(affinity=affinity, **spec)])
    found = []
    for relaxed, soft_taints in relax_spec(pod.spec, soft_taints=True):
        terms = relaxed.affinity.required or ()
        words = [str(each.values[0]) for term in terms for each in term.expressions]
        words += [f"near {term.topology_key}" for term in relaxed.pod_affinity]
        words += [f"away {term.topology_key}" for term in relaxed.pod_anti_affinity]
        words += [f"spread {each.topology_key}" for each in relaxed.spread]
        assert all(each.hard for each in relaxed.spread)
        found.append((*words, *(["taints"] if soft_taints else [])))
    return found


def liked(*preferences: tuple[int, str]) -> dict[str, Any]:
    written = [
        {"weight": weight, "preference": {"matchExpressions": [expression(ARCHITECTURE, "In", value)]}}
        for weight, value in preferences
    ]
    return {"preferredDuringSchedulingIgnoredDuringExecution": written}


def test_preferences_are_dropped_in_karpenters_order() -> None:
    terms = required([expression(ARCHITECTURE, "In", "one")], [expression(ARCHITECTURE, "In", "two")])
    affinity = {
        "nodeAffinity": {**terms["nodeAffinity"], **liked((1, "light"), (50, "heavy"))},
        **preferred("podAffinity", ZONE),
        **preferred("podAntiAffinity", HOST),
    }
    constraints = [
        *spread(ZONE, "ScheduleAnyway")["topologySpreadConstraints"],
        *spread(CAPACITY)["topologySpreadConstraints"],
        *spread(HOST, "ScheduleAnyway")["topologySpreadConstraints"],
    ]
    near, away = f"near {ZONE}", f"away {HOST}"
    zone, capacity, host = f"spread {ZONE}", f"spread {CAPACITY}", f"spread {HOST}"
    assert asked(affinity, topologySpreadConstraints=constraints) == [
        ("one", "heavy", near, away, zone, capacity, host, "taints"),
        ("two", "heavy", near, away, zone, capacity, host, "taints"),
        ("two", "heavy", away, zone, capacity, host, "taints"),
        ("two", "heavy", zone, capacity, host, "taints"),
        ("two", "light", zone, capacity, host, "taints"),
        ("two", zone, capacity, host, "taints"),
        # The last constraint takes the place of the one that goes.
        ("two", host, capacity, "taints"),
        ("two", capacity, "taints"),
        ("two", capacity),
    ]


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_of_preferences_about_pods_the_one_with_the_highest_weight_goes_first(kind: str) -> None:
    light, heavy = (
        preferred(kind, key, weight=weight)[kind]["preferredDuringSchedulingIgnoredDuringExecution"][0]
        for key, weight in ((HOST, 5), (ZONE, 90))
    )
    word = {"podAffinity": "near", "podAntiAffinity": "away"}[kind]
    affinity = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [light, heavy]}}
    assert asked(affinity) == [
        (f"{word} {ZONE}", f"{word} {HOST}", "taints"),
        (f"{word} {HOST}", "taints"),
        ("taints",),
        (),
    ]


@pytest.mark.parametrize(
    ("label", "value", "pool"),
    [
        ("beta.kubernetes.io/arch", "arm64", SPOT),
        ("beta.kubernetes.io/instance-type", "m7i.xlarge", AMD64_SPOT),
        ("beta.kubernetes.io/os", "linux", SPOT),
        ("failure-domain.beta.kubernetes.io/zone", "eu-west-1b", SPOT),
    ],
)
def test_old_names_of_labels_mean_the_new_ones(label: str, value: str, pool: str) -> None:
    affinity = required([expression(label, "In", value)])
    assert got(run(pooled({"general": XLARGE}), pods(**BIG, affinity=affinity, **TOLERANT))) == {pool: 1}


@pytest.mark.parametrize(
    ("key", "count", "expected"),
    [
        (ARCHITECTURE, 3, {SPOT: 2, AMD64_SPOT: 1}),
        (CAPACITY, 3, {SPOT: 2, ON_DEMAND: 1}),
        ("kubernetes.io/os", 3, {SPOT: 3}),
        ("example.com/tier", 2, {SPOT: 2}),
    ],
)
def test_pods_are_spread_over_the_values_of_labels_that_pools_set(
    key: str, count: int, expected: Mapping[str, int]
) -> None:
    pool = {**XLARGE, "labels": {"example.com/tier": "web"}}
    result = run(pooled({"general": pool}), pods(count=count, **BIG, **spread(key), **TOLERANT))
    assert (got(result), result.unplaced) == (expected, 0)


@pytest.mark.parametrize("key", ["karpenter.sh/nodepool", "karpenter.k8s.aws/instance-family"])
@pytest.mark.parametrize("kind", ["spread", "podAffinity", "podAntiAffinity"])
def test_karpenter_rejects_topology_keys_that_it_does_not_know(key: str, kind: str) -> None:
    rules = spread(key) if kind == "spread" else {"affinity": rule(kind, key)}
    result = run(pooled({"general": XLARGE}), pods(**BIG, **rules, **TOLERANT))
    assert result.unplaced == 1
    assert answer(result, SPOT).reason == f"Karpenter knows no values of the topology key {key}"
    soft = spread(key, "ScheduleAnyway") if kind == "spread" else {"affinity": preferred(kind, key)}
    assert run(pooled({"general": XLARGE}), pods(**BIG, **soft, **TOLERANT)).unplaced == 0


@pytest.mark.parametrize("rules", [spread(CAPACITY), {"affinity": rule("podAffinity", CAPACITY)}])
def test_a_rule_about_another_label_leaves_both_architectures_and_all_zones_open(rules: Mapping[str, Any]) -> None:
    pool = {"families": ["m7g", "m7i"], **XLARGE, "multiArchitecture": True}
    others = [
        pods(f"zone-{zone}", cpu="100m", nodeSelector={ZONE: f"eu-west-1{zone}", ARCHITECTURE: "arm64"}, **TOLERANT)
        for zone in "abc"
    ]
    for other in others:
        result = run(pooled({"general": pool}), pods(**BIG, **rules, **TOLERANT), other)
        assert (result.unplaced, sum(each.new for each in result.groups)) == (0, 1)


def test_a_spread_needs_a_domain_that_its_pool_has() -> None:
    result = run(pooled({"general": XLARGE}), pods(**BIG, **spread("example.com/rack"), **TOLERANT))
    assert (result.unplaced, got(result)) == (1, {})
    soft = pods(**BIG, **spread("example.com/rack", "ScheduleAnyway"), **TOLERANT)
    assert got(run(pooled({"general": XLARGE}), soft)) == {SPOT: 1}


@pytest.mark.parametrize(
    ("zones", "nodes"),
    [
        pytest.param([], 1, id="any zone"),
        pytest.param(["eu-west-1a", "eu-west-1b", "eu-west-1c"], 1, id="all zones"),
        pytest.param(["eu-west-1a", "eu-west-1b"], 2, id="two of three zones"),
        pytest.param(["eu-west-1b"], 2, id="one zone"),
    ],
)
def test_pods_stay_out_of_every_zone_that_a_planned_node_may_come_up_in(zones: list[str], nodes: int) -> None:
    """``api`` is planned first; ``guard`` would be apart from it, and gives that up where no zone is sure."""
    chosen = required([expression(ZONE, "In", *zones)]) if zones else {}
    first = pods(cpu="2", memory="1Gi", affinity={**chosen}, **TOLERANT)
    away = pods("guard", **HALF, **off_the_controllers_nodes(preferred("podAntiAffinity", ZONE)))
    assert group(run(pooled({"general": XLARGE}), first, away), SPOT).new == nodes


def test_where_a_rule_keeps_them_out_of_every_zone_they_wait_for_the_node_to_start() -> None:
    first = pods(cpu="2", memory="1Gi", **TOLERANT)
    away = pods("guard", **HALF, **off_the_controllers_nodes(rule("podAntiAffinity", ZONE)))
    result = run(pooled({"general": XLARGE}), first, away)
    assert (group(result, SPOT).new, result.unplaced) == (2, 0)


@pytest.mark.parametrize(
    ("prefer", "chosen", "instance_type"),
    [
        ("arm64", None, "m7g.xlarge"),
        ("arm64", "amd64", "m7i.xlarge"),
        ("amd64", "arm64", "m7g.xlarge"),
    ],
)
def test_a_pool_of_both_names_a_type_of_the_preferred_architecture_unless_pods_decide(
    prefer: str, chosen: str | None, instance_type: str
) -> None:
    pool = {"families": ["m7g", "m7i"], **XLARGE, "multiArchitecture": True}
    selector = {ARCHITECTURE: chosen} if chosen else {}
    result = run(pooled({"general": pool}, prefer=prefer), pods(**BIG, nodeSelector=selector, **TOLERANT))
    assert dict(group(result, "general-spot").instance_types) == {instance_type: 1}
    (place,) = of(result).places
    assert place.architectures == ((chosen,) if chosen else ("amd64", "arm64"))
