"""The digest as Markdown for a comment of a merge request, within a limit of bytes.

A reviewer sees the risk and one line for each question first: what breaks, what rolls, what widens, what it costs, what
was omitted. Everything that others wrote is shown as code or as plain words
(:func:`multiarch.markdown.escape_comment`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from multiarch.cli.review.cost import build_cost_table, format_cost, list_cost_notes
from multiarch.cli.review.words import (
    NOT_KNOWN,
    FindingGroup,
    build_other_row,
    format_changes,
    format_omitted,
    group_findings,
)
from multiarch.markdown import cut_markdown, escape_comment
from multiarch.plurals import format_count
from multiarch.review.cost import CostDifference
from multiarch.review.digest import ReviewDigest, StackReview
from multiarch.rules import REVIEW_TOPICS, Finding, Risk
from multiarch.stack.engine_config import NAMESPACE

MARKER = "<!-- multiarch review: {project} -->"
"""The first line: posting finds the comment of a project by it."""
SMALLEST = 2_000
"""Bytes that the shortest form needs at most."""
_NOTHING = "nothing found"
ALWAYS = frozenset({"Breaks", "Rolls", "Widens", "Costs"})
"""Topics that have a row also where nothing was found: a reviewer sees that it was looked for."""
_MOST_NAMES, _MOST_SHOWN = 20, 3
_MOST_OPEN = 3
"""Stacks whose section is open; those of the others open by a click, because a table above names them all."""
_LONGEST_NAME = 120
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_.-]|-(?=-)")


def render_markdown(digest: ReviewDigest, limit: int | None = None, attached: str = "") -> tuple[str, bool]:
    """Return the Markdown, and whether it is complete. ``attached`` names the file that has all of it.

    What is longer than ``limit`` bytes has the summary, and a few findings of each rule without their details.
    """
    whole = _text(digest)
    if limit is None or len(whole.encode()) <= limit:
        return whole, True
    where = f"{escape_comment(attached)} has" if attached else "`multiarch review` without `--limit` shows"
    return cut_markdown(_text(digest, f"_Shortened to {limit} bytes; {where} all of it._"), limit), False


def _project(digest: ReviewDigest) -> str:
    """Return the names of the projects, without what could end the marker."""
    names = sorted({stack.change.preview.project for stack in digest.stacks}) or [NAMESPACE]
    return ", ".join(_NOT_OF_A_NAME.sub("", name) for name in names)


def _title(digest: ReviewDigest) -> str:
    risk = _level(digest.risk)
    if not digest.stacks:
        return "No stack changes"
    if len(digest.stacks) == 1:
        return f"{escape_comment(_short(digest.stacks[0].name))}: {risk}"
    return f"{format_count(len(digest.stacks), 'stack')}: {risk}"


def _level(risk: Risk) -> str:
    return "no risk found" if risk is Risk.NONE else f"{risk.name.lower()} risk"


def _text(digest: ReviewDigest, note: str = "") -> str:
    """Return all of it; with a ``note`` the short form, which begins with that."""
    lines = [MARKER.format(project=_project(digest)), "", f"## {_title(digest)}", ""]
    if note:
        lines += [note, ""]
    if not digest.stacks:
        return "\n".join(lines).rstrip("\n") + "\n"
    changed = [stack for stack in digest.stacks if _changes(stack)]
    same = [stack.name for stack in digest.stacks if not _changes(stack)]
    short = bool(note)
    if len(digest.stacks) == 1:
        lines += _stack(digest.stacks[0], short=short)
    else:
        lines += _overview(changed)
        for number, stack in enumerate(changed):
            if number < _MOST_OPEN:
                title = f"### {escape_comment(_short(stack.name))}: {_level(stack.risk)}"
                lines += ["", title, "", *_stack(stack, short=short)]
            else:
                # A summary is HTML: there is no code in it, so it has the letters of usual names only.
                name = _NOT_OF_A_NAME.sub("", _short(stack.name))
                lines += _folded(f"{name}: {_level(stack.risk)}", _stack(stack, short=short))
        if same:
            names = ", ".join(escape_comment(_short(name)) for name in same[:_MOST_NAMES])
            more = f" and {len(same) - _MOST_NAMES} more" if len(same) > _MOST_NAMES else ""
            lines += ["", f"No changes: {names}{more}."]
    return "\n".join(lines).rstrip("\n") + "\n"


def _changes(stack: StackReview) -> bool:
    return bool(stack.entries or stack.others or stack.operations)


def _overview(stacks: Sequence[StackReview]) -> Iterator[str]:
    topics = [
        topic
        for topic in REVIEW_TOPICS
        if any(entry.rule.topic == topic for stack in stacks for entry in stack.entries)
    ]
    yield _row(["Stack", "Risk", *topics, "Other", "Omitted"])
    yield _row(["---"] * (len(topics) + 4))
    for stack in stacks:
        counts = [sum(entry.rule.topic == topic for entry in stack.entries) for topic in topics]
        omitted = sum(count for _, count in stack.omitted)
        cells = [str(count) if count else "" for count in (*counts, len(stack.others), omitted)]
        yield _row([escape_comment(_short(stack.name), in_table=True), _bold(stack.risk), *cells])


def _stack(stack: StackReview, *, short: bool) -> Iterator[str]:
    yield from _summary(stack)
    lines: dict[bool, list[str]] = {True: [], False: []}
    for group in group_findings(stack.entries):
        lines[group.level > Risk.LOW] += _group(group, short=short)
    yield from lines[True]
    if lines[False]:
        quiet = sum(entry.level <= Risk.LOW for entry in stack.entries)
        yield from _folded(f"{format_count(quiet, 'finding')} of low risk", lines[False])
    if short:
        return
    if stack.cost.rows:
        yield from _cost(stack.cost)
    if stack.others:
        rows = (_row(escape_comment(cell, in_table=True) for cell in build_other_row(step)) for step in stack.others)
        head = (_row(["Change", "Type", "Name", "Properties"]), _row(["---"] * 4))
        yield from _folded(f"{format_count(len(stack.others), 'other change')}", (*head, *rows))
    if stack.omitted:
        rows = (
            _row([f"`{filter_.name}`", str(count), escape_comment(filter_.reason, in_table=True)])
            for filter_, count in stack.omitted
        )
        head = (_row(["Filter", "Number", "What"]), _row(["---"] * 3))
        total = sum(count for _, count in stack.omitted)
        yield from _folded(f"{total} omitted", (*head, *rows))
    if warnings := stack.warnings:
        yield from _folded(format_count(len(warnings), "warning"), (f"- {escape_comment(text)}" for text in warnings))
    if acknowledged := stack.acknowledged:
        new = sum(each.new for each in acknowledged)
        title = f"{format_count(len(acknowledged), 'acknowledged warning')}{f', {new} new' if new else ''}"
        yield from _folded(title, (f"- {escape_comment(str(each))}" for each in acknowledged))


def _summary(stack: StackReview) -> Iterator[str]:
    """Yield one row for each question; those that every reviewer has also where nothing was found."""
    yield _row(["", escape_comment(format_changes(stack), in_table=True)])
    yield _row(["---"] * 2)
    for topic in REVIEW_TOPICS:
        found = [entry for entry in stack.entries if entry.rule.topic == topic]
        costs = [escape_comment(format_cost(stack.cost), in_table=True)] if topic == "Costs" and stack.cost.rows else []
        if found or costs:
            yield _row([f"**{topic}**", "<br>".join((*costs, *_by_rule(found)))])
        elif topic in ALWAYS:
            yield _row([f"**{topic}**", _nothing(stack)])
    nothing = _nothing(stack) if stack.change.preview.source else NOT_KNOWN
    others = f"{format_count(len(stack.others), 'change')}" if stack.others else nothing
    yield _row(["**Other**", others])
    yield _row(["**Omitted**", escape_comment(format_omitted(stack), in_table=True)])


def _nothing(stack: StackReview) -> str:
    """Return what a row says where nothing was found: whether it was looked for, and in what."""
    change = stack.change
    if change.preview.source:
        return _NOTHING if change.preview.succeeded else f"{_NOTHING} before the preview failed"
    sides = (change.before, change.after)
    compared = change.after is not None and all(side is None or side.plan is not None for side in sides)
    return f"{_NOTHING} in the stack files" if compared else NOT_KNOWN


def _cost(cost: CostDifference) -> Iterator[str]:
    table = build_cost_table(cost)
    yield from ("", f"**{table.title}**", "")
    yield _row(table.columns)
    yield _row(["---"] * len(table.columns))
    yield from (_row(escape_comment(cell, in_table=True) for cell in row) for row in table.rows)
    yield from _folded("How costs are computed", (f"- {escape_comment(line)}" for line in list_cost_notes(cost)))


def _by_rule(entries: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each rule: its risk, its name, and what it is about."""
    for rule in dict.fromkeys(entry.rule for entry in entries):
        found = [entry for entry in entries if entry.rule == rule]
        subjects = list(dict.fromkeys(finding.subject for finding in found))
        names = ", ".join(escape_comment(_short(subject), in_table=True) for subject in subjects[:_MOST_SHOWN])
        more = f" and {len(subjects) - _MOST_SHOWN} more" if len(subjects) > _MOST_SHOWN else ""
        yield f"{_bold(max(finding.level for finding in found))} `{rule.name}`: {names}{more}"


