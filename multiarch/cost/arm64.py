"""What pods on amd64 nodes would cost on arm64 nodes.

A pod costs the part of its node that it requests: the largest of its shares of CPU, memory, pods and each other
resource. On arm64 it would have the cheapest such part of a node of the stack: of the same capacity type if the stack
buys it for arm64, and of the same size if one of its instance types has that size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from multiarch.cost.model import CostReport, Saving
from multiarch.cost.pricing import PricedCapacity, Pricing, get_capacity, get_next_node_price, list_zones
from multiarch.cost.stack import NodePrices, compute_stack_costs, get_node_share
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType, list_instance_types
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import make_toleration
from multiarch.manifests.owners import WorkloadKey, find_top_owner
from multiarch.nodes.model import CapacityType
from multiarch.prices.amounts import multiply_amount, sort_by_amount, subtract_amounts, sum_amounts
from multiarch.prices.model import Amount, UnknownPrice
from multiarch.scheduling.affinity import NodeAffinity
from multiarch.scheduling.architectures import explain_exclusion, wrap_pod_spec
from multiarch.scheduling.fit import explain_never
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.simulate.offerings import list_priced_types
from multiarch.simulate.settled import NodeState
from multiarch.simulate.shapes import build_group_shape, build_pool_shape
from multiarch.stack.model import Plan

HOW_COMPARED = (
    "A pod costs the largest share that it requests of its node's resources; on arm64 that share of the cheapest node "
    "of the stack that takes it, of the same capacity type and size where there is one. What no pod requests is not "
    "compared."
)
_NOT_FOUND = "the workloads of pods on amd64 nodes were not found"


@dataclass(frozen=True, slots=True)
class _Offer:
    """A node that the stack can add."""

    shape: NodeShape
    instance: InstanceType
    capacity: PricedCapacity
    month: Amount


def compute_arm64_costs(
    plan: Plan,
    pricing: Pricing,
    nodes: Sequence[NodeState],
    blockers: Mapping[WorkloadKey, Sequence[str]],
    *,
    owners: Mapping[WorkloadKey, WorkloadKey] | None = None,
    running: bool = False,
) -> CostReport:
    """Return the costs of ``nodes``, and what pods on amd64 nodes cost more than they would on arm64.

    ``blockers`` says for each workload what keeps it off arm64, nothing if it may run there. A pod belongs to the
    workload that ``owners`` lead to from its own owner, such as from a Job to its CronJob.
    """
    prices = NodePrices(plan, pricing, running=running)
    offers = _Offers(plan, pricing)
    fallback: list[Amount] = []
    blocked: dict[WorkloadKey, list[Amount]] = {}
    unjudged = 0
    for node in nodes:
        if node.shape.architecture is not Architecture.AMD64:
            continue
        for pod in node.pods:
            key = find_top_owner(pod.workload, owners or {})
            if key not in blockers:
                unjudged += 1
                continue
            here = multiply_amount(prices.month(node), get_node_share(pod.requests, node.shape.allocatable))
            saved = subtract_amounts(here, offers.cheapest(pod, node, prices.capacity(node)))
            if blockers[key]:
                blocked.setdefault(key, []).append(saved)
            else:
                fallback.append(saved)
    savings = [
        Saving(key.namespace, str(key), tuple(blockers[key]), len(amounts), sum_amounts(amounts))
        for key, amounts in blocked.items()
    ]
    compared = sum_amounts(fallback) if fallback or not unjudged else UnknownPrice(_NOT_FOUND)
    report = compute_stack_costs(plan, pricing, nodes, running=running)
    notes = [HOW_COMPARED]
    if unjudged:
        notes.append(f"Pods on amd64 nodes whose workload was not found, and which are not compared: {unjudged}.")
    savings.sort(key=lambda each: (*sort_by_amount(each.monthly), each.namespace, each.workload))
    return replace(report, fallback=compared, savings=tuple(savings), notes=(*report.notes, *notes))


class _Offers:
    """The arm64 nodes of a stack, and the cheapest part of one for a pod."""

    def __init__(self, plan: Plan, pricing: Pricing) -> None:
        self._taint = plan.arm64_taint
        self._offers = tuple(_offers(plan, pricing))
        self._known: dict[tuple[object, ...], Amount] = {}

    def cheapest(self, pod: Pod, node: NodeState, capacity: PricedCapacity | None) -> Amount:
        """Return what the pod would cost in a month on arm64 instead of on ``node``."""
        bought = capacity.capacity_type if capacity else node.capacity_type
        key = (pod.spec, node.instance_type, bought)
        if key not in self._known:
            self._known[key] = self._cheapest(pod, list_instance_types().get(node.instance_type), bought)
        return self._known[key]

    def _cheapest(self, pod: Pod, now: InstanceType | None, bought: CapacityType | None) -> Amount:
        if not self._offers:
            return UnknownPrice("the stack has no arm64 node group or NodePool")
        spec = _without_architecture(pod.spec, self._taint)
        fitting = [each for each in self._offers if explain_never(spec, each.shape) is None]
        if not fitting:
            return UnknownPrice(f"no arm64 node of the stack takes pods of {pod.owner or pod.name}")
        same_way = [each for each in fitting if each.capacity.capacity_type is bought] or fitting
        size = None if now is None else (now.vcpus, now.memory_mib)
        alike = [each for each in same_way if (each.instance.vcpus, each.instance.memory_mib) == size] or same_way
        parts = [multiply_amount(each.month, get_node_share(pod.requests, each.shape.allocatable)) for each in alike]
        known = [each for each in parts if not isinstance(each, UnknownPrice)]
        return min(known) if known else parts[0]


def _without_architecture(spec: PodSpec, taint: Taint | None) -> PodSpec:
    """Return the spec once what keeps it off arm64 is changed: node selectors, required affinity, the stack's taint."""
    selector = tuple(pair for pair in spec.affinity.selector if _allows_arm64(NodeAffinity((pair,), None)))
    required = NodeAffinity((), spec.affinity.required)
    affinity = NodeAffinity(selector, required.required if _allows_arm64(required) else None)
    tolerations = (*spec.tolerations, *([make_toleration(taint)] if taint else []))
    return replace(spec, affinity=affinity, tolerations=tolerations)


def _allows_arm64(affinity: NodeAffinity) -> bool:
    return explain_exclusion(wrap_pod_spec({}), affinity, Architecture.ARM64) is None


def _offers(plan: Plan, pricing: Pricing) -> Iterator[_Offer]:
    region = plan.region
    for group in plan.node_groups:
        if group.architecture is Architecture.ARM64:
            capacity = get_capacity(plan, group)
            shape = build_group_shape(group, capacity.zones, region=region)
            month = get_next_node_price(plan, group, lambda each: pricing.month(each, 1))
            yield _Offer(shape, group.instance_types[0], capacity, month)
    owner = plan.autoscaling.pool_owner
    for pool in plan.autoscaling.pools:
        zones = list_zones(plan, pool.name)
        priced = () if pricing.known is None else list_priced_types(pool, pricing.known)
        for instance in priced or pool.instance_types:
            if instance.architecture is Architecture.ARM64 and owner:
                bought = pool.capacities[0].capacity_type
                capacity = PricedCapacity((instance.name,), bought, zones, pool.auto_mode)
                shape = build_pool_shape(pool, owner.node_class, instance, zones, region=region)
                yield _Offer(shape, instance, capacity, pricing.month(capacity, 1))
