"""The digest as a report: what a terminal, JSON and code scanners get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from multiarch.cli.formats.report import Block, Details, Items, Report, Table
from multiarch.cli.review.cost import build_cost_table, list_cost_notes
from multiarch.cli.review.words import FindingGroup, build_other_row, format_changes, format_omitted, group_findings
from multiarch.observed.resources.secrets import mask_secrets
from multiarch.review.digest import ReviewDigest, StackReview
from multiarch.rules import Finding, Location, Risk
from multiarch.stack.load import PROJECT_FILE


def make_report(digest: ReviewDigest, failing: Sequence[str]) -> Report:
    """Return the report of a digest. ``failing`` are the rules of ``--fail-on`` that found something."""
    return Report(
        "review",
        data={"risk": digest.risk, "failing": failing, "stacks": [_stack_data(stack) for stack in digest.stacks]},
        blocks=lambda: _blocks(digest),
        findings=lambda: _findings(digest),
    )


def _blocks(digest: ReviewDigest) -> Iterator[Block]:
    for stack in digest.stacks:
        risk = "no risk found" if stack.risk is Risk.NONE else f"{stack.risk.name} risk"
        yield f"{stack.name}: {risk}; {format_changes(stack)}"
        if stack.entries:
            rows = [(each.level.name, each.rule.topic.lower(), each.subject, each.text) for each in stack.entries]
            yield Table(("risk", "topic", "what", "why"), rows)
        yield from (_group(group) for group in group_findings(stack.entries))
        if stack.cost.rows:
            yield build_cost_table(stack.cost)
            yield Items("How costs are computed", list(list_cost_notes(stack.cost)))
        if stack.others:
            yield Table(
                ("change", "type", "name", "properties"),
                [build_other_row(step) for step in stack.others],
                "Other changes",
            )
        if stack.warnings:
            yield Items("Warnings of the preview", stack.warnings)
        if stack.acknowledged:
            yield Items("Acknowledged warnings of the stack file", [str(each) for each in stack.acknowledged])
        yield f"Omitted: {format_omitted(stack)}"


def _group(group: FindingGroup) -> Details:
    check = f"Check: {group.rule.fix}"
    if len(group.findings) == 1:
        (finding,) = group.findings
        return Details("", [(f"{finding.subject} [{group.rule.name}]", (*finding.details, check))])
    statements = [(finding.subject, group.own(finding)) for finding in group.findings if group.own(finding)]
    title = f"{len(group.findings)} findings [{group.rule.name}]"
    return Details(title, [*statements, ("All of them", (*group.common, check))])


def _stack_data(stack: StackReview) -> dict[str, object]:
    """Return a stack's part of the JSON: what was read of it stays out, and messages are masked."""
    change, preview = stack.change, stack.change.preview
    return {
        **{name: getattr(preview, name) for name in ("stack", "project", "source", "succeeded")},
        **{name: getattr(stack, name) for name in ("risk", "operations", "cost", "warnings", "acknowledged")},
        "before": change.before,
        "after": change.after,
        "findings": [
            {
                "rule": each.rule.name,
                "check": each.rule.fix,
                "risk": each.level,
                "topic": each.rule.topic.lower(),
                **{name: getattr(each, name) for name in ("subject", "text", "details", "urns")},
            }
            for each in stack.entries
        ],
        "otherChanges": [
            {name: getattr(step, name) for name in ("operation", "type", "name", "urn", "changed")}
            for step in stack.others
        ],
        "omitted": [{"filter": each.name, "reason": each.reason, "number": count} for each, count in stack.omitted],
        "errors": [mask_secrets(text) for text in preview.errors],
    }


def _findings(digest: ReviewDigest) -> Iterator[Finding]:
    for stack in digest.stacks:
        for each in stack.entries:
            fingerprint = ("ruleAndSubject/v1", f"{each.rule.name} {stack.name} {each.subject}")
            yield replace(each, locations=[_location(stack, each.urns)], fingerprint=fingerprint)


def _location(stack: StackReview, urns: Sequence[str]) -> Location:
    version = stack.change.after or stack.change.before
    urn = urns[0] if urns else ""
    # GitHub ignores a result without a file, and GitLab's paths are files: any program has this one.
    return Location(version.file if version else PROJECT_FILE, None, urn.rpartition("::")[2], urn)
