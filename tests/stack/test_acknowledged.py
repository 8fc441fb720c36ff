"""Warnings that a team has decided about keep their place, with the reason, and no longer count."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.rules import RULES
from multiarch.stack.plan import make_plan
from tests.stack.files import CONFIG, PROJECT, Project
from tests.stack.words import TODAY, plan, problems

PINNED, CIDR = "ami-not-pinned", {"apiEndpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"]}}


def test_every_warning_of_the_rule_has_the_reason_and_no_other_has() -> None:
    found = plan({**CIDR, "acknowledge": {PINNED: "until\n the release"}}).warnings
    assert {(each.key, each.acknowledged) for each in found if each.rule == PINNED} == {
        ("nodeGroups.web", "until the release"),
        ("nodeGroups.web-arm", "until the release"),
    }
    assert [each.acknowledged for each in found if each.rule == "documentation-cidr"] == [""]
    (warning,) = [each for each in found if each.key == "nodeGroups.web"]
    assert str(warning).endswith("Acknowledged: until the release")
    assert warning.hint not in str(warning)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ami-not-pined", "Did you mean ami-not-pinned?"),
        ("amiNotPinned", "Did you mean ami-not-pinned?"),
        ("xyz", RULES["unknown-rule"].fix),
        ("cluster-not-read", RULES["acknowledged-error"].fix),
        ("unused-acknowledgement", RULES["acknowledged-error"].fix),
    ],
)
def test_a_name_that_is_not_a_warning_is_rejected_with_what_was_meant(name: str, hint: str) -> None:
    (found,) = [each for each in problems({"acknowledge": {name: "x"}}) if each.key == f"acknowledge.{name}"]
    assert found.hint == hint


def test_an_entry_without_a_reason_is_rejected(project: Project) -> None:
    for reason in ('""', "", "true", "[]"):
        assert project.problems(f"{CONFIG}  multiarch-eks:acknowledge: {{{PINNED}: {reason}}}\n")


@pytest.mark.parametrize(
    "words",
    [
        {"acknowledge": {"open-to-all": "x"}, "nodeGroups": {"web": {"minSize": 9, "maxSize": 1}}},
        {"acknowledge": {"policy-ami-pinned": "only `stack check --policy` knows"}},
    ],
    ids=["an error may hide the warning", "a policy's rule"],
)
def test_an_entry_is_not_called_unused_where_that_is_not_known(words: dict[str, Any]) -> None:
    assert "unused-acknowledgement" not in {each.rule for each in problems(words)}


def test_the_organisations_entries_need_not_fit_every_stack(project: Project) -> None:
    everywhere = f"{{acknowledge: {{open-to-all: all, {PINNED}: all}}}}"
    default = f"{PROJECT}config:\n  multiarch-eks:defaults: {{value: {everywhere}}}\n"
    own = f"{CONFIG}  multiarch-eks:acknowledge: {{{PINNED}: own, imds-hop-limit: own}}\n"
    found = make_plan(project.load(own, project=default), today=TODAY).warnings
    assert {each.acknowledged for each in found if each.rule == PINNED} == {"own"}
    assert [each.key for each in found if each.rule == "unused-acknowledgement"] == ["acknowledge.imds-hop-limit"]
