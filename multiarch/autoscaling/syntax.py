"""Durations, quantities and budgets of a NodePool. Each function says what is wrong, or returns None.

Patterns accept no more than those of the NodePool's CRD: what passes here passes the API server.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from multiarch.manifests.quantities import QuantityError, parse_quantity

_QUIET = re.compile(r"(?=.*[1-9])(?:[0-9]{1,7}[hm]|[0-9]{1,7}h[0-9]{1,7}m)(?:0s)?", re.ASCII)
_PERIOD = re.compile(r"(?:[0-9]{1,10}[smh])+|Never", re.ASCII)
_PART = re.compile(r"([0-9]+)([smh])", re.ASCII)
_SECONDS = MappingProxyType({"s": 1, "m": 60, "h": 3600})
_SHORTEST_LIFE = 3600
_LONGEST_SECONDS = (2**63 - 1) // 10**9
"""Go counts a duration in nanoseconds, in 63 bits."""
_GRACE = re.compile(r"(?=.*[1-9])(?:[0-9]{1,10}[smh])+", re.ASCII)
_BUDGET = re.compile(r"(?:100|[0-9]{1,2})%|[0-9]+", re.ASCII)
_QUANTITY = re.compile(r"(?=.*[1-9])[0-9]+(?:\.[0-9]+)?(?:[KMGTPE]i|[kMGTPE])?", re.ASCII)


def quiet_duration_fault(text: str) -> str | None:
    """Check a duration of quiet hours: hours and minutes, without seconds."""
    return None if _QUIET.fullmatch(text) and _fits(text) else f"{text!r} is not a duration of hours and minutes"


def period_fault(text: str) -> str | None:
    """Check a Go duration in s, m and h, or ``Never``."""
    return None if _PERIOD.fullmatch(text) and _fits(text) else f"{text!r} is neither a duration nor Never"


def lifetime_fault(text: str) -> str | None:
    """Check a Go duration of an hour or more, or ``Never``: nodes of this age are replaced."""
    if (fault := period_fault(text)) or text == "Never":
        return fault
    if duration_seconds(text) < _SHORTEST_LIFE:
        return f"{text!r} is less than an hour: nodes would be replaced soon after they start"
    return None


def grace_fault(text: str) -> str | None:
    """Check a Go duration above zero: at zero pods would be deleted without notice."""
    return None if _GRACE.fullmatch(text) and _fits(text) else f"{text!r} is not a positive duration"


def duration_seconds(duration: str) -> int:
    """The seconds of a valid duration."""
    return sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(duration))


def _fits(duration: str) -> bool:
    return duration_seconds(duration) <= _LONGEST_SECONDS


def budget_fault(text: str) -> str | None:
    """Check a number of nodes or a percentage."""
    return None if _BUDGET.fullmatch(text) else f"{text!r} is neither a number of nodes nor a percentage"


def memory_fault(text: str) -> str | None:
    """Check a Kubernetes quantity of bytes above zero."""
    if not _QUANTITY.fullmatch(text):
        return f"{text!r} is not a quantity of memory"
    try:
        parse_quantity(text)
    except QuantityError as error:
        return error.message.rstrip(".")
    return None
