"""Nodes of groups that are replaced or deleted: how many start and end, in which order, and how they are drained.

Sources: EKS user guide, "Delete a managed node group from your cluster"; the drain of self-managed nodes is that of
their lifecycle hook.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.observed.resources.nodes import MANAGED_GROUP, get_size_path
from multiarch.observed.resources.properties import to_integer
from multiarch.plurals import format_count
from multiarch.review.model import Operation, Step
from multiarch.review.properties import describe_change, get_after, get_before
from multiarch.rules import Finding, Risk, make_finding

DRAIN_MINUTES = 5
"""How long EKS drains a node of a deleted group: then the instance ends in any case."""


def find_end(step: Step, subject: str, drain: str, successor: str) -> Iterator[Finding]:
    """Yield the finding of a group that is replaced or deleted; nothing for other operations.

    ``drain`` says how self-managed nodes are drained; ``successor`` what becomes of the group, or nothing.
    """
    nodes = count_nodes(step)
    if step.type == MANAGED_GROUP:
        drain = (
            f"EKS drains each node of a deleted group for {DRAIN_MINUTES} minutes at most, then its instance ends, "
            "also against PodDisruptionBudgets."
        )
    details = (*((drain,) if nodes != 0 else ()), *explain_count(nodes))
    if step.old is not None and step.old.protect:
        details = (*details, "It is protected: Pulumi rejects this until `protect` is removed in an update of its own.")
    if step.operation is Operation.REPLACE:
        starts = to_integer(get_after(step, get_size_path(step.type, "desiredSize")))
        more = _replacement_details(step, nodes, starts)
        text, risk = f"The group is replaced: {_order(step, nodes, starts)}.", Risk.HIGH if step.deletes_first else None
        yield make_finding("roll-nodes", subject, text, (*more, *details), (step.urn,), risk)
    elif step.operation is Operation.DELETE:
        who = "EKS drains" if step.type == MANAGED_GROUP else "EC2 Auto Scaling ends"
        together = "" if nodes in (0, 1) else " at the same time"
        what = f"The group is deleted: {who} {format_nodes(nodes)}{together}."
        if successor:
            yield make_finding(
                "roll-nodes", subject, what, (f"It has a successor: {successor}.", *details), (step.urn,)
            )
        else:
            yield make_finding("remove-nodes", subject, what, details, (step.urn,), Risk.LOW if nodes == 0 else None)


def count_nodes(step: Step) -> int | None:
    """Return the desired size that AWS reported last, or None."""
    return to_integer(get_before(step, get_size_path(step.type, "desiredSize")))


def _order(step: Step, nodes: int | None, starts: int | None) -> str:
    new = "new nodes start" if starts is None else f"{format_count(starts, 'new node')} {_verb('start', starts)}"
    old = f"{format_nodes(nodes, 'old node')} {_verb('end', nodes)}{'' if nodes in (0, 1) else ' at the same time'}"
    if step.deletes_first is None:
        return f"{new}, and {old}"
    return f"{old}, then {new}" if step.deletes_first else f"{new}, then {old}"


def _verb(verb: str, nodes: int | None) -> str:
    return f"{verb}s" if nodes == 1 else verb


def _replacement_details(step: Step, nodes: int | None, starts: int | None) -> Iterator[str]:
    """Yield why a group is replaced, with both values where they are short, and what is missing meanwhile."""
    if roots := dict.fromkeys(cause.partition("[")[0] for cause in step.causes):
        yield f"Reason: {'; '.join(describe_change(step, root, root) for root in roots)}."
    if step.deletes_first is None:
        yield "Whether the new nodes start first, this preview does not say; the engine's event log does."
    if nodes is not None and starts is not None and starts < nodes:
        yield (
            f"The new group starts with {starts} of {nodes} nodes: the other pods wait until the autoscaler adds nodes."
        )


def explain_count(nodes: int | None) -> Sequence[str]:
    """Return where the number of nodes comes from."""
    if nodes is None:
        return ()
    return (
        f"{format_count(nodes, 'node')}: the desired size in the state; an autoscaler may change it before the update.",
    )


def format_nodes(nodes: int | None, noun: str = "node") -> str:
    """Return ``all 3 nodes``, ``its node``, ``no nodes``; ``all nodes`` if their number is not known."""
    if nodes is None:
        return f"all {noun}s"
    return f"its {noun}" if nodes == 1 else f"all {nodes} {noun}s" if nodes else f"no {noun}s"
