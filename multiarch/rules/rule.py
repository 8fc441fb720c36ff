"""A rule of any command or policy, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum, StrEnum

from multiarch.frozen import dataclass


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

    ``finds`` names in a few words what is wrong; for ``stack check`` it completes "rejects …". ``fix`` is shown
    with each problem that has no more specific hint; of a review it is what a reviewer should check before agreeing.
    ``risk`` and ``topic`` are those of a review's rules.
    """

    name: str
    severity: Severity
    finds: str
    fix: str
    risk: Risk = Risk.NONE
    topic: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a finding is: a line of a file, counted from 1, or a container in a cluster, or both."""

    file: str | None = None
    line: int | None = None
    container: str = ""
    qualified_name: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    ``subject`` names what it is about in the team's words (``node group graviton``, ``IAM role cluster``); ``text`` is
    one sentence; ``details`` are further lines, one fact each. ``urns`` are the resources it was found in. ``risk`` is
    the rule's unless the finding knows better, and so is ``hint``, the fix. ``locations`` and ``fingerprint``, which
    has a kind and a value, are for code scanners. ``acknowledged`` is why a team accepts it, empty otherwise.
    """

    rule: Rule
    subject: str
    text: str
    details: tuple[str, ...] = ()
    urns: tuple[str, ...] = ()
    risk: Risk | None = None
    hint: str = ""
    locations: Sequence[Location] = ()
    fingerprint: tuple[str, str] = ("", "")
    acknowledged: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the keys of a finding about a node; a review has its own."""
        said = {"rule": self.rule.name, "message": self.text, "hint": self.hint, "details": self.details}
        return {**said, "severity": self.rule.severity}

    @property
    def message(self) -> str:
        """All of it in a line."""
        return " ".join([*([f"{self.subject}:"] if self.subject else []), self.text, *self.details])

    @property
    def level(self) -> Risk:
        """How much this finding matters."""
        return self.rule.risk if self.risk is None else self.risk

    @property
    def severity(self) -> Severity:
        """How bad it is: as its rule says, unless the finding has another risk."""
        return self.rule.severity if self.risk is None else _get_severity(self.risk)


def error(name: str, finds: str, fix: str) -> Rule:
    """Return a rule whose findings are errors."""
    return Rule(name, Severity.ERROR, finds, fix)


def warning(name: str, finds: str, fix: str) -> Rule:
    """Return a rule whose findings are warnings."""
    return Rule(name, Severity.WARNING, finds, fix)


def review_rule(name: str, risk: Risk, finds: str, check: str) -> Rule:
    """Return a rule of ``review``, whose ``--fail-on`` takes its name; ``check`` is what a reviewer should check."""
    return Rule(name, _get_severity(risk), finds, check, risk)


def _get_severity(risk: Risk) -> Severity:
    return Severity.ERROR if risk is Risk.HIGH else Severity.WARNING
