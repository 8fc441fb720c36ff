"""Finds what a change costs: the monthly difference of each node group, of control planes, of items of networks.

Without volumes, traffic, and discounts such as Savings Plans, which a preview does not show. Where there is no price,
an amount is unknown with its reason, and the differences in vCPUs and GiB remain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import starmap
from typing import NamedTuple

from multiarch.cost.pricing import (
    PricedCapacity,
    Pricing,
    count_network_items,
    get_capacity,
    list_capacities,
    list_zones,
)
from multiarch.errors import UnknownFactError
from multiarch.facts.instance_types import get_instance_type
from multiarch.nodes.model import CapacityType
from multiarch.observed.resources.nodes import (
    AUTO_SCALING_GROUP,
    MANAGED_GROUP,
    NODE_POOL,
    get_pool_owner,
    get_size_path,
    list_instance_types,
    read_distribution,
)
from multiarch.observed.resources.properties import get_integer_at, get_string_at, get_value, read_known
from multiarch.prices.amounts import list_unknown_reasons, subtract_amounts, sum_amounts, sum_known
from multiarch.prices.model import Amount, NetworkItem, RegionPrices, UnknownPrice
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.nodes.cluster_version import CLUSTER
from multiarch.review.properties import list_resources
from multiarch.rules import Finding, make_finding
from multiarch.serialization import OMITTED, JsonProperty
from multiarch.stack.model import ExistingClusterPlan, Plan

_NETWORK = {
    "aws:ec2/natGateway:NatGateway": NetworkItem.NAT_GATEWAY,
    "aws:ec2/vpcEndpoint:VpcEndpoint": NetworkItem.INTERFACE_ENDPOINT,
    "aws:ec2/eip:Eip": NetworkItem.PUBLIC_IPV4,
}
_PRICED = (CLUSTER, MANAGED_GROUP, AUTO_SCALING_GROUP, NODE_POOL, *_NETWORK)
_CHANGES = (Operation.CREATE, Operation.UPDATE, Operation.REPLACE, Operation.DELETE)
_LATER = "is known only after the update"


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one thing costs in a month, before and after.

    ``what`` is ``node group web``, ``control plane``, ``NAT gateways``; ``size_before`` and ``size_after`` say how many
    of what it is: ``2 × m7g.large on-demand``. ``vcpus`` and ``gib`` are differences, None where they are unknown.
    ``before`` and ``after`` are at the present size, the other two at the maximum size.
    """

    what: str
    size_before: str
    size_after: str
    vcpus: Decimal | None
    gib: Decimal | None
    before: Amount
    after: Amount
    at_most_before: Amount = field(metadata=OMITTED)
    at_most_after: Amount = field(metadata=OMITTED)

    @JsonProperty
    def change(self) -> Amount:
        """Return the difference per month."""
        return subtract_amounts(self.after, self.before)

    @JsonProperty
    def change_at_most(self) -> Amount:
        """Return the difference per month if the group grows to its maximum size."""
        return subtract_amounts(self.at_most_after, self.at_most_before)


@dataclass(frozen=True, slots=True)
class CostDifference:
    """What a change costs per month.

    ``prices`` are those of the region, or why there are none; ``unknown`` says why amounts are unknown, ``stale`` that
    prices are old, or is empty.
    """

    rows: tuple[CostRow, ...]
    prices: RegionPrices | UnknownPrice = field(metadata=OMITTED)
    unknown: tuple[str, ...]
    stale: str

    @JsonProperty
    def prices_fetched_at(self) -> datetime | None:
        """Return the time at which the prices were fetched, None without prices."""
        return None if isinstance(self.prices, UnknownPrice) else self.prices.fetched

    @JsonProperty
    def currency(self) -> str:
        """Return the prices' currency, empty without prices."""
        return "" if isinstance(self.prices, UnknownPrice) else self.prices.currency

    @JsonProperty
    def total(self) -> Decimal | None:
        """Return the difference of all rows that are known; None if no row is, and without prices."""
        if isinstance(self.prices, UnknownPrice):
            return None
        known = [row.change for row in self.rows if isinstance(row.change, Decimal)]
        return sum(known, Decimal(0)) if known else None

    @JsonProperty
    def complete(self) -> bool:
        """Return whether the total has all rows, and all that there is to compare was compared."""
        return all(isinstance(row.change, Decimal) for row in self.rows) and bool(self.rows or not self.unknown)


