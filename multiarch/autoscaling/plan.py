"""The plans of the autoscalers, from the settings under ``autoscaling``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from multiarch.autoscaling.auto_mode import plan_auto_mode
from multiarch.autoscaling.controller import plan_karpenter
from multiarch.autoscaling.groups import plan_cluster_autoscaler
from multiarch.autoscaling.installed import check_installed
from multiarch.autoscaling.model import (
    AutoModePlan,
    Autoscaler,
    AutoscalingPlan,
    Capacity,
    ClusterAutoscalerPlan,
    KarpenterPlan,
    NodePoolPlan,
    order_capacities,
    parse_capacity,
)
from multiarch.autoscaling.owner_flags import list_owner_flags
from multiarch.autoscaling.spec import ROOT
from multiarch.errors import KeyPath
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType, Derived, NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext
from multiarch.schema.autoscaling import Autoscaling

SPOT_ROLE = "AWSServiceRoleForEC2Spot"
"""The service-linked role that EC2 needs for spot launches through its API. It belongs to the account.

Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
"""
_MIGRATE_FROM: KeyPath = (*ROOT, "migrateFrom")
_KEYS = {
    Autoscaler.CLUSTER_AUTOSCALER: "clusterAutoscaler",
    Autoscaler.KARPENTER: "karpenter",
    Autoscaler.AUTO_MODE: "autoMode",
}


def plan_autoscaling(
    settings: Autoscaling, groups: Sequence[NodeGroupPlan], context: ClusterContext, report: ProblemReport
) -> AutoscalingPlan:
    """Derive the autoscalers' plans, reporting every problem.

    ``groups`` must be all node groups of the stack: the checks need every one. The caller reports a stack without any.
    """
    use, order = Autoscaler(settings.use), _order(settings)
    installed = {settings.use, settings.migrate_from}
    _check_conflicts(settings, report)
    check_installed(settings, context, report)
    karpenter = autoscaler = None
    if Autoscaler.KARPENTER in installed:
        leaving = use is not Autoscaler.KARPENTER
        karpenter = plan_karpenter(settings.karpenter, groups, order, context, report, cordoned=leaving)
    if Autoscaler.CLUSTER_AUTOSCALER in installed:
        autoscaler = plan_cluster_autoscaler(
            settings.cluster_autoscaler,
            groups,
            order,
            context,
            report,
            kept=karpenter.controller_group if karpenter else None,
            cordoned=use is not Autoscaler.CLUSTER_AUTOSCALER,
        )
    auto_mode = None
    if use is Autoscaler.AUTO_MODE and settings.migrate_from is None:
        auto_mode = plan_auto_mode(settings.auto_mode, order, context, report)
    if autoscaler and karpenter:
        _check_capacity(groups, autoscaler, karpenter, report)
    elif autoscaler and use is Autoscaler.CLUSTER_AUTOSCALER:
        _check_room(groups, report)
    owner = karpenter or auto_mode
    _check_order(settings, order, groups, owner.pools if owner else (), report)
    derived = tuple(_explained(settings, order, autoscaler, owner, context.name))
    return AutoscalingPlan(use, order, autoscaler, karpenter, derived, auto_mode)


def _order(settings: Autoscaling) -> tuple[Capacity, ...]:
    if settings.order:
        return tuple(map(parse_capacity, settings.order))
    pools = (*settings.karpenter.node_pools.values(),)
    return order_capacities(
        Architecture(settings.prefer), reserved=any(CapacityType.RESERVED in pool.capacity_types for pool in pools)
    )


def _check_conflicts(settings: Autoscaling, report: ProblemReport) -> None:
    """Reject settings that are mutually exclusive, and warn about settings without effect."""
    order = settings.order or ()
    if {"prefer", "order"} <= settings.written:
        report(
            "prefer-and-order",
            (*ROOT, "prefer"),
            f"prefer: {settings.prefer} and order: [{', '.join(order)}] are both given; order makes prefer redundant.",
        )
    _check_direction(settings, report)
    for each, key in _KEYS.items():
        if key in settings.written and each not in {settings.use, settings.migrate_from}:
            report(
                "autoscaler-not-used",
                (*ROOT, key),
                f"settings of {each} have no effect while autoscaling.use is {settings.use}.",
                hint=f"Set use: {each}, or remove them.",
            )


def _check_direction(settings: Autoscaling, report: ProblemReport) -> None:
    """Reject a migration to no autoscaler or to the same one."""
    if settings.migrate_from is not None and settings.use == "none":
        report(
            "migration",
            _MIGRATE_FROM,
            f"{settings.migrate_from} is to be replaced, but autoscaling.use names no other autoscaler.",
            hint="Set use to the new autoscaler, or remove migrateFrom to have none.",
        )
    elif settings.migrate_from is not None and settings.use == "auto-mode":
        report(
            "migration",
            _MIGRATE_FROM,
            f"a stack can't move from {settings.migrate_from} to EKS Auto Mode with both running.",
            hint="Create a stack with use: auto-mode, and move the workloads to its cluster.",
        )
    elif settings.migrate_from == settings.use:
        report("migration", _MIGRATE_FROM, f"{settings.use} can't replace itself.")


def _check_capacity(
    groups: Sequence[NodeGroupPlan], autoscaler: ClusterAutoscalerPlan, karpenter: KarpenterPlan, report: ProblemReport
) -> None:
    """Report architectures for which the new autoscaler could add no node.

    The old autoscaler is the one whose groups or pools are cordoned. The caller reports a stack without node groups.
    """
    if not groups:
        return
    pools = {capacity.architecture for pool in karpenter.pools for capacity in pool.capacities}
    if autoscaler.cordoned:
        old = {group.architecture for group in groups if group.name in autoscaler.cordoned}
        new, what, left = pools, "NodePool is", "node groups"
    elif karpenter.cordoned:
        new = {group.architecture for group in groups if group.sizes.maximum > group.sizes.minimum}
        old, what, left = pools, "node group that may grow is", "NodePools"
        if not new:
            report(
                "migration-no-room",
                _MIGRATE_FROM,
                "no node group can grow, so nothing would add nodes for the pods on Karpenter's nodes.",
            )
            return
    else:
        return
    for architecture in sorted(old - new):
        report(
            "migration-architecture",
            _MIGRATE_FROM,
            f"no {what} {architecture}, but {left} that are being replaced are: pods that need it would stay pending.",
            hint=f"Add {architecture} capacity, or ignore this if no pod needs it.",
        )


def _check_room(groups: Sequence[NodeGroupPlan], report: ProblemReport) -> None:
    """Warn where the cluster autoscaler has nothing to do: no group can grow or shrink."""
    if groups and all(group.sizes.minimum == group.sizes.maximum for group in groups):
        fixed = ", ".join(sorted(f"{group.name} ({group.sizes.maximum})" for group in groups))
        report(
            "no-group-can-grow",
            (*ROOT, "use"),
            f"the cluster autoscaler can't add or remove nodes: minSize equals maxSize in {fixed}.",
        )


def _check_order(
    settings: Autoscaling,
    order: Sequence[Capacity],
    groups: Sequence[NodeGroupPlan],
    pools: Sequence[NodePoolPlan],
    report: ProblemReport,
) -> None:
    """Reject an order or preference for capacity that the autoscaler in use can't add."""
    if settings.use == "none":
        return
    if settings.use in {"karpenter", "auto-mode"}:
        capacities, which = {capacity for pool in pools for capacity in pool.capacities}, "NodePool"
        way = "let a pool buy it by its architectures and capacityTypes"
    else:
        capacities, which = {Capacity(group.architecture, group.capacity_type) for group in groups}, "node group"
        way = "add a group of that architecture and capacityType"
    if settings.order and "order" in settings.written:
        for index, capacity in enumerate(order):
            if capacity not in capacities:
                report(
                    "order-names-no-group",
                    (*ROOT, "order", index),
                    f"no {which} is {capacity}.",
                    hint=f"Remove it, or {way}; there are {_listed(capacities)}.",
                )
    elif "prefer" in settings.written and settings.prefer not in {capacity.architecture for capacity in capacities}:
        report(
            "prefer-names-no-group",
            (*ROOT, "prefer"),
            f"no {which} is {settings.prefer}.",
            hint=f"Add one, or omit prefer; there are {_listed(capacities)}.",
        )


