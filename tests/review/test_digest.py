"""The digest: worst first, with what failed, what drifted, and what the stack files say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from multiarch.cli.review.markdown import render_markdown
from multiarch.errors import Problem
from multiarch.review import cost, digest
from multiarch.review.digest import ReviewDigest, build_digest
from multiarch.review.model import Operation, Preview, StackChange, StackVersion
from multiarch.review.previews.reading import read_previews
from multiarch.rules import REVIEW_RULES, Finding, Risk
from multiarch.stack.load import load_file
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from tests.review.engine_text import digest as preview_text
from tests.review.engine_text import error, event_log, step

ROLE, QUEUE = "aws:iam/role:Role", "aws:sqs/queue:Queue"
TODAY = date(2026, 11, 22)
WARNING = Problem("ami-not-pinned", "the image is not pinned", key="nodeGroups.general")
OTHER = Problem("documentation-cidr", "it is reserved", key="apiEndpoint.publicCidrs[0]")
FILE = Path(__file__).parents[2] / "config/stacks/Pulumi.checkout-dev.yaml"


def planned() -> Plan:
    return make_plan(load_file(FILE), today=TODAY)


def reviewed(data: bytes, before: StackVersion | None = None, after: StackVersion | None = None) -> ReviewDigest:
    return build_digest(StackChange(preview, before, after, TODAY) for preview in read_previews(data, "preview.json"))


def rules(found: ReviewDigest) -> list[str]:
    return [entry.rule.name for stack in found.stacks for entry in stack.entries]


def test_other_changes_are_of_low_risk_and_counted() -> None:
    found = reviewed(preview_text(step("same", ROLE, "a", {}, {})))
    assert (found.risk, rules(found), found.stacks[0].others) == (Risk.NONE, [], ())
    (stack,) = reviewed(preview_text(step("update", ROLE, "a", {"x": 1}, {"x": 2}, {"x": "update"}))).stacks
    assert (stack.risk, [each.name for each in stack.others]) == (Risk.LOW, ["a"])
    assert stack.operations == {Operation.UPDATE: 1}


def test_the_worst_comes_first() -> None:
    drift = step("refresh", ROLE, "r", {"x": 1}, {"x": 2})
    found = reviewed(event_log(drift, step("delete", QUEUE, "q", {"name": "q"})))
    assert rules(found) == ["delete-stateful", "drift"]
    other = preview_text(step("same", ROLE, "a", {}, {})).replace(b"checkout-dev", b"a-dev")
    both = reviewed(other + preview_text(step("delete", QUEUE, "q", {"name": "q"})))
    assert [stack.name for stack in both.stacks] == ["checkout-dev", "a-dev"]


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("no valid credential sources for S3 found", "from a fork"),
        ("operation error STS: ExpiredToken: expired", "expired"),
        ("AccessDenied: User is not authorized to perform: eks:DescribeCluster", "read role"),
        ("the stack is currently locked by 1 lock(s) token=[secret]", "Another update runs"),
    ],
)
def test_a_failed_preview_says_what_to_do(message: str, hint: str) -> None:
    found = reviewed(
        preview_text(step("same", ROLE, "a", {}, {}), diagnostics=[error(message.replace("[secret]", "hunter2"))])
    )
    finding = found.stacks[0].entries[0]
    assert (finding.rule.name, found.risk) == ("preview-failed", Risk.HIGH)
    assert finding.details[0] == message
    assert hint in finding.details[1]


def test_a_preview_without_steps_says_nothing_about_costs() -> None:
    config = {"multiarch-eks:team": "checkout", "multiarch-eks:environment": "dev"}
    failed = {"config": config, "steps": [], "diagnostics": [error("no valid credential sources")]}
    found = reviewed(json.dumps(failed).encode()).stacks[0].cost
    assert (found.complete, found.unknown) == (False, ("the preview failed before its first step",))


def test_drift_says_what_the_update_does_about_it() -> None:
    refresh = step("refresh", QUEUE, "q", {"delay": 0, "x": 1}, {"delay": 9, "x": 1})
    back = step("update", QUEUE, "q", {"delay": 9, "x": 1}, {"delay": 0, "x": 1}, {"delay": "update"})
    (entry,) = reviewed(event_log(refresh, back)).stacks[0].entries
    assert entry.details == ("delay: 0 → 9; this update sets it to what the program says",)
    (left,) = reviewed(event_log(refresh)).stacks[0].entries
    assert left.details == ("delay: 0 → 9; this update leaves it",)


def test_what_was_deleted_outside_is_created_again() -> None:
    refresh = step("refresh", QUEUE, "q", {"name": "q"}, {"name": "q"})
    (entry,) = reviewed(preview_text(refresh, step("create", QUEUE, "q", None, {"name": "q"}))).stacks[0].entries
    assert (entry.level, entry.subject) == (Risk.HIGH, "SQS queue q")
    assert entry.text == "It was deleted outside of Pulumi. This update creates it again."


def test_drift_of_what_an_autoscaler_sets_is_omitted() -> None:
    kind = "aws:eks/nodeGroup:NodeGroup"
    refresh = step("refresh", kind, "g", {"scalingConfig": {"desiredSize": 1}}, {"scalingConfig": {"desiredSize": 3}})
    (stack,) = reviewed(event_log(refresh)).stacks
    assert (stack.entries, stack.others) == ((), ())
    assert [(found.name, count) for found, count in stack.omitted] == [("desired-size", 1)]


def test_the_stack_files_are_part_of_the_review() -> None:
    old, bad = (
        StackVersion("Pulumi.checkout-dev.yaml", None, "x"),
        StackVersion("Pulumi.checkout-dev.yaml", None, "team: missing."),
    )
    same = preview_text(step("same", ROLE, "a", {}, {}))
    assert rules(reviewed(same, old, None)) == ["delete-stack-file"]
    assert rules(reviewed(same, old, bad)) == ["invalid-stack-file"]
    destroyed = preview_text(step("delete", ROLE, "a", {}))
    assert rules(reviewed(destroyed, old, None)) == []
    stopped = preview_text(step("delete", ROLE, "a", {}), step("same", ROLE, "b", {}, {}), diagnostics=[error("x")])
    assert rules(reviewed(stopped, old, None)) == ["preview-failed"]
    without = build_digest(
        [StackChange(Preview("a-dev", "multiarch-eks", "", (), (), (), succeeded=True), None, None, TODAY)]
    )
    assert rules(without) == ["no-preview"]


def test_warnings_of_the_stack_file_are_shown_when_they_are_new() -> None:
    old, new = (replace(planned(), warnings=tuple(found)) for found in ([WARNING], [WARNING, OTHER]))
    plugin = "using pulumi-resource-aws from $PATH at /opt/pulumi-resource-aws"
    texts = [f"Pulumi.checkout-dev.yaml:3 {each.key}: {each.message} [{each.rule}]" for each in (WARNING, OTHER)]
    diagnostics = [{"severity": "warning", "message": text} for text in (plugin, *texts)]
    data = preview_text(step("same", ROLE, "a", {}, {}), diagnostics=diagnostics)
    (stack,) = reviewed(data, StackVersion("x", old), StackVersion("x", new)).stacks
    assert stack.warnings == (texts[1],)
    assert [(found.name, count) for found, count in stack.omitted] == [("plugin-path", 1), ("known-warning", 1)]


def test_acknowledged_warnings_are_shown_with_their_reason_and_new_ones_are_named() -> None:
    text = "policy policy-ami-pinned of multiarch: web: not pinned"
    old = replace(planned(), acknowledged=(("ami-not-pinned", "later"),))
    new = replace(old, acknowledged=(*old.acknowledged, ("policy-ami-pinned", "too")), warnings=(WARNING,))
    data = preview_text(step("same", ROLE, "a", {}, {}), diagnostics=[{"severity": "warning", "message": text}])
    for sides, shown in (((old, new), ()), ((new, old), (text,))):
        (stack,) = reviewed(data, *(StackVersion("x", each) for each in sides)).stacks
        assert stack.warnings == shown
    (stack,) = reviewed(data, StackVersion("x", old), StackVersion("x", new)).stacks
    assert list(map(str, stack.acknowledged)) == [
        "ami-not-pinned (nodeGroups.general): later",
        "new: policy-ami-pinned: too",
    ]
    markdown, _ = render_markdown(ReviewDigest((stack,)))
    assert "2 acknowledged warnings, 1 new" in markdown


def test_parts_that_fail_are_findings_and_hide_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(_: StackChange) -> Iterator[Finding]:
        yield from ()
        raise TypeError("unhashable type: 'dict'")

    def difference(_: StackChange) -> None:
        raise ValueError("invalid literal")

    monkeypatch.setattr(cost, "compare_costs", difference)
    finders = [(topic, find if topic == "Rolls" else other) for topic, other in vars(digest)["_FINDERS"]]
    monkeypatch.setattr(digest, "_FINDERS", finders)
    found = reviewed(preview_text(step("delete", QUEUE, "q", {"name": "q"})))
    assert rules(found) == ["delete-stateful", "unreadable-value", "unreadable-value"]
    assert found.stacks[0].cost.rows == ()
    finding = found.stacks[0].entries[1]
    assert finding.subject == "rules of the topic rolls"
    assert finding.details == ("TypeError: unhashable type: 'dict'",)


def test_every_rule_says_what_it_finds_and_what_to_check() -> None:
    for name, rule in REVIEW_RULES.items():
        assert name == rule.name
        assert rule.finds
        assert rule.fix.endswith(("?", ".")), name
