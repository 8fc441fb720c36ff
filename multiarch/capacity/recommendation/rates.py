"""What more capacity costs: money a month where all prices are known, else vCPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from multiarch.autoscaling.model import NodePoolPlan
from multiarch.facts.instance_types import InstanceType
from multiarch.nodes.model import CapacityType, NodeGroupPlan
from multiarch.prices.model import HOURS_PER_MONTH, Amount, RegionPrices, UnknownPrice
from multiarch.stack.model import Plan

_MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class Rates:
    """What a node of each group costs, and a vCPU and a GiB of memory of each NodePool, all by name.

    ``unit`` is ``vCPU``, or a currency, then the amounts are per month. ``unknown`` says why there are no prices, and
    is empty where there are.
    """

    unit: str
    node: Mapping[str, Decimal]
    vcpu: Mapping[str, Decimal]
    gib: Mapping[str, Decimal]
    unknown: str = ""


def rates_of(plan: Plan, prices: RegionPrices | UnknownPrice | None) -> Rates:
    """The rates of a plan. One unknown price makes all of them vCPUs: the two can't be compared."""
    if isinstance(prices, RegionPrices):
        try:
            return _rates(plan, prices.currency, partial(_month, prices))
        except _UnknownPriceError as error:
            prices = UnknownPrice(error.reason)
    reason = "no prices were given" if prices is None else prices.reason
    return _rates(plan, "vCPU", lambda _kind, _zones, each: Decimal(each.vcpus), reason)


_Price = Callable[[CapacityType, tuple[str, ...], InstanceType], Decimal]


class _UnknownPriceError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _month(prices: RegionPrices, kind: CapacityType, zones: tuple[str, ...], each: InstanceType) -> Decimal:
    hour = prices.spot_hour(each.name, zones) if kind is CapacityType.SPOT else prices.on_demand_hour(each.name)
    return _known(hour) * HOURS_PER_MONTH


def _known(amount: Amount) -> Decimal:
    if isinstance(amount, UnknownPrice):
        raise _UnknownPriceError(amount.reason)
    return amount


def _rates(plan: Plan, unit: str, price: _Price, unknown: str = "") -> Rates:
    karpenter = plan.autoscaling.karpenter
    pools = [pool for pool in karpenter.pools if pool.instance_types] if karpenter else []
    return Rates(
        unit,
        node={group.name: _of_group(group, price) for group in plan.node_groups},
        vcpu={pool.name: _least(pool, price, lambda each: Decimal(each.vcpus)) for pool in pools},
        gib={pool.name: _least(pool, price, lambda each: Decimal(each.memory_mib) / _MIB_PER_GIB) for pool in pools},
        unknown=unknown,
    )


def _of_group(group: NodeGroupPlan, price: _Price) -> Decimal:
    """A node of the first instance type, which AWS tries first."""
    return price(group.capacity_type, group.zones, group.instance_types[0])


def _least(pool: NodePoolPlan, price: _Price, amount: Callable[[InstanceType], Decimal]) -> Decimal:
    """The least that one of an amount costs, over the pool's types with a price. Raises if no type has one."""
    kind = pool.capacities[0].capacity_type
    found, reason = [], ""
    for each in pool.instance_types:
        try:
            found.append(price(kind, (), each) / amount(each))
        except _UnknownPriceError as error:
            reason = error.reason
    if not found:
        raise _UnknownPriceError(reason)
    return min(found)
