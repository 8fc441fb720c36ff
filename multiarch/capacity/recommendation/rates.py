"""What more capacity costs: money a month where all prices are known, else vCPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from multiarch.autoscaling.model import NodePoolPlan
from multiarch.cost.pricing import PricedCapacity, get_next_node_price, get_node_hour
from multiarch.facts.instance_types import InstanceType, list_instance_types
from multiarch.prices.amounts import compute_month
from multiarch.prices.model import Amount, RegionPrices, UnknownPrice
from multiarch.serialization import OMITTED
from multiarch.stack.model import Plan

_MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class Rates:
    """What a node of each group costs, and a vCPU and a GiB of memory of each NodePool, all by name.

    ``unit`` is ``vCPU``, or a currency, then the amounts are per month. ``unknown`` says why there are no prices, and
    is empty where there are.
    """

    unit: str
    node: Mapping[str, Decimal] = field(metadata=OMITTED)
    vcpu: Mapping[str, Decimal] = field(metadata=OMITTED)
    gib: Mapping[str, Decimal] = field(metadata=OMITTED)
    unknown: str = ""


def get_rates(plan: Plan, prices: RegionPrices | UnknownPrice | None) -> Rates:
    """Return the rates of a plan. One unknown price makes all of them vCPUs: the two can't be compared."""
    why = UnknownPrice("no prices were given") if prices is None else prices
    if isinstance(why, RegionPrices):
        known = why
        found = _amounts(plan, lambda capacity: compute_month(1, get_node_hour(known, capacity)))
        unknown = next((each for table in found for each in table.values() if isinstance(each, UnknownPrice)), None)
        if unknown is None:
            return _rates(known.currency, found)
        why = unknown
    return _rates("vCPU", _amounts(plan, lambda each: Decimal(list_instance_types()[each.types[0]].vcpus)), why.reason)


_Tables = tuple[dict[str, Amount], dict[str, Amount], dict[str, Amount]]


def _rates(unit: str, found: _Tables, unknown: str = "") -> Rates:
    node, vcpu, gib = ({name: each for name, each in table.items() if isinstance(each, Decimal)} for table in found)
    return Rates(unit, node, vcpu, gib, unknown)


def _amounts(plan: Plan, price: Callable[[PricedCapacity], Amount]) -> _Tables:
    pools = [pool for pool in plan.autoscaling.pools if pool.instance_types]
    return (
        {group.name: get_next_node_price(plan, group, price) for group in plan.node_groups},
        {pool.name: _least(pool, price, lambda each: Decimal(each.vcpus)) for pool in pools},
        {pool.name: _least(pool, price, lambda each: Decimal(each.memory_mib) / _MIB_PER_GIB) for pool in pools},
    )


def _least(
    pool: NodePoolPlan, price: Callable[[PricedCapacity], Amount], size: Callable[[InstanceType], Decimal]
) -> Amount:
    """Return the least that one of an amount costs, over the pool's types with a price; unknown if no type has one."""
    kind = pool.capacities[0].capacity_type
    prices = {each: price(PricedCapacity((each.name,), kind, auto_mode=pool.auto_mode)) for each in pool.instance_types}
    known = [amount / size(each) for each, amount in prices.items() if isinstance(amount, Decimal)]
    return min(known) if known else next(iter(prices.values()))
