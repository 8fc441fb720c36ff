"""The digest as a report: what a terminal, JSON and code scanners get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from multiarch.cli.formats.report import (
    Block,
    Details,
    Finding,
    FindingRule,
    Findings,
    Items,
    Location,
    Report,
    Table,
)
from multiarch.cli.review.cost import cost_data, cost_notes, cost_table
from multiarch.cli.review.words import Group, change_words, groups, left_out_words, other_row
from multiarch.observed.resources.secrets import mask_secrets
from multiarch.review.digest import RULES
from multiarch.rules import Risk

if TYPE_CHECKING:
    from multiarch.review.digest import Digest, Entry, StackReview


def report(digest: Digest, failing: Sequence[str]) -> Report:
    """The report of a digest. ``failing`` are the rules of ``--fail-on`` that found something."""
    return Report(
        "review",
        data=lambda: _data(digest, failing),
        blocks=lambda: _blocks(digest),
        findings=lambda: _findings(digest),
    )


def _blocks(digest: Digest) -> Iterator[Block]:
    for stack in digest.stacks:
        risk = "no risk found" if stack.risk is Risk.NONE else f"{stack.risk.name} risk"
        yield f"{stack.name}: {risk}; {change_words(stack)}"
        if stack.entries:
            rows = [
                (entry.finding.level.name, entry.topic.lower(), entry.finding.subject, entry.finding.text)
                for entry in stack.entries
            ]
            yield Table(("risk", "topic", "what", "why"), rows)
        yield from (_group(group) for group in groups(stack.entries))
        if stack.cost.rows:
            yield cost_table(stack.cost)
            yield Items("How costs are computed", list(cost_notes(stack.cost)))
        if stack.others:
            yield Table(
                ("change", "type", "name", "properties"), [other_row(step) for step in stack.others], "Other changes"
            )
        if stack.warnings:
            yield Items("Warnings of the preview", stack.warnings)
        yield f"Left out: {left_out_words(stack)}"


def _group(group: Group) -> Details:
    check = f"Check: {group.rule.way_out}"
    if len(group.findings) == 1:
        (finding,) = group.findings
        return Details("", [(f"{finding.subject} [{group.rule.name}]", (*finding.details, check))])
    statements = [(finding.subject, group.own(finding)) for finding in group.findings if group.own(finding)]
    title = f"{len(group.findings)} findings [{group.rule.name}]"
    return Details(title, [*statements, ("All of them", (*group.common, check))])


def _data(digest: Digest, failing: Sequence[str]) -> dict[str, object]:
    return {
        "risk": digest.risk.name.lower(),
        "failing": list(failing),
        "stacks": [_stack_data(stack) for stack in digest.stacks],
    }


def _stack_data(stack: StackReview) -> dict[str, object]:
    change, preview = stack.change, stack.change.preview
    return {
        "stack": preview.stack,
        "project": preview.project,
        "source": preview.source or None,
        "before": None if change.before is None else {"file": change.before.file, "problem": change.before.problem},
        "after": None if change.after is None else {"file": change.after.file, "problem": change.after.problem},
        "succeeded": preview.succeeded,
        "risk": stack.risk.name.lower(),
        "operations": {str(operation): count for operation, count in stack.operations.items()},
        "findings": [_finding_data(entry) for entry in stack.entries],
        "cost": cost_data(stack.cost),
        "otherChanges": [
            {
                "operation": str(step.operation),
                "type": step.type,
                "name": step.name,
                "urn": step.urn,
                "changed": list(step.changed),
            }
            for step in stack.others
        ],
        "leftOut": [{"filter": found.name, "reason": found.reason, "number": count} for found, count in stack.left_out],
        "errors": [mask_secrets(text) for text in preview.errors],
        "warnings": list(stack.warnings),
    }


def _finding_data(entry: Entry) -> dict[str, Any]:
    finding = entry.finding
    return {
        "rule": finding.rule.name,
        "risk": finding.level.name.lower(),
        "topic": str(entry.topic).lower(),
        "subject": finding.subject,
        "text": finding.text,
        "details": list(finding.details),
        "check": finding.rule.way_out,
        "urns": list(finding.urns),
    }


def _findings(digest: Digest) -> Findings:
    found = [(stack, entry.finding) for stack in digest.stacks for entry in stack.entries]
    names = sorted({finding.rule.name for _, finding in found})
    rules = {name: FindingRule(name, RULES[name].severity, f"Finds {RULES[name].finds}.") for name in names}
    return Findings(
        tuple(rules.values()),
        [
            Finding(
                rules[finding.rule.name],
                " ".join([f"{finding.subject}:", finding.text, *finding.details]),
                [_location(stack, finding.urns)],
                ("ruleAndSubject/v1", f"{finding.rule.name} {stack.name} {finding.subject}"),
            )
            for stack, finding in found
        ],
    )


def _location(stack: StackReview, urns: Sequence[str]) -> Location:
    version = stack.change.after or stack.change.before
    urn = urns[0] if urns else ""
    return Location(version.file if version else None, None, urn.rpartition("::")[2], urn)
