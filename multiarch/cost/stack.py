"""What a stack costs: its node groups at their desired size, or the nodes that its pods get, or that a cluster has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import starmap

from multiarch.cost.model import CostLine, CostReport, GroupAmount, LabelCost, OtherAmount
from multiarch.cost.pricing import (
    OMITTED,
    PricedCapacity,
    Pricing,
    count_network_items,
    get_capacity,
    list_capacities,
    list_zones,
)
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import EKS_COMPUTE_TYPE, EKS_NODE_GROUP, KARPENTER_NODE_POOL, REGION
from multiarch.facts.partitions import find_zone_region
from multiarch.nodes.model import CapacityType, NodeGroupPlan
from multiarch.prices.amounts import multiply_amount, sort_by_amount, sum_amounts
from multiarch.prices.model import Amount, UnknownPrice
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.settled import NodeState
from multiarch.stack.model import ExistingClusterPlan, Plan


class NodePrices:
    """What single nodes cost in a month: of a stack, or of a cluster about whose stack nothing is known."""

    def __init__(self, plan: Plan | None, pricing: Pricing, *, running: bool = False) -> None:
        """``running`` nodes have the instance type that was bought; of planned ones any of their group's can be."""
        self._pricing, self._running = pricing, running
        groups = plan.node_groups if plan else ()
        pools = plan.autoscaling.pools if plan else ()
        self._groups = {each.name: get_capacity(plan, each) for each in groups if plan}
        self._mixed = {each.name for each in groups if each.mixed}
        self._pools = {each.name: each.capacities[0].capacity_type for each in pools}
        self._zones = list_zones(plan, "") if plan else ()
        self._known: dict[PricedCapacity, Amount] = {}

    def capacity(self, node: NodeState) -> PricedCapacity | None:
        """Return what the node is bought as; None where its instance type or capacity type is unknown."""
        group = self._groups.get(node.group)
        if group is not None and not self._running:
            return replace(group, capacity_type=node.capacity_type or group.capacity_type)
        planned = group.capacity_type if group and node.group not in self._mixed else self._pools.get(node.group)
        bought = node.capacity_type or planned
        if bought is None or not node.instance_type:
            return None
        # Zones that the stack does not name are placeholders.
        own = (node.zone,) if node.zone and (self._running or node.zone in self._zones) else self._zones
        auto_mode = dict(node.shape.labels).get(EKS_COMPUTE_TYPE) == "auto"
        return PricedCapacity((node.instance_type,), bought, own, auto_mode)

    def month(self, node: NodeState) -> Amount:
        """Return the cost of a node."""
        capacity = self.capacity(node)
        if capacity is None:
            what = "capacity type" if node.instance_type else "instance type"
            # Nodes of a simulation have invented names.
            whose = f"node {node.name}" if self._running else f"existing nodes of {node.group}"
            return UnknownPrice(f"the {what} of {whose} is not known")
        if capacity not in self._known:
            self._known[capacity] = self._pricing.month(capacity, 1)
        return self._known[capacity]


def compute_stack_costs(
    plan: Plan, pricing: Pricing, nodes: Sequence[NodeState] | None = None, *, running: bool = False
) -> CostReport:
    """Return the costs of ``nodes``; without nodes, of the stack's node groups at their desired size.

    ``running`` nodes are those of a cluster, others those of a simulation. Nodes of no group of the stack are counted
    too.
    """
    known = pricing.known
    lines = _planned(plan, pricing) if nodes is None else _lines(nodes, NodePrices(plan, pricing, running=running))
    own = not isinstance(plan.cluster, ExistingClusterPlan)
    tier = None if isinstance(plan.cluster, ExistingClusterPlan) else plan.cluster.tier
    control_plane, _ = pricing.control_plane(plan.cluster.version, tier)
    return CostReport(
        stack=plan.stack,
        team=plan.team,
        currency=known.currency if known else "",
        prices_fetched_at=known.fetched if known else None,
        nodes=tuple(lines),
        at_maximum_size=tuple(
            GroupAmount(group.name, sum_amounts(starmap(pricing.month, _list_bought(plan, group, group.sizes.maximum))))
            for group in plan.node_groups
        ),
        others=(
            *([OtherAmount("control plane", control_plane)] if own else []),
            *(
                OtherAmount(f"{item} ({number})", pricing.network(item, number))
                for item, number in count_network_items(plan).items()
            ),
            *(_pools(plan) if nodes is None else ()),
        ),
        notes=tuple(_notes(plan, pricing, nodes, running=running)),
    )


def compute_cluster_costs(name: str, pricing: Pricing, nodes: Sequence[NodeState]) -> CostReport:
    """Return the costs of a cluster's nodes, by the node group or NodePool that their labels name, without a stack."""
    known = pricing.known
    grouped = [replace(node, group=find_label_group(node)) for node in nodes]
    return CostReport(
        stack=name,
        team="",
        currency=known.currency if known else "",
        prices_fetched_at=known.fetched if known else None,
        nodes=tuple(_lines(grouped, NodePrices(None, pricing, running=True))),
        notes=(
            *list_price_notes(pricing),
            "Without a stack, control plane and network are not counted, and nothing is compared with arm64.",
        ),
    )


def find_region(nodes: Iterable[NodeState]) -> str | None:
    """Return the region that the nodes' labels name, None where they name none, or several."""
    found = {dict(node.shape.labels).get(REGION) or find_zone_region(node.zone or "") for node in nodes} - {None}
    return found.pop() if len(found) == 1 else None