class _Part(NamedTuple):
    """What one resource costs on one side. ``sizes`` are numbers of what it has, None where a number says nothing."""

    what: str
    sizes: Sequence[tuple[int | None, str]]
    monthly: Amount
    at_most: Amount
    vcpus: int | None = 0
    gib: Decimal | None = Decimal(0)


def compare_costs(change: StackChange) -> CostDifference:
    """Return what the change costs; no rows if it changes nothing that has a price."""
    prices: RegionPrices | UnknownPrice = UnknownPrice("no prices were given (--prices)")
    pricing = Pricing(change.prices.of(_find_region(change)) if change.prices else prices, change.today)
    if reason := _explain_not_compared(change):
        return CostDifference((), pricing.prices, (reason,), "")
    before, after = _list_parts(change, pricing)
    rows = [
        row
        for what in sorted({part.what for part in (*before, *after)})
        if (row := _compare(what, *([part for part in side if part.what == what] for side in (before, after))))
    ]
    amounts = [amount for row in rows for amount in (row.before, row.after, row.at_most_before, row.at_most_after)]
    return CostDifference(tuple(rows), pricing.prices, list_unknown_reasons(amounts), pricing.stale if rows else "")


def find_increase(found: CostDifference, stack: str, threshold: Decimal) -> Iterator[Finding]:
    """Yield a finding if the known costs of a stack rise by more than ``threshold`` per month."""
    rise = sum_known(row.change for row in found.rows)
    if rise > threshold:
        at_most = sum_amounts(row.change_at_most for row in found.rows)
        bound = "" if isinstance(at_most, UnknownPrice) else f"; at the groups' maximum sizes {format_signed(at_most)}"
        text = f"Costs rise by about {rise:,.2f} {found.currency} per month{bound}."
        rows = [f"{row.what}: {format_signed(row.change)}" for row in found.rows if row.change]
        details = (*rows, *found.unknown, *filter(None, (found.stale,)))
        yield make_finding("cost-increase", f"stack {stack}", text, details)


def format_signed(amount: Amount) -> str:
    """Return ``+1,234.50``, ``-3.00``, ``0.00``, or ``unknown``."""
    if isinstance(amount, UnknownPrice):
        return "unknown"
    rounded = round(amount, 2)
    return f"{rounded:+,.2f}" if rounded else "0.00"


def _compare(what: str, before: Sequence[_Part], after: Sequence[_Part]) -> CostRow | None:
    """Return the row of what has one name; None if it is the same on both sides."""
    if before == after:
        return None
    return CostRow(
        what,
        _describe(before),
        _describe(after),
        vcpus=_subtract(after, before, lambda part: part.vcpus),
        gib=_subtract(after, before, lambda part: part.gib),
        before=sum_amounts(part.monthly for part in before),
        after=sum_amounts(part.monthly for part in after),
        at_most_before=sum_amounts(part.at_most for part in before),
        at_most_after=sum_amounts(part.at_most for part in after),
    )


def _describe(parts: Sequence[_Part]) -> str:
    """Return ``2 × m7g.large on-demand``, ``3 NAT gateways``, ``unknown``, ``nothing``."""
    numbers: dict[str, int | None] = {}
    for number, of in (size for part in parts for size in part.sizes):
        numbers[of] = None if number is None else (numbers.get(of) or 0) + number
    sizes = [of if number is None else f"{number} {of}" for of, number in numbers.items()]
    return ", ".join(sizes) or ("unknown" if parts else "nothing")


