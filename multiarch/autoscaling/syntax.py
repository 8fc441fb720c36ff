"""Schedules, durations, quantities and budgets of a NodePool. Each function says what is wrong, or returns None.

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
_NUMBER = re.compile(r"[0-9]{1,4}", re.ASCII)
_BUDGET = re.compile(r"(?:100|[0-9]{1,2})%|[0-9]+", re.ASCII)
_QUANTITY = re.compile(r"(?=.*[1-9])[0-9]+(?:\.[0-9]+)?(?:[KMGTPE]i|[kMGTPE])?", re.ASCII)
MACROS = MappingProxyType(
    {
        "@annually": "0 0 1 1 *",
        "@yearly": "0 0 1 1 *",
        "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    }
)
"""Cron macros, and the schedule that each stands for."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
"""Each field of a schedule: its name, its lowest and highest number, and the names of its values in order."""


def schedule_fault(text: str) -> str | None:
    """Check a cron schedule of five fields, or a macro such as ``@daily``; Karpenter reads it in UTC."""
    if text in MACROS:
        return None
    fields = text.split(" ")
    if len(fields) != len(FIELDS):
        return f"{text!r} is not a cron schedule: it has {len(fields)} fields instead of {len(FIELDS)}"
    for field, (name, lowest, highest, names) in zip(fields, FIELDS, strict=True):
        for part in field.split(","):
            if not _in_range(part.lower(), lowest, highest, names):
                return f"{text!r} is not a cron schedule: {part!r} is not a valid {name} ({lowest} to {highest})"
    return None


def _in_range(part: str, lowest: int, highest: int, names: tuple[str, ...]) -> bool:
    """Whether one item of a field is valid: ``*``, a value or a range, each with an optional step."""
    values, slash, step = part.partition("/")
    if slash and not number_in(step, lowest, ()):
        return False
    if values == "*":
        return True
    first, dash, last = values.partition("-")
    numbers = [number_in(each, lowest, names) for each in ((first, last) if dash else (first,))]
    if None in numbers:
        return False
    known = [number for number in numbers if number is not None]
    return all(lowest <= number <= highest for number in known) and known == sorted(known)


def number_in(text: str, lowest: int, names: tuple[str, ...]) -> int | None:
    """Read one value of a schedule's field, a number or one of ``names``; None if it is neither."""
    if text in names:
        return names.index(text) + lowest
    return int(text) if _NUMBER.fullmatch(text) else None


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