def find_label_group(node: NodeState) -> str:
    """Return the NodePool or managed node group that a node's labels name, empty without one."""
    labels = dict(node.shape.labels)
    return labels.get(KARPENTER_NODE_POOL) or labels.get(EKS_NODE_GROUP) or ""


def _list_bought(plan: Plan, group: NodeGroupPlan, nodes: int) -> list[tuple[PricedCapacity, int]]:
    return list_capacities(get_capacity(plan, group), group.split(nodes))


def _planned(plan: Plan, pricing: Pricing) -> Iterator[CostLine]:
    for group in plan.node_groups:
        for capacity, nodes in _list_bought(plan, group, group.sizes.desired):
            yield CostLine(
                group=group.name,
                architecture=group.architecture,
                capacity_type=capacity.capacity_type,
                instance_types=capacity.types,
                nodes=nodes,
                monthly=pricing.month(capacity, nodes),
            )


def _lines(nodes: Iterable[NodeState], prices: NodePrices) -> Iterator[CostLine]:
    """Yield one line for each group, architecture, capacity type and choice of instance types, sorted."""
    found: dict[tuple[str, Architecture, CapacityType | None, tuple[str, ...]], list[NodeState]] = {}
    for node in nodes:
        capacity = prices.capacity(node)
        types = capacity.types if capacity else (node.instance_type,) if node.instance_type else ()
        bought = capacity.capacity_type if capacity else node.capacity_type
        found.setdefault((node.group, node.shape.architecture, bought, types), []).append(node)
    for key in sorted(found, key=lambda each: (each[0], each[1], each[2] or "", each[3])):
        yield CostLine(*key, nodes=len(found[key]), monthly=sum_amounts(map(prices.month, found[key])))


def _pools(plan: Plan) -> Iterator[OtherAmount]:
    """Yield NodePools, whose nodes are as many as pods need."""
    for pool in plan.autoscaling.pools:
        yield OtherAmount(f"NodePool {pool.name}", UnknownPrice(f"{pool.owner} adds nodes as pods need them"))


def _notes(plan: Plan, pricing: Pricing, nodes: Sequence[NodeState] | None, *, running: bool) -> Iterator[str]:
    yield from list_price_notes(pricing)
    existing = isinstance(plan.cluster, ExistingClusterPlan)
    if plan.session.needs_key or not existing:
        yield "Not counted: KMS keys (1)."
    if existing:
        yield f"Control plane and network of the existing cluster {plan.cluster.name} are not the stack's."
    if nodes is None:
        yield "Node groups count with their desired size."
    elif not running:
        yield "Nodes: each group's desired size, and those that the autoscaler would add for the pods in the files."
    if plan.fargate_profiles:
        yield "Not counted: pods on Fargate."
    if plan.autoscaling.auto_mode:
        yield "Nodes of EKS Auto Mode count with its fee for each instance."
    if reserved := ", ".join(plan.reserved):
        yield (
            f"Nodes of {reserved} count with their on-demand price. A capacity reservation costs the same without "
            "nodes: what they leave of it is not counted."
        )
    if not running and any(line.capacity_type == "spot" for line in plan.node_groups):
        yield "Spot nodes count with the mean of the last prices of their instance types and zones."


def list_price_notes(pricing: Pricing) -> Iterator[str]:
    """Yield from when the prices are, and what they do not include."""
    if (prices := pricing.known) is not None:
        yield f"Prices of {prices.region} of {prices.fetched:%Y-%m-%d %H:%M} UTC, 730 hours, {OMITTED}."
    if pricing.stale:
        yield f"{pricing.stale}."


def get_node_share(wanted: ResourceAmounts, allocatable: ResourceAmounts) -> Decimal:
    """Return the largest share that a pod requests of a node's resources, 0 to 1."""
    here = {"pods": allocatable.pods, **dict(allocatable.items())}
    asked = {"pods": wanted.pods, **dict(wanted.items())}
    shares = [Decimal(amount) / here[name] for name, amount in asked.items() if here.get(name, 0) > 0]
    return min(max(shares, default=Decimal(0)), Decimal(1))


def compute_label_costs(nodes: Iterable[NodeState], prices: NodePrices, label: str) -> tuple[LabelCost, ...]:
    """Return what the pods of each value of a label cost, the largest amount first, and what no pod requests.

    Where the pods of a node request more than all of it, by different resources, each pays its part of the node.
    """
    pods: dict[str | None, int] = {}
    amounts: dict[str | None, list[Amount]] = {}
    for node in nodes:
        month, taken = prices.month(node), Decimal(0)
        shares = [
            (dict(pod.labels).get(label, ""), get_node_share(pod.requests, node.shape.allocatable)) for pod in node.pods
        ]
        whole = max(sum((part for _, part in shares), Decimal(0)), Decimal(1))
        for value, part in shares:
            taken += part / whole
            pods[value] = pods.get(value, 0) + 1
            amounts.setdefault(value, []).append(multiply_amount(month, part / whole))
        amounts.setdefault(None, []).append(multiply_amount(month, max(1 - taken, Decimal(0))))
    found = [LabelCost(value, pods.get(value, 0), sum_amounts(each)) for value, each in amounts.items()]
    return tuple(sorted(found, key=lambda each: (*sort_by_amount(each.monthly), each.value or "")))
