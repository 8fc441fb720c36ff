"""What ``doctor`` says: a row for each thing that was checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from multiarch.serialization import JsonProperty


class CheckState(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    """`pulumi up` runs, but something is not as it should be."""
    FAILED = "failed"
    """It would stop `pulumi up`, or what it creates would not start."""
    UNKNOWN = "unknown"
    """It could not be checked; the text has the reason."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One row: what was found, and where it is not ``ok``, the fix."""

    check: str
    state: CheckState
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """All rows, in the order of the checks. ``stack`` is None where only this machine and the account were checked."""

    stack: str | None
    rows: Sequence[CheckResult]

    @JsonProperty
    def stops(self) -> bool:
        """Return whether something would stop `pulumi up`."""
        return any(row.state is CheckState.FAILED for row in self.rows)


def judge_faults(check: str, fine: str, faults: Iterable[tuple[str, str]]) -> Iterator[CheckResult]:
    """Yield a failed row for each fault, a message with its fix, or ``ok`` with what is ``fine``."""
    rows = [CheckResult(check, CheckState.FAILED, *fault) for fault in faults]
    yield from rows or [CheckResult(check, CheckState.OK, fine)]


def judge_found(check: str, found: str, what: str, fix: str, *, needed: bool = True) -> CheckResult:
    """Return ``ok`` with what was ``found``; without it ``what`` is missing, and stops `pulumi up` if ``needed``."""
    if found:
        return CheckResult(check, CheckState.OK, found)
    return CheckResult(check, CheckState.FAILED if needed else CheckState.WARNING, what, fix)