def _group(group: FindingGroup, *, short: bool) -> Iterator[str]:
    """Yield one finding with its reasons, or several of one rule as a list, with what all of them say at its end."""
    check = f"- _Check:_ {escape_comment(group.rule.fix)}"
    if len(group.findings) == 1:
        (finding,) = group.findings
        yield from ("", f"**{group.level.name}: {escape_comment(finding.subject)}** (`{group.rule.name}`)<br>")
        yield escape_comment(finding.text)
        if not short:
            yield from ("", *(f"- {escape_comment(line)}" for line in finding.details), check)
        return
    yield from ("", f"**{group.level.name}: {len(group.findings)} findings** (`{group.rule.name}`)", "")
    shown = group.findings[:_MOST_SHOWN] if short else group.findings
    for finding in shown:
        yield f"- **{escape_comment(finding.subject)}**: {escape_comment(finding.text)}"
        if not short:
            yield from (f"  - {escape_comment(line)}" for line in group.own(finding))
    if len(shown) < len(group.findings):
        yield f"- and {len(group.findings) - len(shown)} more"
    if not short:
        yield from (f"- {escape_comment(line)}" for line in group.common)
        yield check


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{title}</summary>", "")
    yield from lines
    yield from ("", "</details>")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _bold(risk: Risk) -> str:
    return f"**{risk.name}**" if risk > Risk.LOW else risk.name.lower()


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
