"""What an edit of a stack file will do, before there is a preview: to each group's nodes, and to the rest."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.review.acknowledged import AcknowledgedRule
from multiarch.review.digest import build_digest
from multiarch.review.model import StackChange
from multiarch.review.nodes.outcomes import list_node_outcomes
from multiarch.review.nodes.planned_rolls import ENDING, NodeOutcome
from multiarch.review.planned import with_planned_steps
from multiarch.review.stack_files import list_changed_keys
from multiarch.rules import Finding

_OF_NODES = frozenset({"roll-nodes", "remove-nodes", "no-preview"})


@dataclass(frozen=True, slots=True)
class StackDifference:
    """The stack file before and after, in words.

    ``nodes`` has every node group and NodePool of either side; ``keys`` a line for each key that differs; ``findings``
    what a review finds beside the nodes, worst first. ``new``: there was no such stack before.
    """

    stack: str
    new: bool
    nodes: tuple[NodeOutcome, ...]
    keys: tuple[str, ...]
    findings: tuple[Finding, ...]
    acknowledged: tuple[AcknowledgedRule, ...]

    @property
    def ends_nodes(self) -> bool:
        """Whether running nodes end."""
        return any(each.outcome in ENDING for each in self.nodes)


def compare_stack(change: StackChange) -> StackDifference:
    """Say what a change without a preview does; both of its plans are known, or the new one of a new stack."""
    (review,) = build_digest([change]).stacks
    return StackDifference(
        review.name,
        change.before is None,
        tuple(list_node_outcomes(with_planned_steps(change))),
        tuple(list_changed_keys(change)),
        tuple(entry for entry in review.entries if entry.rule.name not in _OF_NODES),
        review.acknowledged,
    )
