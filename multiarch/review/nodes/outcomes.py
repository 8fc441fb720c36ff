"""What a change of the stack file does to each node group and NodePool: its nodes stay, roll, are replaced, or end.

The judgement is that of :mod:`planned_rolls` and :mod:`karpenter_rolls`, from the plans alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from multiarch.nodes.model import BootstrapCase
from multiarch.review.model import Operation, StackChange
from multiarch.review.nodes.group_states import GroupChange, GroupKind, list_group_changes
from multiarch.review.nodes.karpenter_rolls import list_pool_rolls
from multiarch.review.nodes.planned_rolls import ALL_AT_ONCE, NodeOutcome, Outcome, explain_move, list_ended_groups
from multiarch.review.nodes.renames import find_renames
from multiarch.review.planned import CLUSTER, VPC, explain_fixed_value
from multiarch.review.properties import list_resources


def list_node_outcomes(change: StackChange) -> Iterator[NodeOutcome]:
    """Yield the outcome of every node group and NodePool, node groups first, by name.

    ``change`` has a step for each resource that the plans declare (:func:`multiarch.review.planned.with_planned_steps`)
    and both plans, or the new one alone for a new stack.
    """
    groups, plans = list_group_changes(change), change.plans
    if plans is None:
        yield from (_of(group, Outcome.NEW) for group in groups if group.after)
        return
    fixed = _list_replaced_bases(change) or [*filter(None, (explain_move(*plans),))]
    ends = {each.subject: each for each in list_ended_groups(*plans)}
    rolls = _list_rolls(change)
    renamed = find_renames(groups)
    looked_up = {
        group.name for group in plans[1].node_groups if group.case is BootstrapCase.SELF_MANAGED and not group.ami.id
    }
    for group in groups:
        end = ends.get(group.subject)
        if group.before is None:
            yield _of(group, Outcome.NEW)
        elif group.after is None:
            successor = renamed.get(group.subject)
            yield _of(group, Outcome.DELETED, ALL_AT_ONCE, [successor] if successor else ())
        elif fixed:
            yield _of(group, Outcome.REPLACED, ALL_AT_ONCE, fixed)
        elif end:
            yield end
        elif group.name in rolls and group.kind is GroupKind.NODE_POOL:
            yield _of(group, Outcome.ROLLS, *rolls[group.name])
        elif group.name in looked_up and group.kind is GroupKind.SELF_MANAGED:
            why = "unless AWS has released another image: without ami.id it is looked up at every run"
            yield _of(group, Outcome.STAYS, "", [why])
        else:
            yield _of(group, Outcome.STAYS)


def _of(group: GroupChange, outcome: Outcome, pace: str = "", reasons: Sequence[str] = ()) -> NodeOutcome:
    return NodeOutcome(group.kind, group.name, outcome, pace, tuple(reasons))


def _list_replaced_bases(change: StackChange) -> list[str]:
    """Return why the cluster or its network is not the same afterwards, with which every node ends."""
    return [
        explain_fixed_value(step)
        or f"{'the cluster' if step.type == CLUSTER else 'the VPC'} is {step.operation}d"
        + (f" ({', '.join(step.causes)})" if step.causes else "")
        for step in list_resources(change.preview.steps, CLUSTER, VPC)
        if step.operation in (Operation.REPLACE, Operation.DELETE)
    ]


def _list_rolls(change: StackChange) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return the pace and the reasons of each NodePool whose nodes are replaced."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for roll in list_pool_rolls(change):
        reasons = roll.reasons if roll.whole else [f"nodes that no longer fit: {'; '.join(roll.reasons)}"]
        found[roll.name] = (roll.pace, (*found.get(roll.name, ("", ()))[1], *reasons))
    return found