def _subtract(
    new: Sequence[_Part], old: Sequence[_Part], get: Callable[[_Part], int | Decimal | None]
) -> Decimal | None:
    """Return the difference of two sums; None if a part is unknown."""
    every = [(sign, get(part)) for sign, side in ((1, new), (-1, old)) for part in side]
    known = [sign * Decimal(value) for sign, value in every if value is not None]
    return sum(known, Decimal(0)) if len(known) == len(every) else None


def _explain_not_compared(change: StackChange) -> str:
    """Return why neither a preview nor the stack files say what the change costs; empty if they do."""
    if change.preview.steps:
        return ""
    if change.after is None and change.before is not None:
        return "the stack file is deleted, and its resources keep running"
    if any(side is not None and side.plan is None for side in (change.before, change.after)):
        return "the stack file is invalid, and there is no preview"
    if change.after is None and not change.preview.succeeded:
        return "the preview failed before its first step"
    return ""


def _list_parts(change: StackChange, pricing: Pricing) -> tuple[list[_Part], list[_Part]]:
    """Return what costs before, and after: changed resources of the preview, or what the stack files have."""
    plans = [side.plan if side else None for side in (change.before, change.after)]
    if not change.preview.steps:
        before, after = ([*_list_parts_of_plan(plan, pricing)] if plan else [] for plan in plans)
        return before, after
    before, after = [], []
    for step in list_resources(change.preview.steps, *_PRICED):
        if step.operation in _CHANGES:
            if step.old is not None:
                before.append(_price_resource(step, step.old, step.old, plans[0], pricing))
            if step.new is not None:
                # What replaces a group is created with the declared size.
                now = step.old if step.operation is Operation.UPDATE else None
                after.append(_price_resource(step, step.new, now, plans[1], pricing))
    return before, after


def _list_parts_of_plan(plan: Plan, pricing: Pricing) -> Iterator[_Part]:
    for group in plan.node_groups:
        sizes = (group.sizes.desired, group.sizes.maximum)
        yield _price_nodes(f"node group {group.name}", get_capacity(plan, group), group.split, sizes, pricing)
    if not isinstance(plan.cluster, ExistingClusterPlan):
        yield _price_control_plane(plan.cluster.version, plan.cluster.tier, pricing)
    for item, number in count_network_items(plan).items():
        yield _price_network(item, number, pricing)
    for each in plan.autoscaling.pools:
        yield _list_pool(each.name, each.cpu_limit, each.owner)


def _price_resource(step: Step, state: State, now: State | None, plan: Plan | None, pricing: Pricing) -> _Part:
    """Return what a resource costs in one state. ``now`` is its state at present, None if it is created."""
    if step.type == CLUSTER:
        version = get_string_at(state.inputs, "version") or get_string_at(state.outputs, "version")
        return _price_control_plane(version, get_string_at(state.inputs, "controlPlaneScalingConfig.tier"), pricing)
    if item := _NETWORK.get(step.type):
        return _price_network(item, _count_zones(state) if item is NetworkItem.INTERFACE_ENDPOINT else 1, pricing)
    if step.type == NODE_POOL:
        return _list_pool(step.name, get_value(state.inputs, "spec.limits.cpu"), get_pool_owner(state.inputs))
    what = f"node group {step.name}"
    read = partial(list_instance_types, step.type)
    types = read_known(read, state.inputs) or read_known(read, state.outputs) or ()
    sizes, bought = _read_sizes(step, state, now), read_distribution(step.type, state.inputs)
    if sizes is None or bought is None or not types or any("." not in name for name in types):
        missing = (
            f"its size, or how it is bought, {_LATER}"
            if types
            else f"its instance type is in its launch template, or {_LATER}"
        )
        unknown = UnknownPrice(f"{what}: {missing}")
        return _Part(what, (), unknown, unknown, None, None)
    whole = PricedCapacity(types, bought.capacity_types[-1], list_zones(plan, step.name) if plan else ())
    return _price_nodes(what, whole, bought.split, sizes, pricing)


