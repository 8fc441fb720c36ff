"""Findings about permissions: what is gained, and what is only lost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from multiarch.review.model import Finding, ReviewRule, Risk
from multiarch.review.permissions.wording import limited
from multiarch.review.values import masked

NARROW = ReviewRule(
    "narrow-permissions",
    Risk.LOW,
    "permissions or network access that are taken away",
    "Does anything still use them?",
)


_MOST_LOST = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes for one subject, one line each. ``more`` and ``less`` are verbs: ``may do more``.

    ``outside``: it was changed outside of Pulumi.
    """

    subject: str
    more: str
    gained: Sequence[str]
    less: str
    lost: Sequence[str]
    urns: Collection[str]
    outside: bool = False


def report(rule: ReviewRule, difference: Difference, risk: Risk | None = None) -> Iterator[Finding]:
    """One finding of ``rule`` where something is gained, which also says what is lost; else one of ``NARROW``."""
    prefix = "changed outside of Pulumi: " if difference.outside else ""
    urns = tuple(sorted(difference.urns))
    gained, lost = (list(dict.fromkeys(map(masked, lines))) for lines in (difference.gained, difference.lost))
    if gained:
        details = [*gained[1:], *limited([f"{difference.less}: {each}" for each in lost], _MOST_LOST)]
        text = f"{prefix}{difference.more}: {gained[0]}{_rest(gained)}"
        yield Finding(rule, difference.subject, text, limited(details), urns, risk)
    elif lost:
        text = f"{prefix}{difference.less}: {lost[0]}{_rest(lost)}"
        yield Finding(NARROW, difference.subject, text, limited(lost[1:], _MOST_LOST), urns)


def _rest(lines: Sequence[str]) -> str:
    return f"; and {len(lines) - 1} more" if len(lines) > 1 else ""
