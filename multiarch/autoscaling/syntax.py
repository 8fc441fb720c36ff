"""Durations and quantities of a NodePool. Each function says what is wrong, or returns None.

Patterns accept no more than those of the NodePool's CRD: what passes here passes the API server.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

from multiarch.manifests.quantities import QuantityError, parse_quantity

_PART = re.compile(r"([0-9]+)([smh])", re.ASCII)
_SECONDS = MappingProxyType({"s": 1, "m": 60, "h": 3600})
_SHORTEST_LIFE = 3600
_LONGEST_SECONDS = (2**63 - 1) // 10**9
"""Go counts a duration in nanoseconds, in 63 bits."""
_QUANTITY = re.compile(r"(?=.*[1-9])[0-9]+(?:\.[0-9]+)?(?:[KMGTPE]i|[kMGTPE])?", re.ASCII)


def _form(pattern: str, fault: str) -> Callable[[str], str | None]:
    """Make a check of strings that match ``pattern``; a duration is not too long for Go."""

    def check(text: str) -> str | None:
        good = re.fullmatch(pattern, text, re.ASCII) and parse_seconds(text) <= _LONGEST_SECONDS
        return None if good else f"{text!r} {fault}"

    return check


check_quiet_duration = _form(
    r"(?=.*[1-9])(?:[0-9]{1,7}[hm]|[0-9]{1,7}h[0-9]{1,7}m)(?:0s)?", "is not a duration of hours and minutes"
)
"""Check a duration of quiet hours: hours and minutes, without seconds."""
check_period = _form(r"(?:[0-9]{1,10}[smh])+|Never", "is neither a duration nor Never")
"""Check a Go duration in s, m and h, or ``Never``."""
check_grace_period = _form(r"(?=.*[1-9])(?:[0-9]{1,10}[smh])+", "is not a positive duration")
"""Check a Go duration above zero: at zero pods would be deleted without notice."""


def check_lifetime(text: str) -> str | None:
    """Check a Go duration of an hour or more, or ``Never``: nodes of this age are replaced."""
    if (fault := check_period(text)) or text == "Never":
        return fault
    if parse_seconds(text) < _SHORTEST_LIFE:
        return f"{text!r} is less than an hour: nodes would be replaced soon after they start"
    return None


def parse_seconds(duration: str) -> int:
    """Return the seconds of a valid duration."""
    return sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(duration))


def check_memory(text: str) -> str | None:
    """Check a Kubernetes quantity of bytes above zero."""
    if not _QUANTITY.fullmatch(text):
        return f"{text!r} is not a quantity of memory"
    try:
        parse_quantity(text)
    except QuantityError as error:
        return error.message.rstrip(".")
    return None
