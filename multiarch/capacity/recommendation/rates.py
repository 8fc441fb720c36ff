"""What more capacity costs: money a month where all prices are known, else vCPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from multiarch.autoscaling.model import NodePoolPlan
from multiarch.cost.pricing import Capacity, capacity_of, node_hour
from multiarch.facts.instance_types import InstanceType, instance_types
from multiarch.prices.model import HOURS_PER_MONTH, RegionPrices, UnknownPrice
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


def rates_of(plan: Plan, prices: RegionPrices | UnknownPrice | None) -> Rates:
    """The rates of a plan. One unknown price makes all of them vCPUs: the two can't be compared."""
    if isinstance(prices, RegionPrices):
        try:
            return _rates(plan, prices.currency, partial(_month, prices))
        except _UnknownPriceError as error:
            prices = UnknownPrice(error.reason)
    reason = "no prices were given" if prices is None else prices.reason
    return _rates(plan, "vCPU", lambda capacity: Decimal(instance_types()[capacity.types[0]].vcpus), reason)


_Price = Callable[[Capacity], Decimal]


class _UnknownPriceError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _month(prices: RegionPrices, capacity: Capacity) -> Decimal:
    hour = node_hour(prices, capacity)
    if isinstance(hour, UnknownPrice):
        raise _UnknownPriceError(hour.reason)
    return hour * HOURS_PER_MONTH


def _rates(plan: Plan, unit: str, price: _Price, unknown: str = "") -> Rates:
    karpenter = plan.autoscaling.karpenter
    pools = [pool for pool in karpenter.pools if pool.instance_types] if karpenter else []
    return Rates(
        unit,
        node={group.name: price(capacity_of(plan, group)) for group in plan.node_groups},
        vcpu={pool.name: _least(pool, price, lambda each: Decimal(each.vcpus)) for pool in pools},
        gib={pool.name: _least(pool, price, lambda each: Decimal(each.memory_mib) / _MIB_PER_GIB) for pool in pools},
        unknown=unknown,
    )


def _least(pool: NodePoolPlan, price: _Price, amount: Callable[[InstanceType], Decimal]) -> Decimal:
    """The least that one of an amount costs, over the pool's types with a price. Raises if no type has one."""
    kind = pool.capacities[0].capacity_type
    found, reason = [], ""
    for each in pool.instance_types:
        try:
            found.append(price(Capacity((each.name,), kind)) / amount(each))
        except _UnknownPriceError as error:
            reason = error.reason
    if not found:
        raise _UnknownPriceError(reason)
    return min(found)
