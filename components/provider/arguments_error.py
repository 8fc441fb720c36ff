"""How a component rejects its arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pulumi

from multiarch.errors import Problem
from multiarch.rules import Severity

_HINTS = {
    "ami-not-pinned": "Set the image: ami.id, or amiAlias for Karpenter.",
    "ami-release-alone": "Set the release's image too: ami.id.",
}
"""The fix where the rule's own is a command for stack files."""


class ArgumentsError(pulumi.RunError):
    """A component's arguments are rejected. A Python program ends with the message, and without a traceback."""

    problems: tuple[Problem, ...]

    def __init__(self, component: str, problems: Iterable[Problem]) -> None:
        """``component`` is its type and name, such as ``Platform shop``."""
        self.problems = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
        lines = "".join(f"\n  {described(problem)}" for problem in self.problems)
        super().__init__(f"{component} is rejected:{lines}")


def described(problem: Problem) -> str:
    """Return a problem in one line: key, message, hint and rule."""
    hint = _HINTS.get(problem.rule, problem.hint)
    return f"{replace(problem, hint=hint)} [{problem.rule}]"
