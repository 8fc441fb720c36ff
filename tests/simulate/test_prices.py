"""Which instance type Karpenter buys where prices are known: the cheapest that holds a node's pods."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.prices.model import RegionPrices
from multiarch.scheduling.pods import read_pods
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.settled import Settled
from multiarch.simulate.shapes import build_pool_shape
from multiarch.simulate.simulation import simulate_nodes
from tests.scheduling.manifests import ZONES
from tests.simulate.simulated import TOLERANT, answer, got, group, planned, pods, pooled
from tests.simulate.test_pools import BIG
from tests.simulate.test_settle import ZONE, spread

ARM = "general-arm64-on-demand"
ON_DEMAND: dict[str, Any] = {"architectures": ["arm64"], "capacityTypes": ["on-demand"]}


def prices(
    on_demand: Mapping[str, str] | None = None, spot: Mapping[str, Mapping[str, str]] | None = None
) -> RegionPrices:
    return RegionPrices(
        region="eu-west-1",
        currency="USD",
        fetched=datetime(2026, 11, 20, tzinfo=UTC),
        on_demand={name: Decimal(price) for name, price in (on_demand or {}).items()},
        spot={name: {zone: Decimal(price) for zone, price in zones.items()} for name, zones in (spot or {}).items()},
    )


def bought(words: Mapping[str, Any], known: RegionPrices | None, *documents: object) -> Settled:
    made = planned(words)
    context = SimulationContext(ZONES, region="eu-west-1", prices=known)
    return simulate_nodes(made.autoscaling, made.node_groups, context, read_pods(documents))


def types(settled: Settled, pool: str) -> dict[str, int]:
    return dict(group(settled.simulation, pool).instance_types)


def test_the_cheapest_type_is_bought_and_without_prices_the_smallest() -> None:
    words = pooled({"general": {**ON_DEMAND, "families": ["m7g", "c7g", "r7g"], "sizes": ["xlarge", "2xlarge"]}})
    pod = pods(**BIG, **TOLERANT)
    known = prices({"m7g.xlarge": "0.2", "c7g.xlarge": "0.3", "r7g.xlarge": "0.25", "c7g.2xlarge": "0.1"})
    assert types(bought(words, known, pod), ARM) == {"c7g.2xlarge": 1}
    assert types(bought(words, None, pod), ARM) == {"c7g.xlarge": 1}


def test_a_type_that_does_not_hold_the_pods_is_not_bought_however_cheap() -> None:
    words = pooled({"general": {**ON_DEMAND, "families": ["m7g"], "sizes": ["large", "xlarge"]}})
    known = prices({"m7g.large": "0.01", "m7g.xlarge": "0.2"})
    assert types(bought(words, known, pods(**BIG, **TOLERANT)), ARM) == {"m7g.xlarge": 1}


def test_without_a_price_of_any_type_the_smallest_is_named_and_the_pool_too() -> None:
    words = pooled({"general": {**ON_DEMAND, "families": ["m7g", "c7g"], "sizes": ["xlarge"]}})
    result = bought(words, prices(), pods(**BIG, **TOLERANT))
    assert types(result, ARM) == {"c7g.xlarge": 1}
    assert any(note.startswith(f"No instance type of {ARM} has a price") for note in result.simulation.notes)


def test_a_spot_node_starts_in_the_zone_where_it_is_cheapest() -> None:
    words = pooled(
        {
            "general": {
                "architectures": ["arm64"],
                "capacityTypes": ["spot"],
                "families": ["m7g", "c7g"],
                "sizes": ["xlarge"],
            }
        }
    )
    spot = {
        "m7g.xlarge": {"eu-west-1a": "0.09", "eu-west-1b": "0.05", "eu-west-1c": "0.09"},
        "c7g.xlarge": {"eu-west-1a": "0.06", "eu-west-1b": "0.08"},
    }
    result = bought(words, prices(spot=spot), pods(**BIG, **TOLERANT))
    (node,) = [each for each in result.nodes if each.group == "general-arm64-spot"]
    assert (node.instance_type, node.zone) == ("m7g.xlarge", "eu-west-1b")
    in_a = bought(
        words, prices(spot=spot), pods(**BIG, **TOLERANT, nodeSelector={"topology.kubernetes.io/zone": "eu-west-1a"})
    )
    assert types(in_a, "general-arm64-spot") == {"c7g.xlarge": 1}


def test_a_type_without_a_spot_price_in_a_zone_is_not_bought_there() -> None:
    pool = {"architectures": ["arm64"], "families": ["m7g", "c7g"], "sizes": ["xlarge"]}
    spot = {"m7g.xlarge": {"eu-west-1b": "0.05"}, "c7g.xlarge": {"eu-west-1a": "0.06", "eu-west-1b": "0.08"}}
    known = prices({"m7g.xlarge": "0.2", "c7g.xlarge": "0.3"}, spot)

    def in_zone(zone: str, **more: Any) -> Settled:
        return bought(pooled({"general": pool}), known, pods(**more, **TOLERANT, nodeSelector={ZONE: zone}))

    assert types(in_zone("eu-west-1a", **BIG), "general-arm64-spot") == {"c7g.xlarge": 1}
    assert types(in_zone("eu-west-1b", **BIG), "general-arm64-spot") == {"m7g.xlarge": 1}
    # A c7g.xlarge has too little memory.
    large = in_zone("eu-west-1a", cpu="1", memory="10Gi")
    assert types(large, ARM) == {"m7g.xlarge": 1}
    reason = answer(large.simulation, "general-arm64-spot").reason
    assert reason == "no instance type that fits has a spot price in zone eu-west-1a"


def test_a_spread_over_zones_buys_what_is_cheapest_in_each() -> None:
    pool = {"architectures": ["arm64"], "capacityTypes": ["spot"], "families": ["m7g", "c7g"], "sizes": ["xlarge"]}
    spot = {
        "m7g.xlarge": {"eu-west-1a": "0.09", "eu-west-1b": "0.05", "eu-west-1c": "0.01"},
        "c7g.xlarge": {"eu-west-1a": "0.06", "eu-west-1b": "0.08", "eu-west-1c": "0.02"},
    }
    result = bought(pooled({"general": pool}), prices(spot=spot), pods(count=3, **BIG, **spread(), **TOLERANT))
    assert {(node.instance_type, node.zone) for node in result.nodes if node.group == "general-arm64-spot"} == {
        ("c7g.xlarge", "eu-west-1a"),
        ("m7g.xlarge", "eu-west-1b"),
        ("m7g.xlarge", "eu-west-1c"),
    }


@pytest.mark.parametrize(
    ("arm64", "amd64", "expected"),
    [("0.1", "0.2", Architecture.ARM64), ("0.2", "0.1", Architecture.AMD64)],
)
def test_a_pool_of_both_architectures_buys_the_cheaper(arm64: str, amd64: str, expected: Architecture) -> None:
    pool = {"multiArchitecture": True, "capacityTypes": ["on-demand"], "families": ["m7g", "m7i"], "sizes": ["xlarge"]}
    known = prices({"m7g.xlarge": arm64, "m7i.xlarge": amd64})
    result = bought(pooled({"both": pool}), known, pods(**BIG, **TOLERANT))
    (name,) = got(result.simulation)
    assert [each.shape.architecture for each in result.nodes if each.group == name] == [expected]
    (workload,) = result.simulation.workloads
    assert workload.places[0].architectures == (expected,)
    assert not any("NodePool of two architectures" in note for note in result.simulation.notes)


def test_bare_metal_is_bought_last() -> None:
    words = pooled({"general": {**ON_DEMAND, "families": ["m7g"], "sizes": ["16xlarge", "metal"]}})
    known = prices({"m7g.metal": "0.1", "m7g.16xlarge": "5"})
    assert types(bought(words, known, pods(cpu="50", memory="4Gi", **TOLERANT)), ARM) == {"m7g.16xlarge": 1}


SIZES = ("large", "xlarge", "2xlarge", "4xlarge")
FAMILIES = ("m7g", "c7g", "r7g")
AMOUNTS = st.decimals(min_value="0.01", max_value="9", places=3)


@settings(max_examples=40, deadline=None)
@given(
    known=st.dictionaries(st.sampled_from([f"{family}.{size}" for family in FAMILIES for size in SIZES]), AMOUNTS),
    sizes=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 60), st.integers(1, 6)), min_size=1, max_size=4),
)
def test_no_cheaper_type_would_hold_the_pods_of_a_node(
    known: dict[str, Decimal], sizes: list[tuple[int, int, int]]
) -> None:
    made = planned(pooled({"general": {**ON_DEMAND, "families": list(FAMILIES), "sizes": list(SIZES)}}))
    documents = [
        pods(f"w{number}", count, cpu=f"{cpu * 500}m", memory=f"{memory * 512}Mi", **TOLERANT)
        for number, (cpu, memory, count) in enumerate(sizes)
    ]
    region = RegionPrices("eu-west-1", "USD", datetime(2026, 11, 20, tzinfo=UTC), known)
    context = SimulationContext(ZONES, region="eu-west-1", prices=region)
    found = simulate_nodes(made.autoscaling, made.node_groups, context, read_pods(documents))
    assert made.autoscaling.karpenter is not None
    (pool,) = (each for each in made.autoscaling.karpenter.pools if each.name == ARM)
    shapes = {
        each.name: build_pool_shape(pool, made.autoscaling.karpenter.node_class, each, ZONES, region="eu-west-1")
        for each in pool.instance_types
    }
    for node in (each for each in found.nodes if each.group == ARM):
        wanted = sum((pod.requests for pod in node.pods), ResourceAmounts())
        assert not known or node.instance_type in known
        cheaper = [name for name in known if known[name] < known[node.instance_type]]
        assert not [name for name in cheaper if shapes[name].allocatable.covers(wanted)]
