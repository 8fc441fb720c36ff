"""Karpenter's plan: its version, and the nodes that its controller runs on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial

from multiarch.autoscaling.image import plan_image
from multiarch.autoscaling.model import Capacity, KarpenterPlan, NodeClassPlan, NodePoolPlan
from multiarch.autoscaling.pool_checks import check_reserved
from multiarch.autoscaling.pools import plan_pools
from multiarch.autoscaling.spec import ROOT, list_pool_specs
from multiarch.errors import KeyPath
from multiarch.facts.autoscalers import KARPENTER_CHART, parse_chart_version
from multiarch.facts.instance_types import POD_CEILING_SMALL, compute_max_pods
from multiarch.facts.kubernetes import get_release
from multiarch.facts.node_resources import get_allocatable
from multiarch.facts.tolerations import CRITICAL_ADDONS, make_toleration
from multiarch.nodes.checks import check_hop_limit
from multiarch.nodes.kubelet import check_room, plan_kubelet
from multiarch.nodes.model import CapacityType, KubeletPlan, NodeGroupKind, NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext
from multiarch.scheduling.tolerations import find_untolerated
from multiarch.schema.autoscaling import Karpenter

PATH: KeyPath = (*ROOT, "karpenter")
_RESERVED = ("cpu", "memory", "ephemeral-storage")
REPLICAS = 2
"""Controller replicas, one of them the leader, on different nodes."""
_LONGEST_QUEUE = 80
_NEEDS_IAM = ((1, 7, 0), (1, 8, 3))
"""From the first of these releases to before the last. https://github.com/aws/karpenter-provider-aws/issues/8609"""
_SINCE = {"placementGroup": (1, 11, 0), "capacityReservations": (1, 3, 0)}
"""Settings of an EC2NodeClass, and the release whose CRD has them. The API server drops fields that it has not."""


def plan_karpenter(
    settings: Karpenter,
    groups: Sequence[NodeGroupPlan],
    order: Sequence[Capacity],
    context: ClusterContext,
    report: ProblemReport,
    *,
    cordoned: bool,
) -> KarpenterPlan:
    """Derive Karpenter's plan, reporting every problem. ``cordoned``: a migration is replacing Karpenter."""
    version = group = queue = ""
    isolated = context.isolated if settings.isolated_vpc is None else settings.isolated_vpc
    if not settings.installed:
        version, queue = _version(settings, context, report, isolated=isolated), get_queue_name(context.name)
        group = _controller_group(settings, groups, context, report)
    alias, family = plan_image(settings, context, report)
    check_hop_limit(settings.imds_hop_limit, PATH, report)
    specs = list_pool_specs(settings, existing=context.existing)
    check_reserved(specs, settings.capacity_reservations, (*PATH, "capacityReservations"), report)
    pools = plan_pools(specs, order, context, family, report, cordoned=cordoned)
    kubelet = plan_kubelet(settings.kubelet, (*PATH, "kubelet"), family, report)
    if kubelet.config:
        _check_kubelet_room(pools, settings.disk_size, kubelet, report)
    return KarpenterPlan(
        settings,
        chart_version=version,
        queue=queue,
        controller_group=group,
        node_class=NodeClassPlan(
            name=context.node_class,
            ami_family=str(family),
            ami_alias=alias,
            disk_size=settings.disk_size,
            imds_hop_limit=settings.imds_hop_limit,
            max_pods=_max_pods(pools, context) if context.prefix_delegation else None,
            subnet_ids=context.subnet_ids,
            role=settings.node_role or "",
            kubelet=kubelet,
            registry_mirrors=context.registry_mirrors,
            instance_store=settings.instance_store_policy is not None,
            placement_group=settings.placement_group or "",
            capacity_reservations=tuple(sorted(settings.capacity_reservations)),
            custom_networking=context.custom_networking,
        ),
        pools=pools,
        cordoned=cordoned,
        isolated=isolated,
    )


def _check_kubelet_room(
    pools: Sequence[NodePoolPlan], disk_gib: int, kubelet: KubeletPlan, report: ProblemReport
) -> None:
    """Report settings that leave pods nothing on any instance type of a pool: Karpenter would never add a node."""
    allocatable = partial(get_allocatable, pods=1, disk_gib=disk_gib, reservations=kubelet.reservations)
    for pool in pools:
        if pool.instance_types:
            given = {name: any(allocatable(each)[name] > 0 for each in pool.instance_types) for name in _RESERVED}
            check_room(given, (*PATH, "kubelet"), report)


def _max_pods(pools: Sequence[NodePoolPlan], context: ClusterContext) -> int:
    """Return the max pods of all nodes, with prefix delegation: no more than the smallest type has addresses for.

    Karpenter does not know about prefix delegation and would count single addresses; its node class has one number.
    """
    types = {each for pool in pools for each in pool.instance_types}
    custom = context.custom_networking
    found = (compute_max_pods(each, prefix_delegation=True, custom_networking=custom) for each in types)
    return min([POD_CEILING_SMALL, *found])


