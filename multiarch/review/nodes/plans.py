"""The plans on both sides of a change."""

from __future__ import annotations

from multiarch.review.model import Change
from multiarch.stack.model import Plan


def both_plans(change: Change) -> tuple[Plan, Plan] | None:
    """The plan before and the plan after the change; None unless both are known."""
    old = change.before.plan if change.before else None
    new = change.after.plan if change.after else None
    return (old, new) if old is not None and new is not None else None


def preview_is_complete(change: Change) -> bool:
    """Whether the preview shows every resource that changes; False for one that failed, or without a preview."""
    return change.preview.succeeded and bool(change.preview.steps)
