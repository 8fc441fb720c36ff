"""Which nodes are replaced, how many, at what pace, and for how long at most."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.nodes.model import NodeGroupKind
from multiarch.observed.resources.nodes import AUTO_SCALING_GROUP, MANAGED_GROUP
from multiarch.review.merging import merge_findings
from multiarch.review.model import StackChange
from multiarch.review.nodes import group_rolls, karpenter_rolls
from multiarch.review.nodes.cluster_version import get_version_change
from multiarch.review.nodes.group_ends import KEEP
from multiarch.review.nodes.group_states import GroupKind, list_group_changes
from multiarch.review.nodes.planned_rolls import find_planned_removals, find_planned_rolls
from multiarch.review.nodes.renames import list_renamings
from multiarch.review.planned import replace_planned_urns, with_planned_steps
from multiarch.review.properties import list_resources
from multiarch.rules import Finding


def find_node_rolls(change: StackChange) -> Iterator[Finding]:
    """Yield findings about node groups, then about Karpenter's nodes, each in the order of the preview's steps.

    Where the preview failed before a group, or there is none, the plans speak.
    """
    groups = list_group_changes(change)
    renamed = {each.old.subject: each.what for each in list_renamings(groups)}
    yield from group_rolls.find_group_rolls(change, renamed)
    yield from replace_planned_urns(merge_findings(karpenter_rolls.find_karpenter_rolls(with_planned_steps(change))))
    yield from find_kept_images(change)
    plans = change.plans
    if plans is not None and not change.preview.is_complete:
        seen = {step.name for step in list_resources(change.preview.steps, MANAGED_GROUP, AUTO_SCALING_GROUP)}
        yield from (each for each in find_planned_rolls(*plans) if each.subject.rpartition(" ")[2] not in seen)
        yield from find_planned_removals(groups, renamed)


def find_kept_images(change: StackChange) -> Iterator[Finding]:
    """Yield groups with an image of their own that an upgrade of Kubernetes leaves as they are.

    Source: Kubernetes, "Version Skew Policy": a kubelet is never newer than the API server, and at most three minors
    older.
    """
    upgrade, plans = get_version_change(change), change.plans
    if upgrade is None or plans is None:
        return
    images = {group.name: group.ami.id for group in plans[0].node_groups}
    for group in plans[1].node_groups:
        if group.ami.id and images.get(group.name) == group.ami.id:
            yield Finding(
                KEEP,
                f"{GroupKind.MANAGED if group.kind is NodeGroupKind.MANAGED else GroupKind.SELF_MANAGED} {group.name}",
                f"Its image {group.ami.id} stays, and with it the kubelet's version, while the control plane goes from "
                f"{upgrade.before} to {upgrade.after}.",
                ("A kubelet may be three minors older than the API server at most.",),
            )
