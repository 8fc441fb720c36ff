"""A rule of check, review or the policies, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Severity(StrEnum):
    """How bad a problem is: an error rejects the stack, a warning is shown and passes."""

    ERROR = "error"
    WARNING = "warning"


class Risk(IntEnum):
    """How much a finding of a review matters. The name in lower case is what people read and write."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``name`` is a stable kebab-case identifier.

    ``finds`` names in a few words what is wrong; for ``stack check`` it completes "refuses …". ``way_out`` is shown
    with each problem that has no more specific hint; of a review it is what a reviewer should check before agreeing.
    ``risk`` is that of a review's rules.
    """

    name: str
    severity: Severity
    finds: str
    way_out: str
    risk: Risk = Risk.NONE


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    ``subject`` names what it is about in the team's words (``node group graviton``, ``IAM role cluster``); ``text`` is
    one sentence; ``details`` are further lines, one fact each. ``urns`` are the resources it was found in. ``risk`` is
    the rule's unless the finding knows better. ``undecided``: the update will show it, and nothing is known before.
    """

    rule: Rule
    subject: str
    text: str
    details: tuple[str, ...] = ()
    urns: tuple[str, ...] = ()
    risk: Risk | None = None
    undecided: bool = False

    @property
    def level(self) -> Risk:
        """How much this finding matters."""
        return self.rule.risk if self.risk is None else self.risk


def error(name: str, finds: str, way_out: str) -> Rule:
    """Return a rule whose findings are errors."""
    return Rule(name, Severity.ERROR, finds, way_out)


def warning(name: str, finds: str, way_out: str) -> Rule:
    """Return a rule whose findings are warnings."""
    return Rule(name, Severity.WARNING, finds, way_out)


def review_rule(name: str, risk: Risk, finds: str, check: str) -> Rule:
    """Return a rule of ``review``, whose ``--fail-on`` takes its name; ``check`` is what a reviewer should check."""
    return Rule(name, Severity.ERROR if risk is Risk.HIGH else Severity.WARNING, finds, check, risk)
