"""What the terminal and the Markdown of a review say in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multiarch.review.model import Operation
from multiarch.review.noise import PLUGIN_PATH
from multiarch.review.values import difference, resource_name

if TYPE_CHECKING:
    from multiarch.review.digest import StackReview
    from multiarch.review.model import Step

_PAST = {
    Operation.CREATE: "created",
    Operation.UPDATE: "updated",
    Operation.REPLACE: "replaced",
    Operation.DELETE: "deleted",
    Operation.IMPORT: "imported",
    Operation.READ: "read",
    Operation.FORGET: "left behind",
    Operation.DRIFT: "drifted",
}
_MOST = 5


def change_words(stack: StackReview) -> str:
    """``3 updated, 10 replaced; 75 stay the same``."""
    preview = stack.change.preview
    if not preview.source:
        return "stack file only, no preview"
    parts = [f"{count} {_PAST[operation]}" for operation, count in stack.operations.items()]
    same = sum(step.operation is Operation.SAME for step in preview.steps)
    text = ", ".join(parts) or "no resource changes"
    return f"{text}; {same} {'stays' if same == 1 else 'stay'} the same" if same else text


def left_out_words(stack: StackReview) -> str:
    """``9 tags-follow-group, 1 components``: changes, not warnings."""
    return (
        ", ".join(f"{count} {found.name}" for found, count in stack.left_out if found is not PLUGIN_PATH) or "nothing"
    )


def other_row(step: Step) -> tuple[str, str, str, str]:
    """A change that no finding is about: what happens, type, name, and what differs."""
    changed = [difference(step, path) for path in step.changed[:_MOST]]
    more = [f"{len(step.changed) - _MOST} more"] if len(step.changed) > _MOST else []
    return step.operation, step.type, resource_name(step), "; ".join([*changed, *more])
