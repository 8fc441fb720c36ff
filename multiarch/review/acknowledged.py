"""Warnings that the stack file acknowledges after the change: a reviewer sees the reasons, and which are new."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.review.model import StackChange


@dataclass(frozen=True, slots=True)
class AcknowledgedRule:
    """A rule whose warnings the team accepts, and why. ``keys`` are where it warns; none for a rule of policies.

    ``new``: the stack file did not acknowledge it before, or for another reason.
    """

    rule: str
    reason: str
    keys: tuple[str, ...]
    new: bool

    def __str__(self) -> str:
        """Return ``new: ami-not-pinned (nodeGroups.web): until the next release``."""
        where = f" ({', '.join(self.keys)})" if self.keys else ""
        return f"{'new: ' if self.new else ''}{self.rule}{where}: {self.reason}"


def list_acknowledged(change: StackChange) -> tuple[AcknowledgedRule, ...]:
    """Return what the stack file acknowledges after the change, as it orders them; nothing where it is not valid."""
    plan, old = (version.plan if version else None for version in (change.after, change.before))
    if plan is None:
        return ()
    before = old.acknowledged if old else ()
    return tuple(
        AcknowledgedRule(
            rule,
            " ".join(reason.split()),
            tuple(each.key or "" for each in plan.warnings if each.rule == rule),
            (rule, reason) not in before,
        )
        for rule, reason in plan.acknowledged
    )
