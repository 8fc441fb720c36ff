"""A bound for the work of a comparison: previews are written by others, and policies can be made hard to compare."""

from __future__ import annotations

PER_COMPARISON = 1_000_000
PER_CHANGE = 3_000_000


class TooMuchEffortError(Exception):
    """The comparison needs more work than it may. Callers report what they compared as not comparable."""


class Effort:
    """Counts the work of a change's comparisons, each with a part of it. One unit takes less than a microsecond."""

    def __init__(self, total: int = PER_CHANGE, each: int = PER_COMPARISON) -> None:
        """Allow ``total`` units for everything, and ``each`` between two calls of :meth:`begin`."""
        self._total = total
        self._each = each
        self._left = min(each, total)

    def begin(self) -> None:
        """Begin a comparison."""
        self._left = min(self._each, self._total)

    def spend(self, units: int) -> None:
        """Raise TooMuchEffortError when the comparison's part or the change's total is used up."""
        self._left -= units
        self._total -= units
        if self._left < 0:
            raise TooMuchEffortError
