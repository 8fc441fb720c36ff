"""What node groups and NodePools can't work without: drivers in their images, and room beside the add-ons' pods."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.autoscaling import image
from multiarch.autoscaling.model import KarpenterPlan
from multiarch.facts.addon_daemon_sets import list_daemons
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.drivers import explain_missing_driver
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.schema.addons import Addons


def check_drivers(
    groups: Sequence[NodeGroupPlan], karpenter: KarpenterPlan | None, report: ProblemReport, *, pinning: bool, efa: bool
) -> None:
    """Reject EKS images without a driver for the instance types; with ``pinning``, those that AWS chooses pass.

    ``efa``: the stack has the EFA device plugin, so that pods may use the interfaces of Karpenter's nodes.
    """
    for group in groups:
        ami = group.ami
        if ami.release is None and (pinning or ami.id is not None):
            continue
        faults = (
            explain_missing_driver(group.family, each, ami.release, efa=group.efa) for each in group.instance_types
        )
        if fault := next(filter(None, faults), None):
            pin = "`multiarch stack pin --upgrade STACK`" if ami.release else "`multiarch stack pin STACK`"
            own = group.kind is NodeGroupKind.SELF_MANAGED
            hint = "Give ami.id." if own else f"Pin such a release with {pin}, or give ami.id."
            report("driver-too-old", (*group.path, "instanceTypes"), f"{fault}.", hint=hint)
    if karpenter is None or (pinning and not image.is_pinned(karpenter.node_class.ami_alias)):
        return
    family, release = AmiFamily(karpenter.node_class.ami_family), karpenter.node_class.ami_alias.partition("@")[2]
    types = (each for pool in karpenter.pools for each in pool.instance_types)
    faults = (explain_missing_driver(family, each, release, efa=efa) for each in types)
    if fault := next(filter(None, faults), None):
        report("driver-too-old", image.PATH, f"{fault}.")


def check_room_for_pods(addons: Addons, groups: Sequence[NodeGroupPlan], report: ProblemReport) -> None:
    """Reject nodes that the add-ons' own DaemonSets fill."""
    rows = [row for row in addons.list_enabled() if row.is_known]
    daemons = [each.name for row in rows for each in list_daemons(row.name)]
    for group in groups:
        if group.max_pods <= len(daemons):
            report(
                "no-room-for-pods",
                (*group.path, "instanceTypes"),
                f"a node of {group.name} takes {group.max_pods} pods, and each runs {len(daemons)} of the add-ons: "
                f"{', '.join(daemons)}.",
            )
