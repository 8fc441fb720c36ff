"""What each resource of a change costs in a month: node groups, control planes, networks, Karpenter's pools.

Without volumes, traffic, and discounts such as Savings Plans, which a preview does not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from multiarch.cost.pricing import PricedCapacity, Pricing, count_network_items, get_capacity, list_zones
from multiarch.errors import UnknownFactError
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType, get_instance_type
from multiarch.facts.partitions import find_zone_region
from multiarch.nodes.model import CapacityType
from multiarch.observed.resources.nodes import AUTO_SCALING_GROUP, MANAGED_GROUP, NODE_POOL, list_instance_types
from multiarch.observed.resources.properties import get_integer_at, get_string_at, get_value, list_entries, read_known
from multiarch.plurals import format_count
from multiarch.prices.model import Amount, NetworkItem, PriceList, RegionPrices, UnknownPrice
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.nodes.cluster_version import CLUSTER
from multiarch.review.properties import list_resources
from multiarch.stack.model import ExistingClusterPlan, Plan

_NETWORK = {
    "aws:ec2/natGateway:NatGateway": NetworkItem.NAT_GATEWAY,
    "aws:ec2/vpcEndpoint:VpcEndpoint": NetworkItem.INTERFACE_ENDPOINT,
    "aws:ec2/eip:Eip": NetworkItem.PUBLIC_IPV4,
}
_PRICED = (CLUSTER, MANAGED_GROUP, AUTO_SCALING_GROUP, NODE_POOL, *_NETWORK)
_CHANGES = (Operation.CREATE, Operation.UPDATE, Operation.REPLACE, Operation.DELETE)
_POLICY = "mixedInstancesPolicy"
_LATER = "is known only after the update"


@dataclass(frozen=True, slots=True)
class CostPart:
    """What one resource costs on one side of the change.

    ``what`` names the row that it belongs to: ``arm64 spot nodes``, ``control plane``. ``monthly`` is the cost at the
    present size, ``at_most`` at the maximum size. ``vcpus`` and ``gib`` are None where they are unknown. ``basis`` says
    what the amounts are computed from, ``size`` which size that is. Parts that cost the same for the same reason are
    equal, whatever resource they are of.
    """

    team: str
    what: str
    subject: str = field(compare=False)
    monthly: Amount
    at_most: Amount
    nodes: int = 0
    vcpus: int | None = 0
    gib: Decimal | None = Decimal(0)
    basis: str = ""
    size: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class _Group:
    """A node group with its size. ``why`` says which size that is: ``present``, ``desired``."""

    subject: str
    capacity: PricedCapacity
    size: int
    largest: int
    why: str


def get_pricing(change: StackChange) -> Pricing:
    """Return the prices of the stack's region."""
    return Pricing(_prices_of(change.prices, _region(change)), change.today)


def list_cost_parts(change: StackChange, prices: Pricing) -> tuple[list[CostPart], list[CostPart]]:
    """Return what the changed resources cost before, and after.

    The preview says it; without steps, what the two stack files differ in.
    """
    if not change.preview.steps:
        return _of_plans(change)
    pricing = _CostParts(change, prices)
    before: list[CostPart] = []
    after: list[CostPart] = []
    for step in list_resources(change.preview.steps, *_PRICED):
        if step.operation not in _CHANGES:
            continue
        if step.old is not None:
            plan = change.before.plan if change.before else None
            before.append(pricing.part(step, step.old, plan, now=step.old))
        if step.new is not None and step.operation is not Operation.DELETE:
            plan = change.after.plan if change.after else None
            # What replaces a group is created with the declared size.
            now = step.old if step.operation is Operation.UPDATE else None
            after.append(pricing.part(step, step.new, plan, now=now))
    return before, after


def explain_not_compared(change: StackChange) -> str:
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


def _of_plans(change: StackChange) -> tuple[list[CostPart], list[CostPart]]:
    plans = [None if side is None else side.plan for side in (change.before, change.after)]
    before, after = ([] if plan is None else [*_of_plan(change, plan)] for plan in plans)
    return before, after


