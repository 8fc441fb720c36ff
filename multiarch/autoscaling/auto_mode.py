"""The plan of EKS Auto Mode: NodePools and a NodeClass, which AWS's own Karpenter reads."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.autoscaling.model import AutoModePlan, Capacity, NodeClassPlan
from multiarch.autoscaling.pools import plan_pools
from multiarch.autoscaling.spec import ROOT, PoolSpec, list_pool_specs
from multiarch.autoscaling.syntax import check_grace_period, check_lifetime, parse_seconds
from multiarch.errors import KeyPath
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.auto_mode import DEFAULT_GRACE_PERIOD, DISK_GIB, LONGEST_LIFE_HOURS
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext
from multiarch.schema.autoscaling import AutoMode

PATH: KeyPath = (*ROOT, "autoMode")


def plan_auto_mode(
    settings: AutoMode, order: Sequence[Capacity], context: ClusterContext, report: ProblemReport
) -> AutoModePlan:
    """Derive the plan, reporting every problem."""
    specs = list_pool_specs(settings, existing=context.existing)
    if context.registry_mirrors:
        report("registry-mirrors-auto-mode", ("registryMirrors",), "nodes of EKS Auto Mode take no user data.")
    for spec in specs:
        _check_lifetime(spec, report)
    return AutoModePlan(
        # Its nodes run a variant of Bottlerocket of AWS's choice.
        node_class=NodeClassPlan(
            name=context.node_class,
            ami_family=str(AmiFamily.BOTTLEROCKET),
            ami_alias="",
            disk_size=DISK_GIB,
            imds_hop_limit=1,
            max_pods=None,
            subnet_ids=context.subnet_ids,
            role=settings.node_role or "",
        ),
        pools=plan_pools(specs, order, context, None, report),
        # The role of a cluster that the stack did not make has AWS's policies, which allow no tags of others.
        tagged=not context.existing,
    )


def _check_lifetime(spec: PoolSpec, report: ProblemReport) -> None:
    """Reject nodes that would live longer than Auto Mode's nodes may."""
    life, grace = spec.settings.expire_after, spec.settings.termination_grace_period or DEFAULT_GRACE_PERIOD
    if check_lifetime(life) or check_grace_period(grace):
        return  # :func:`check_pool` reports it
    if life == "Never" or parse_seconds(life) + parse_seconds(grace) > LONGEST_LIFE_HOURS * 3600:
        report(
            "auto-mode-lifetime",
            (*spec.path, "expireAfter"),
            f"expireAfter {life} and terminationGracePeriod {grace} are more than 21 days together; EKS Auto Mode "
            "rejects the NodePool.",
        )
