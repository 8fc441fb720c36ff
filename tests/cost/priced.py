"""Prices for tests, and stacks and nodes that they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from multiarch.cost.pricing import Pricing
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.labels import ARCHITECTURE
from multiarch.nodes.model import CapacityType
from multiarch.prices.model import Amount, NetworkItem, RegionPrices, UnknownPrice
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod, read_pods
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.settled import NodeState
from tests.stack.words import TODAY

PRICES = RegionPrices(
    region="eu-west-1",
    currency="USD",
    fetched=datetime(2026, 11, 20, 6, tzinfo=UTC),
    on_demand={
        "m7i.large": Decimal("0.12"),
        "m7i.xlarge": Decimal("0.24"),
        "m7g.large": Decimal("0.1"),
        "m7g.xlarge": Decimal("0.2"),
        "m6g.large": Decimal("0.08"),
        "m6g.xlarge": Decimal("0.16"),
    },
    spot={
        "m7i.large": {"eu-west-1a": Decimal("0.06"), "eu-west-1b": Decimal("0.06")},
        "m7g.large": {"eu-west-1a": Decimal("0.03"), "eu-west-1b": Decimal("0.05")},
        "m6g.large": {"eu-west-1a": Decimal("0.02")},
    },
    cluster=Decimal("0.1"),
    extended_support=Decimal("0.5"),
    network={
        NetworkItem.NAT_GATEWAY: Decimal("0.048"),
        NetworkItem.INTERFACE_ENDPOINT: Decimal("0.01"),
        NetworkItem.PUBLIC_IPV4: Decimal("0.005"),
    },
)
PRICING = Pricing(PRICES, TODAY)
HOURS = 730
GIB = 2**30


def reason(amount: Amount | None) -> str:
    assert isinstance(amount, UnknownPrice)
    return amount.reason


def node(
    group: str,
    kind: str,
    *pods: Pod,
    name: str = "node-1",
    capacity: CapacityType | None = None,
    zone: str | None = None,
    architecture: str = "",
) -> NodeState:
    """A node with 2 CPUs and 8 GiB for each size step, all of it allocatable."""
    row = get_instance_type(kind) if kind else None
    arch = row.architecture if row else architecture
    room = (
        ResourceAmounts(row.vcpus * 1000, row.memory_mib * 2**20, pods=29)
        if row
        else ResourceAmounts(2000, 8 * GIB, pods=29)
    )
    shape = NodeShape(group or name, arch, room, ((ARCHITECTURE, str(arch)),))  # type: ignore[arg-type]
    return NodeState(name, group, shape, zone, kind, capacity, tuple(pods))


def pods(*documents: Mapping[str, Any]) -> Sequence[Pod]:
    return tuple(read_pods(documents))
