"""The errors of multiarch, one class per kind of fault.

Errors carry fields; the CLI decides how they look and which exit code they get
(2: usage or configuration, 3: something outside failed).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeVar

from multiarch.frozen import dataclass
from multiarch.rules import RULES, Severity

__all__ = [
    "MultiarchError",
    "OutsideError",
    "Problem",
    "ProblemsError",
    "StackError",
    "UnknownFactError",
    "look_up",
    "merge_warnings",
]

Name = TypeVar("Name", bound=str)
Row = TypeVar("Row")
ACKNOWLEDGED = "note"
"""What an acknowledged warning is called."""
_FEW = 50
_SAID_ONCE = frozenset({"ami-not-pinned", "ami-release-alone"})

KeyPath = tuple[str | int, ...]
"""Keys and list indexes (from 0) below a mapping: ``("nodeGroups", "api", "instanceTypes", 0)``."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in a stack, with its place and the fix.

    ``rule`` is a name of :data:`multiarch.rules.RULES`; any other raises KeyError. ``message`` says what is wrong,
    ``hint`` the fix, by default the rule's own. ``line`` is 1-based, and None for a value that is in no file (a
    default, or one that only the engine has). ``acknowledged`` is why the team accepts a warning, empty otherwise.
    """

    rule: str
    message: str
    hint: str = ""
    file: str | None = None
    line: int | None = None
    key: str | None = None
    value: object = None
    acknowledged: str = ""
    severity: Severity = field(init=False)
    """The rule's."""

    def __post_init__(self) -> None:
        """Take severity and a missing hint from the rule."""
        row = RULES[self.rule]
        object.__setattr__(self, "severity", row.severity)
        object.__setattr__(self, "hint", self.hint or row.fix)

    @property
    def mark(self) -> str:
        """What is printed before it: the severity, or ``note``."""
        return ACKNOWLEDGED if self.acknowledged else self.severity

    def __str__(self) -> str:
        """``file:line key: message hint``, without the parts that are unknown; the reason in place of the hint."""
        place = "" if self.file is None else self.file if self.line is None else f"{self.file}:{self.line}"
        head = " ".join(part for part in (place, self.key) if part)
        behind = f"Acknowledged: {self.acknowledged}" if self.acknowledged else self.hint
        text = f"{self.message} {behind}".rstrip()
        return f"{head}: {text}" if head else text


def merge_warnings(problems: Iterable[Problem]) -> list[Problem]:
    """Put a file's warnings that every node group has into the first of them, which then names the other keys.

    For people: reports have every problem for itself.
    """
    equal: dict[object, list[Problem]] = {}
    for number, problem in enumerate(problems):
        once = problem.rule in _SAID_ONCE
        equal.setdefault((problem.rule, problem.file, problem.hint) if once else number, []).append(problem)
    return [_merge(*each) for each in equal.values()]


def _merge(first: Problem, *others: Problem) -> Problem:
    if not others:
        return first
    keys = dict.fromkeys(f"{each.key} (line {each.line})" if each.line else str(each.key) for each in others)
    return replace(first, message=f"{first.message} The same applies to {', '.join(keys)}.")


class MultiarchError(Exception):
    """Base class of multiarch's errors. ``hint`` says what to do."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep ``message`` and ``hint`` apart for the CLI."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Message and hint on one line."""
        return f"{self.message} {self.hint}".rstrip()


class UnknownFactError(MultiarchError):
    """A name that is in no table of facts: an instance type, an AMI type, a Kubernetes version."""

    def __init__(self, kind: str, value: str, *, hint: str = "") -> None:
        """``kind`` is what was looked up: ``instance type``."""
        super().__init__(f"Unknown {kind}: {value!r}.", hint=hint)
        self.kind = kind
        self.value = value


def look_up(kind: str, name: Name, table: Mapping[Name, Row], *, hint: str = "", near: Sequence[str] = ()) -> Row:
    """Return a table's row.

    Raises UnknownFactError with the nearest names of ``near``, by default of the whole table, or with all of them where
    they are few; ``hint`` comes behind it.
    """
    if name in table:
        return table[name]
    from difflib import get_close_matches  # noqa: PLC0415  (only needed once something is wrong)

    plain = {each.lower(): each for each in near or table}
    found = [plain[each] for each in get_close_matches(name.strip().lower(), plain, n=3)]
    known = f"Known are {', '.join(plain.values())}." if len(plain) <= _FEW else ""
    meant = f"Did you mean {' or '.join(found)}?" if found else known
    raise UnknownFactError(kind, name, hint=f"{meant} {hint}".strip())


class ProblemsError(MultiarchError):
    """A rejected file: its problems, each with its position."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """``problems`` has at least one error; there may be warnings too."""
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class StackError(ProblemsError):
    """A rejected stack."""


class OutsideError(MultiarchError):
    """Something external failed: AWS, a cluster, a registry, a missing program (exit code 3)."""

    exit_code = 3
