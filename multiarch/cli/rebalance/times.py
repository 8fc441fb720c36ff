"""Times on the command line: a duration, and quiet hours as ``0 7 * * mon-fri 12h``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from multiarch.autoscaling.quiet_hours import are_quiet, find_faults
from multiarch.autoscaling.syntax import check_grace_period, parse_seconds
from multiarch.errors import MultiarchError


def parse_quiet_hours(text: str) -> Callable[[datetime], bool]:
    """Read quiet hours; return what says whether a time in UTC is within them.

    Raises MultiarchError for a schedule or a duration that is wrong, and for hours that never end.
    """
    schedule, _, duration = text.strip().rpartition(" ")
    fault = next((fault for _, fault in find_faults(schedule, duration)), None)
    if fault:
        raise MultiarchError(
            f"--quiet-hours {text!r}: {fault}.", hint="Write cron in UTC and a duration: '0 7 * * mon-fri 12h'."
        )
    return partial(are_quiet, schedule, duration)


def parse_pace(option: str, text: str) -> float:
    """Read a positive duration such as ``90s`` or ``1h30m``, in seconds. Raises MultiarchError for anything else."""
    if fault := check_grace_period(text):
        raise MultiarchError(f"{option}: {fault}.", hint="Write it as 30s, 5m or 1h30m.")
    return float(parse_seconds(text))