class _CostParts:
    """Makes the parts of one stack, with the prices of its region."""

    def __init__(self, change: StackChange, pricing: Pricing) -> None:
        self._pricing = pricing
        # Objects of Kubernetes have no tags.
        states = (state for step in change.preview.steps for state in (step.old, step.new) if state is not None)
        self._team = next(filter(None, map(_tagged, states)), change.preview.stack)

    def part(self, step: Step, state: State, plan: Plan | None, now: State | None) -> CostPart:
        """Return what a resource costs in one state. ``now`` is its state at present, None if it is created."""
        team = _tagged(state) or (plan.team if plan else self._team)
        if step.type == CLUSTER:
            version = get_string_at(state.inputs, "version") or get_string_at(state.outputs, "version")
            return self.control_plane(team, version, get_string_at(state.inputs, "controlPlaneScalingConfig.tier"))
        if item := _NETWORK.get(step.type):
            number = _count_zones(state) if item is NetworkItem.INTERFACE_ENDPOINT else 1
            return self.network(team, item, number, f"{step.name} ({item})")
        if step.type == NODE_POOL:
            auto_mode = get_string_at(state.inputs, "spec.template.spec.nodeClassRef.kind") == "NodeClass"
            owner = "EKS Auto Mode" if auto_mode else "Karpenter"
            return build_pool_part(team, step.name, get_value(state.inputs, "spec.limits.cpu"), owner)
        found = _group(step, state, now, () if plan is None else list_zones(plan, step.name))
        return self.nodes(team, found) if isinstance(found, _Group) else _unknown_group(team, step.name, found)

    def nodes(self, team: str, group: _Group) -> CostPart:
        """Return what a node group costs."""
        capacity = group.capacity
        try:
            shapes = [get_instance_type(name) for name in capacity.types]
        except UnknownFactError as error:
            unknown = UnknownPrice(f"{group.subject}: {error.message.rstrip('.')}")
            names = ", ".join(capacity.types)
            return CostPart(team, "nodes", group.subject, unknown, unknown, group.size, None, None, names)
        return CostPart(
            team,
            f"{_architecture(shapes)} {capacity.capacity_type} nodes",
            group.subject,
            self._pricing.month(capacity, group.size),
            self._pricing.month(capacity, group.largest),
            group.size,
            group.size * shapes[0].vcpus,
            group.size * Decimal(shapes[0].memory_mib) / 1024,
            _basis(group),
            group.why,
        )

    def control_plane(self, team: str, version: str | None, scaling: str | None) -> CostPart:
        """Return what an EKS cluster costs in the support tier that its version has today, and in its scaling tier."""
        if version is None:
            amount: Amount = UnknownPrice(f"control plane: its Kubernetes version {_LATER}")
            basis = ""
        else:
            amount, basis = self._pricing.control_plane(version, scaling)
        return CostPart(team, "control plane", "control plane", amount, amount, basis=basis)

    def network(self, team: str, item: NetworkItem, number: int | None, subject: str) -> CostPart:
        """Return what a number of items of a network cost without traffic."""
        unknown = UnknownPrice(f"{subject}: their number {_LATER}")
        monthly = unknown if number is None else self._pricing.network(item, number)
        return CostPart(team, item, subject, monthly, monthly, basis=f"{number} without traffic")


def _unknown_group(team: str, name: str, reason: str) -> CostPart:
    unknown = UnknownPrice(f"node group {name}: {reason}")
    return CostPart(team, "nodes", f"node group {name}", unknown, unknown, vcpus=None, gib=None)


def build_pool_part(team: str, name: str, cpu_limit: object, owner: str) -> CostPart:
    """Return a NodePool, whose nodes are as many as pods need."""
    limit = "without a limit" if cpu_limit is None else f"up to {cpu_limit} vCPUs"
    unknown = UnknownPrice(f"{owner} adds nodes as pods need them")
    return CostPart(team, f"{owner}'s nodes", f"NodePool {name}", unknown, unknown, vcpus=None, gib=None, basis=limit)


def _of_plan(change: StackChange, plan: Plan) -> Iterator[CostPart]:
    pricing = _CostParts(change, Pricing(_prices_of(change.prices, plan.region), change.today))
    for group in plan.node_groups:
        if group.mixed:
            yield _unknown_group(plan.team, group.name, f"it is {group.bought}; `multiarch cost` counts both")
            continue
        sizes, capacity = group.sizes, get_capacity(plan, group)
        found = _Group(f"node group {group.name}", capacity, sizes.desired, sizes.maximum, "desired")
        yield pricing.nodes(plan.team, found)
    if not isinstance(plan.cluster, ExistingClusterPlan):
        yield pricing.control_plane(plan.team, plan.cluster.version, plan.cluster.tier)
    for item, number in count_network_items(plan).items():
        yield pricing.network(plan.team, item, number, item)
    for each in plan.autoscaling.pools:
        yield build_pool_part(plan.team, each.name, each.cpu_limit, each.owner)