def _listed(capacities: Iterable[Capacity]) -> str:
    return ", ".join(str(capacity) for capacity in sorted(capacities)) or "none"


def _explained(
    settings: Autoscaling,
    order: Sequence[Capacity],
    autoscaler: ClusterAutoscalerPlan | None,
    owner: KarpenterPlan | AutoModePlan | None,
    cluster: str,
) -> Iterator[Derived]:
    """Yield each priority and weight with its rule, for ``stack explain``."""
    if settings.use == "none":
        return
    first = "reserved first, then " if any(each.capacity_type is CapacityType.RESERVED for each in order) else ""
    rule = "set in autoscaling.order" if settings.order else f"{first}{settings.prefer} first; spot before on-demand"
    yield Derived("order", " > ".join(map(str, order)), rule)
    if autoscaler:
        yield from _explained_priorities(autoscaler, cluster)
    if owner:
        yield from _explained_controller(owner)
        for pool in owner.pools:
            value = f"{pool.weight} ({len(pool.instance_types)} types)"
            yield Derived(f"weight of {pool.name}", value, pool.weight_rule)


def _explained_priorities(autoscaler: ClusterAutoscalerPlan, cluster: str) -> Iterator[Derived]:
    if autoscaler.settings.installed:
        flags = " ".join(list_owner_flags(autoscaler, cluster))
        yield Derived("flags of the autoscaler", flags, "set by its owner")
    else:
        yield Derived("image of the autoscaler", autoscaler.image_tag, "same minor version as the cluster")
    for row in autoscaler.priorities:
        yield Derived(f"priority of {row.group}", str(row.priority), row.rule)
    for first, second in autoscaler.not_balanced[:1]:
        yield Derived(
            "balancing of similar groups", "off", f"{first} and {second} are similar and have different priorities"
        )


