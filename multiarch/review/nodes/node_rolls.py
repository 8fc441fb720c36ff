"""Which nodes are replaced, how many, at what pace, and for how long at most."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.observed.resources.nodes import AUTO_SCALING_GROUP, MANAGED_GROUP
from multiarch.review.merging import merge_findings
from multiarch.review.model import StackChange
from multiarch.review.nodes import group_rolls, karpenter_rolls
from multiarch.review.nodes.cluster_version import get_version_change
from multiarch.review.nodes.group_states import GroupKind, list_group_changes
from multiarch.review.nodes.outcomes import list_node_outcomes
from multiarch.review.nodes.planned_rolls import NodeOutcome, Outcome, explain_move
from multiarch.review.nodes.renames import find_renames
from multiarch.review.planned import replace_planned_urns, with_planned_steps
from multiarch.review.properties import list_resources
from multiarch.rules import Finding, Risk, make_finding

_NO_NUMBER = "How many nodes, and for how long, a preview says: the stack file does not."


def find_node_rolls(change: StackChange) -> Iterator[Finding]:
    """Yield findings about node groups, then about Karpenter's nodes, each in the order of the preview's steps.

    Where the preview failed before a group, or there is none, the plans speak.
    """
    groups = list_group_changes(change)
    renamed = find_renames(groups)
    yield from group_rolls.find_group_rolls(change, renamed)
    yield from replace_planned_urns(merge_findings(karpenter_rolls.find_karpenter_rolls(with_planned_steps(change))))
    yield from find_kept_images(change)
    plans = change.plans
    if plans is not None and not change.preview.is_complete:
        seen = {step.name for step in list_resources(change.preview.steps, MANAGED_GROUP, AUTO_SCALING_GROUP)}
        moved = explain_move(*plans)
        for each in list_node_outcomes(with_planned_steps(change)):
            if moved or (each.kind is not GroupKind.NODE_POOL and each.name not in seen):
                yield from _find_planned(each, Risk.HIGH if moved else None)


def _find_planned(group: NodeOutcome, risk: Risk | None) -> Iterator[Finding]:
    """Yield what the stack files alone say of a group whose nodes end."""
    because = (f"Reason: {'; '.join(group.reasons)}.", _NO_NUMBER)
    if group.outcome is Outcome.ROLLS:
        yield make_finding("roll-nodes", group.subject, f"Its nodes are replaced, {group.pace}.", because, (), risk)
    elif group.outcome is Outcome.REPLACED:
        text = f"The group is replaced: new nodes start, and the old nodes end, {group.pace}."
        yield make_finding("roll-nodes", group.subject, text, because, (), risk)
    elif group.outcome is Outcome.DELETED:
        successor = [f"It has a successor: {each}." for each in group.reasons]
        text = "The group is deleted, and all of its nodes end."
        yield make_finding("roll-nodes" if successor else "remove-nodes", group.subject, text, (*successor, _NO_NUMBER))


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
            yield make_finding(
                "keep-old-nodes",
                f"{GroupKind[group.kind.name]} {group.name}",
                f"Its image {group.ami.id} stays, and with it the kubelet's version, while the control plane goes from "
                f"{upgrade.before} to {upgrade.after}.",
                ("A kubelet may be three minors older than the API server at most.",),
            )