def _price_nodes(
    what: str,
    whole: PricedCapacity,
    split: Callable[[int], Mapping[CapacityType, int]],
    sizes: tuple[int, int],
    pricing: Pricing,
) -> _Part:
    """Return what a node group costs at its present and at its maximum size, bought in one way or in both."""
    number, _ = sizes
    now, at_most = (list_capacities(whole, split(each)) for each in sizes)
    others = " or others" if len(whole.types) > 1 else ""
    bought = [(each, f"× {whole.types[0]}{others} {capacity.capacity_type}") for capacity, each in now]
    monthly, most = (sum_amounts(starmap(pricing.month, each)) for each in (now, at_most))
    try:
        shape = get_instance_type(whole.types[0])
    except UnknownFactError:
        return _Part(what, bought, monthly, most, None, None)
    return _Part(what, bought, monthly, most, number * shape.vcpus, number * Decimal(shape.memory_mib) / 1024)


def _price_control_plane(version: str | None, scaling: str | None, pricing: Pricing) -> _Part:
    """Return what an EKS cluster costs in the support tier that its version has today, and in its scaling tier."""
    amount: Amount = UnknownPrice(f"control plane: its Kubernetes version {_LATER}")
    support = ""
    if version is not None:
        amount, support = pricing.control_plane(version, scaling)
    return _Part("control plane", [(1, f"in {support}")] if support else [], amount, amount)


def _price_network(item: NetworkItem, number: int | None, pricing: Pricing) -> _Part:
    """Return what a number of items of a network cost without traffic."""
    unknown = UnknownPrice(f"{item}: their number {_LATER}")
    monthly = unknown if number is None else pricing.network(item, number)
    return _Part(item, [] if number is None else [(number, "without traffic")], monthly, monthly)


def _list_pool(name: str, cpu_limit: object, owner: str) -> _Part:
    """Return a NodePool, whose nodes are as many as pods need."""
    limit = "without a limit" if cpu_limit is None else f"up to {cpu_limit} vCPUs"
    unknown = UnknownPrice(f"{owner} adds nodes as pods need them")
    return _Part(f"NodePool {name}", [(None, limit)], unknown, unknown, None, None)


def _read_sizes(step: Step, state: State, now: State | None) -> tuple[int, int] | None:
    """Return the size of a group and its maximum; None where they are known only after the update.

    A group that stays has its present size, within its limits, unless the update sets another one.
    """
    paths = [get_size_path(step.type, name) for name in ("minSize", "maxSize", "desiredSize")]
    low, high, desired = (get_integer_at(state.inputs, path) for path in paths)
    if low is None or high is None:
        return None
    present = get_integer_at(now.outputs, paths[2]) if now else None
    # With ignoreChanges the engine keeps the old value in the new inputs.
    if now and present is not None and desired in (None, get_integer_at(now.inputs, paths[2])):
        return max(low, min(present, high)), high
    return low if desired is None else desired, high


def _count_zones(state: State) -> int | None:
    """Return in how many zones an endpoint is; 0 of a gateway endpoint, which costs nothing, None if not known."""
    if get_string_at(state.inputs, "vpcEndpointType") != "Interface":
        return 0
    subnets = state.inputs.get("subnetIds")  # IDs that are not known yet count too
    return len(subnets) if isinstance(subnets, list) else None


def _find_region(change: StackChange) -> str | None:
    """Return the plan's region, or that of an ARN in the preview; those of IAM have none."""
    for side in (change.after, change.before):
        if side is not None and side.plan is not None and side.plan.region:
            return side.plan.region
    states = (state for step in change.preview.steps for state in (step.old, step.new) if state)
    arns = ((get_string_at(state.outputs, "arn") or "").split(":") for state in states)
    return next((fields[3] for fields in arns if len(fields) > 4 and fields[3]), None)  # noqa: PLR2004
