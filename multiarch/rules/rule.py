"""A rule, and how bad what it finds is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a problem is: an error refuses the stack, a warning is shown and passes."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, of ``stack check`` or of another command. ``name`` is a stable kebab-case identifier.

    ``finds`` names in a few words what is wrong; for ``stack check`` it completes "refuses …". ``way_out`` is a
    sentence, shown with each problem that has no more specific hint.
    """

    name: str
    severity: Severity
    finds: str
    way_out: str


def error(name: str, finds: str, way_out: str) -> Rule:
    """A rule whose findings are errors."""
    return Rule(name, Severity.ERROR, finds, way_out)


def warning(name: str, finds: str, way_out: str) -> Rule:
    """A rule whose findings are warnings."""
    return Rule(name, Severity.WARNING, finds, way_out)
