"""Times on the command line: a duration, and quiet hours as ``0 7 * * mon-fri 12h``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from multiarch.autoscaling.quiet_hours import are_quiet, longest_pause, minutes_of, schedule_fault
from multiarch.autoscaling.syntax import duration_seconds, grace_fault, quiet_duration_fault
from multiarch.errors import MultiarchError


@dataclass(frozen=True, slots=True)
class QuietTime:
    """Quiet hours: cron in UTC, and a duration."""

    schedule: str
    duration: str

    def contains(self, at: datetime) -> bool:
        """Whether a time in UTC is within them."""
        return are_quiet(self.schedule, self.duration, at)


def parse_quiet_hours(text: str) -> QuietTime:
    """Read quiet hours. Raises MultiarchError for a schedule or a duration that is wrong, and for hours without end."""
    schedule, _, duration = text.strip().rpartition(" ")
    fault = schedule_fault(schedule) or quiet_duration_fault(duration)
    if fault:
        raise MultiarchError(
            f"--quiet-hours {text!r}: {fault}.", hint="Write cron in UTC and a duration: '0 7 * * mon-fri 12h'."
        )
    pause = longest_pause(schedule)
    if pause is None:
        raise MultiarchError(f"--quiet-hours {text!r}: {schedule!r} never matches a date.")
    if minutes_of(duration) >= pause:
        raise MultiarchError(
            f"--quiet-hours {text!r}: {schedule!r} starts again before {duration} is over: nothing would ever be moved."
        )
    return QuietTime(schedule, duration)


def parse_pace(option: str, text: str) -> float:
    """Read a positive duration such as ``90s`` or ``1h30m``, in seconds. Raises MultiarchError for anything else."""
    if fault := grace_fault(text):
        raise MultiarchError(f"{option}: {fault}.", hint="Write it as 30s, 5m or 1h30m.")
    return float(duration_seconds(text))
