"""What pods cost of their nodes, by a label: the parts add up to the whole."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multiarch.cost.model import LabelCost
from multiarch.cost.stack import NodePrices, compute_label_costs
from multiarch.nodes.model import CapacityType
from multiarch.prices.amounts import sum_amounts
from multiarch.simulate.settled import NodeState
from tests.cost.priced import HOURS, PRICING, node, pods
from tests.scheduling.manifests import container

LARGE = HOURS * Decimal("0.12")
"""An m7i.large: 2 CPUs and 8 GiB here."""


def pod(name: str, team: str = "", cpu: str = "500m", memory: str = "1Gi") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {"team": team} if team else {}}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [container({"cpu": cpu, "memory": memory})]}}


def shared(*nodes: NodeState) -> dict[str | None, LabelCost]:
    prices = NodePrices(None, PRICING, running=True)
    return {each.value: each for each in compute_label_costs(nodes, prices, "team")}


def on(kind: str, *documents: dict[str, Any], name: str = "node-1") -> NodeState:
    return node("", kind, *pods(*documents), name=name, capacity=CapacityType.ON_DEMAND)


def test_a_pod_pays_the_largest_share_that_it_requests() -> None:
    found = shared(on("m7i.large", pod("a", "cart"), pod("b", "cart", memory="4Gi"), pod("c")))
    assert list(found) == ["cart", "", None]  # the largest amount first
    assert (found["cart"].pods, found["cart"].monthly) == (2, LARGE * Decimal("0.75"))
    assert (found[""].pods, found[""].monthly) == (1, LARGE * Decimal("0.25"))
    assert (found[None].pods, found[None].monthly) == (0, Decimal(0))


def test_pods_that_request_different_resources_pay_the_node_once() -> None:
    found = shared(on("m7i.large", pod("a", "cpu", cpu="1800m"), pod("b", "memory", cpu="100m", memory="7Gi")))
    assert found[None].monthly == 0
    together = sum_amounts(found[team].monthly for team in ("cpu", "memory"))
    assert isinstance(together, Decimal)
    assert round(together, 4) == LARGE


def test_an_unknown_price_makes_the_teams_on_that_node_unknown() -> None:
    found = shared(on("m7a.large", pod("a", "cart")), on("m7i.large", pod("b", "shop"), name="node-2"))
    assert not isinstance(found["cart"].monthly, Decimal)
    assert isinstance(found["shop"].monthly, Decimal)


@given(st.lists(st.tuples(st.sampled_from(["cart", "shop", ""]), st.integers(1, 2000), st.integers(1, 8)), max_size=12))
def test_the_parts_add_up_to_the_nodes(requests: list[tuple[str, int, int]]) -> None:
    documents = [pod(f"p{at}", team, f"{cpu}m", f"{gib}Gi") for at, (team, cpu, gib) in enumerate(requests)]
    found = shared(on("m7i.large", *documents), on("m7i.large", name="empty"))
    whole = sum((each.monthly for each in found.values() if isinstance(each.monthly, Decimal)), Decimal(0))
    assert abs(whole - 2 * LARGE) < Decimal("0.000001")
    assert all(isinstance(each.monthly, Decimal) and each.monthly >= Decimal("-0.000001") for each in found.values())