def _explained_controller(owner: KarpenterPlan | AutoModePlan) -> Iterator[Derived]:
    if isinstance(owner, AutoModePlan):
        yield Derived("controller and image of the nodes", "AWS's", "EKS Auto Mode replaces nodes at each new image")
        if role := owner.node_class.role:
            yield Derived("role of the nodes", role, "set in autoMode.nodeRole")
    else:
        yield from _explained_karpenter(owner)


def _explained_karpenter(karpenter: KarpenterPlan) -> Iterator[Derived]:
    if karpenter.settings.installed:
        yield Derived("role of the nodes", karpenter.node_class.role, "set in karpenter.nodeRole")
    else:
        yield Derived("controller", karpenter.controller_group, "a node group, which Karpenter does not manage")
    if karpenter.isolated:
        rule = "without internet access Karpenter can't reach IAM and the price list"
        yield Derived("isolated VPC", "instance profile of the stack, prices of Karpenter's release", rule)
    yield Derived("image of the nodes", karpenter.node_class.ami_alias, "one alias has images for both architectures")
    if reservations := karpenter.node_class.capacity_reservations:
        rule = "for pools with reserved; with the feature gate ReservedCapacity, others never use a reservation"
        yield Derived("capacity reservations", ", ".join(reservations), rule)
    if karpenter.node_class.max_pods is not None:
        rule = "prefix delegation; no more than the smallest type of all pools has addresses for, and 110 at most"
        yield Derived("maxPods of the nodes", str(karpenter.node_class.max_pods), rule)
    spot = any(capacity.capacity_type is CapacityType.SPOT for pool in karpenter.pools for capacity in pool.capacities)
    if spot and not karpenter.cordoned:
        yield Derived(
            "spot needs", SPOT_ROLE, "service-linked role of the AWS account; create it once, Karpenter can't"
        )
