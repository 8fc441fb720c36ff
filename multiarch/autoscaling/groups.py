"""The cluster autoscaler's plan: image, priorities and tags, from the node groups that the stack has."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.autoscaling.balancing import list_joined_priorities
from multiarch.autoscaling.expander import plan_priorities
from multiarch.autoscaling.model import Capacity, ClusterAutoscalerPlan
from multiarch.autoscaling.spec import ROOT
from multiarch.autoscaling.tags import build_autoscaler_tags, check_tags
from multiarch.errors import KeyPath
from multiarch.facts.autoscalers import CLUSTER_AUTOSCALER_CHART
from multiarch.facts.kubernetes import get_release
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext
from multiarch.schema.autoscaling import ClusterAutoscaler

PATH: KeyPath = (*ROOT, "clusterAutoscaler")
SCALE_UP_DELAY = 180
"""Seconds that the autoscaler being replaced ignores new pods: the new one launches a node in about one minute."""
LEAST_MAX_SIZE = 1
"""The smallest maxSize that EKS accepts for a managed group."""


def plan_cluster_autoscaler(
    settings: ClusterAutoscaler,
    groups: Sequence[NodeGroupPlan],
    order: Sequence[Capacity],
    context: ClusterContext,
    report: ProblemReport,
    *,
    kept: str | None = None,
    cordoned: bool,
) -> ClusterAutoscalerPlan:
    """Derive the plan, reporting every problem.

    ``cordoned``: a migration is replacing this autoscaler; ``kept`` names the group that stays, because the new one's
    controller runs on it.
    """
    _check_priorities(settings, groups, report)
    tags = [(group.name, build_autoscaler_tags(group, context.name)) for group in groups]
    for group in groups:
        check_tags(group, report)
    leaving = tuple(sorted(group.name for group in groups if cordoned and group.name != kept))
    for group in groups:
        closed_at = max(group.sizes.minimum, group.sizes.desired, LEAST_MAX_SIZE)
        if group.name in leaving and group.sizes.maximum > closed_at:
            report(
                "migration-sizes",
                (*group.path, "maxSize"),
                f"the cluster autoscaler, which is being replaced, may still add nodes to {group.name}, up to "
                f"{group.sizes.maximum}.",
            )
    priorities = plan_priorities(groups, order, written=settings.priorities, cordoned=leaving)
    return ClusterAutoscalerPlan(
        settings,
        chart_version=CLUSTER_AUTOSCALER_CHART,
        image_tag=get_release(context.version).autoscaler_image,
        priorities=priorities,
        tags=tuple(tags),
        cordoned=leaving,
        scale_up_delay_seconds=SCALE_UP_DELAY if cordoned else 0,
        not_balanced=list_joined_priorities(groups, {row.group: row.priority for row in priorities}),
    )


def _check_priorities(settings: ClusterAutoscaler, groups: Sequence[NodeGroupPlan], report: ProblemReport) -> None:
    names = sorted(group.name for group in groups)
    for name in sorted(settings.priorities):
        if name not in names:
            report(
                "priority-names-no-group",
                (*PATH, "priorities", name),
                f"there is no node group {name!r}.",
                hint=f"Groups are {', '.join(names) or 'none'}.",
            )
