"""``--fail-on``: the rules and risk levels that make the exit code 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from multiarch.errors import MultiarchError
from multiarch.review.digest import ReviewDigest
from multiarch.rules import REVIEW_RULES, Finding, Risk
from multiarch.stack.schema_paths import find_nearest

ALWAYS = "preview-failed"
"""A preview that does not show everything never passes."""


@dataclass(frozen=True, slots=True)
class ReviewFailOn:
    """Findings of these rules, or at least of this risk, fail."""

    rules: frozenset[str]
    risk: Risk | None

    def fails(self, finding: Finding) -> bool:
        """Return whether a finding fails."""
        return finding.rule.name in self.rules or (self.risk is not None and finding.level >= self.risk)


def parse_fail_on(written: Sequence[str]) -> ReviewFailOn:
    """Parse ``["replace-stateful,high"]``. Raises MultiarchError for what is neither a rule nor a level."""
    levels = {risk.name.lower(): risk for risk in Risk if risk is not Risk.NONE}
    names = [name.strip() for part in written for name in part.split(",") if name.strip()]
    for name in names:
        if name not in REVIEW_RULES and name not in levels:
            near = find_nearest(name, [*REVIEW_RULES, *levels])
            known = f"The levels are {', '.join(levels)}, the rules {', '.join(sorted(REVIEW_RULES))}."
            hint = f"Did you mean {near}?" if near else known
            raise MultiarchError(f"--fail-on: {name!r} is not a rule or a risk level.", hint=hint)
    wanted = [levels[name] for name in names if name in levels]
    rules = frozenset(name for name in names if name in REVIEW_RULES)
    return ReviewFailOn(rules | {ALWAYS}, min(wanted) if wanted else None)


def find_failing(digest: ReviewDigest, fail_on: ReviewFailOn) -> list[str]:
    """Return the names of the rules that fail, sorted."""
    return sorted({each.rule.name for stack in digest.stacks for each in stack.entries if fail_on.fails(each)})
