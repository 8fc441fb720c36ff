"""Migration from one autoscaler to the other: checks while both are installed."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.autoscaling.model import Autoscaler, ClusterAutoscalerPlan, KarpenterPlan
from multiarch.autoscaling.spec import ROOT
from multiarch.errors import KeyPath
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.schema.autoscaling import Autoscaling

PATH: KeyPath = (*ROOT, "migrateFrom")


def check_direction(settings: Autoscaling, report: ProblemReport) -> None:
    """Refuse a migration to no autoscaler or to the same one."""
    if settings.migrate_from is not None and settings.use == "none":
        report(
            "migration",
            PATH,
            f"{settings.migrate_from} is to be replaced, but autoscaling.use names no other autoscaler.",
            hint="Set use to the new autoscaler, or remove migrateFrom to have none.",
            value=settings.migrate_from,
        )
    elif settings.migrate_from == settings.use:
        report(
            "migration",
            PATH,
            f"{settings.use} can't replace itself.",
            value=settings.migrate_from,
        )


def check_capacity(
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
                PATH,
                "no node group can grow, so nothing would add nodes for the pods on Karpenter's nodes.",
                value=str(Autoscaler.KARPENTER),
            )
            return
    else:
        return
    for architecture in sorted(old - new):
        report(
            "migration-architecture",
            PATH,
            f"no {what} {architecture}, but {left} that are being replaced are: pods that need it would stay pending.",
            hint=f"Add {architecture} capacity, or ignore this if no pod needs it.",
            value=str(architecture),
        )
