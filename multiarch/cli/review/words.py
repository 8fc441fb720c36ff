"""What the terminal and the Markdown of a review say in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from multiarch.review.digest import StackReview
from multiarch.review.model import Operation, Step
from multiarch.review.values import format_difference, get_resource_name
from multiarch.rules import Finding, Risk, Rule

_PAST = {
    Operation.CREATE: "created",
    Operation.UPDATE: "updated",
    Operation.REPLACE: "replaced",
    Operation.DELETE: "deleted",
    Operation.IMPORT: "imported",
    Operation.READ: "read",
    Operation.FORGET: "left behind",
    Operation.DRIFT: "drifted",
}
NOT_KNOWN = "not known without a preview"
_MOST = 5


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one rule and risk. ``common`` are the details that all of them have, ``own`` those of each."""

    rule: Rule
    level: Risk
    findings: tuple[Finding, ...]
    common: tuple[str, ...]

    def own(self, finding: Finding) -> list[str]:
        """Return the details of a finding that others do not have."""
        return [line for line in finding.details if line not in self.common]


def group_findings(entries: Iterable[Finding]) -> Iterator[FindingGroup]:
    """Yield neighbours of the same rule and risk together, so that a reviewer reads once what all of them say."""
    for (level, rule), found in groupby(entries, key=lambda entry: (entry.level, entry.rule)):
        findings = tuple(found)
        shared = findings[0].details if len(findings) > 1 else ()
        common = tuple(line for line in shared if all(line in other.details for other in findings))
        yield FindingGroup(rule, level, findings, common)


def format_changes(stack: StackReview) -> str:
    """Return ``3 updated, 10 replaced; 75 stay the same``."""
    preview = stack.change.preview
    if not preview.source:
        return "stack file only, no preview"
    parts = [f"{count} {_PAST[operation]}" for operation, count in stack.operations.items()]
    same = sum(step.operation is Operation.SAME for step in preview.steps)
    text = ", ".join(parts) or "no resource changes"
    if not preview.succeeded:
        return f"{text} before the preview failed"
    return f"{text}; {same} {'stays' if same == 1 else 'stay'} the same" if same else text


def format_omitted(stack: StackReview) -> str:
    """Return ``tags-follow-group (9), components (1)``."""
    nothing = "nothing" if stack.change.preview.source else NOT_KNOWN
    return ", ".join(f"{found.name} ({count})" for found, count in stack.omitted) or nothing


def build_other_row(step: Step) -> tuple[str, str, str, str]:
    """Return a change that no finding is about: what happens, type, name, and what differs, or is new."""
    paths = sorted(step.new.inputs) if step.old is None and step.new is not None else step.changed
    changed = [format_difference(step, path) for path in paths[:_MOST]]
    more = [f"{len(paths) - _MOST} more"] if len(paths) > _MOST else []
    return step.operation, step.type, get_resource_name(step), "; ".join([*changed, *more])