def _group(step: Step, state: State, now: State | None, zones: tuple[str, ...]) -> _Group | str:
    """Return a node group or Auto Scaling group, or why it can't be priced."""
    managed, inputs = step.type == MANAGED_GROUP, state.inputs
    read = partial(list_instance_types, step.type)
    names = read_known(read, inputs) or read_known(read, state.outputs) or ()
    if managed:
        spot = 100 if get_string_at(inputs, "capacityType") == CapacityType.SPOT.eks else 0
    else:
        above = get_integer_at(inputs, f"{_POLICY}.instancesDistribution.onDemandPercentageAboveBaseCapacity")
        spot = 0 if above is None else 100 - above
        base = get_integer_at(inputs, f"{_POLICY}.instancesDistribution.onDemandBaseCapacity")
        if spot and base:
            return f"{format_count(base, 'node')} of it {'is' if base == 1 else 'are'} on-demand, others spot"
    if not names or any("." not in name for name in names):
        return f"its instance type is in its launch template, or {_LATER}"
    if spot not in {0, 100}:
        return f"{spot} % of it is spot, the rest on-demand"
    scaling = "scalingConfig." if managed else ""
    desired_key = f"{scaling}desiredSize" if managed else "desiredCapacity"
    low, high = get_integer_at(inputs, f"{scaling}minSize"), get_integer_at(inputs, f"{scaling}maxSize")
    if low is None or high is None:
        return f"its size {_LATER}"
    size, why = low, "minimum"
    desired = get_integer_at(inputs, desired_key)
    # With ignoreChanges the engine keeps the old value in the new inputs.
    is_set = now is not None and desired not in (None, get_integer_at(now.inputs, desired_key))
    if now is not None and not is_set and (present := get_integer_at(now.outputs, desired_key)) is not None:
        size = max(low, min(present, high))
        why = "present" if size == present else "minimum" if size == low else "maximum"
    elif desired is not None:
        size, why = desired, "desired"
    capacity = PricedCapacity(tuple(names), CapacityType.SPOT if spot else CapacityType.ON_DEMAND, zones)
    return _Group(f"node group {step.name}", capacity, size, high, why)


def _count_zones(state: State) -> int | None:
    """Return in how many zones an endpoint is; 0 of a gateway endpoint, which costs nothing, None if not known."""
    if get_string_at(state.inputs, "vpcEndpointType") != "Interface":
        return 0
    subnets = state.inputs.get("subnetIds")  # IDs that are not known yet count too
    return len(subnets) if isinstance(subnets, list) else None


def _tagged(state: State) -> str | None:
    """Return the team that the tags name: a mapping, or a list for Auto Scaling groups."""
    listed = (get_string_at(each, "value") for each in list_entries(state.inputs, "tags") if each.get("key") == "team")
    return get_string_at(state.inputs, "tags.team") or next(listed, None)


def _region(change: StackChange) -> str | None:
    """Return the plan's region, or that of an ARN or a zone in the preview."""
    for side in (change.after, change.before):
        if side is not None and side.plan is not None and side.plan.region:
            return side.plan.region
    for step in change.preview.steps:
        for state in (step.old, step.new):
            if state is None:
                continue
            # arn:aws:eks:eu-west-1:…; those of IAM have no region.
            fields = (get_string_at(state.outputs, "arn") or "").split(":")
            zone = get_string_at(state.inputs, "availabilityZone") or ""
            if found := (fields[3] if len(fields) > 4 else "") or find_zone_region(zone):  # noqa: PLR2004
                return found
    return None


def _prices_of(prices: PriceList | None, region: str | None) -> RegionPrices | UnknownPrice:
    return UnknownPrice("no prices were given (--prices)") if prices is None else prices.of(region)


def _architecture(shapes: Sequence[InstanceType]) -> Architecture | str:
    architectures = {shape.architecture for shape in shapes}
    return architectures.pop() if len(architectures) == 1 else "mixed"


def _basis(group: _Group) -> str:
    """Return ``3 × m7g.large, at most 10``."""
    types = group.capacity.types
    several = f" (first of {len(types)} types)" if len(types) > 1 else ""
    mean = ", at the mean spot price" if group.capacity.capacity_type is CapacityType.SPOT else ""
    return f"{group.size} × {types[0]}{several}, at most {group.largest}{mean}"