def get_queue_name(cluster: str) -> str:
    """Name the interruption queue; SQS allows 80 characters, so a long cluster name is cut and gets a hash."""
    name = f"{cluster}-karpenter"
    if len(name) <= _LONGEST_QUEUE:
        return name
    digest = hashlib.sha256(cluster.encode()).hexdigest()[:8]
    return f"{cluster[: _LONGEST_QUEUE - 19]}-{digest}-karpenter"


def _version(settings: Karpenter, context: ClusterContext, report: ProblemReport, *, isolated: bool) -> str:
    """Return the chart's version, and report one that does not fit the cluster or this project's IAM policies."""
    version, path = settings.version or KARPENTER_CHART, (*PATH, "version")
    numbers, minimum = parse_chart_version(version), get_release(context.version).karpenter
    fault = ""
    if numbers < parse_chart_version(minimum):
        fault = f"Karpenter {version} does not work with Kubernetes {context.version}, which needs {minimum} or later."
    elif numbers[:2] > parse_chart_version(KARPENTER_CHART)[:2]:
        fault = f"the IAM policies here are those of Karpenter {KARPENTER_CHART}; {version} may need others."
    elif isolated and _NEEDS_IAM[0] <= numbers < _NEEDS_IAM[1]:
        fault = f"Karpenter {version} calls IAM also with isolatedVPC, and would never let go of its node class."
    else:
        used = {"placementGroup": settings.placement_group, "capacityReservations": settings.capacity_reservations}
        newer = [key for key, since in _SINCE.items() if used[key] and numbers < since]
        fault = f"the EC2NodeClass of Karpenter {version} has no field for {' and '.join(newer)}." if newer else ""
    if fault:
        report("karpenter-version", path, fault, hint=f"Omit version for {KARPENTER_CHART}.")
    return version


def _controller_group(
    settings: Karpenter, groups: Sequence[NodeGroupPlan], context: ClusterContext, report: ProblemReport
) -> str:
    """Return the group that the controller runs on, or an empty name after reporting a problem.

    The caller reports a stack without node groups.
    """
    if not groups:
        return ""
    path, chosen = (*PATH, "controllerGroup"), settings.controller_group
    faults = {group.name: _why_not(group, context) for group in groups}
    able = [name for name, fault in faults.items() if fault is None]
    hint = f"It can run on {', '.join(able)}." if able else "Add a managed on-demand group of two nodes."
    if chosen is None and not able:
        why = "; ".join(f"{name} {fault}" for name, fault in faults.items())
        report("controller-nowhere", path, f"Karpenter's controller has no node to run on: {why}.", hint=hint)
    elif chosen is None and len(able) > 1:
        fault = f"Karpenter's controller can run on any of {', '.join(able)}."
        report("controller-group", path, fault, hint="Name one; it must not run on nodes that it manages itself.")
    elif (name := chosen or able[0]) not in faults:
        fault = f"there is no node group {name!r} to run Karpenter's controller."
        report("controller-group", path, fault, hint=hint)
    elif faults[name] is not None:
        fault = f"Karpenter's controller can't run on {name}: it {faults[name]}."
        report("controller-group", path, fault, hint=hint)
        return name
    else:
        return _with_room(name, groups, path, report)
    return ""


def _why_not(group: NodeGroupPlan, context: ClusterContext) -> str | None:
    """Why the controller can't run on a group, or None; it tolerates the stack's arm64 taint and critical add-ons'."""
    tolerated = [CRITICAL_ADDONS]
    if context.arm64_taint is not None:
        tolerated.append(make_toleration(context.arm64_taint))
    if group.kind is not NodeGroupKind.MANAGED:
        return "is self-managed, and a launch template change would replace all controllers at once"
    if group.capacity_type is CapacityType.SPOT:
        return "is spot capacity, which AWS can interrupt at any time"
    if group.sizes.desired == 0:
        return "starts without nodes, and nothing would add one"
    if repelled := find_untolerated(tolerated, group.taints):
        return f"has the taint {repelled}, which the controller does not tolerate"
    return None


def _with_room(name: str, groups: Sequence[NodeGroupPlan], path: KeyPath, report: ProblemReport) -> str:
    group = next(each for each in groups if each.name == name)
    if group.sizes.minimum < REPLICAS:
        report(
            "controller-single-node",
            path,
            f"{name} may have {group.sizes.minimum} node; Karpenter's {REPLICAS} controllers need different nodes, and "
            "one would stay pending.",
            hint=f"Raise its minSize to {REPLICAS}.",
        )
    return name
