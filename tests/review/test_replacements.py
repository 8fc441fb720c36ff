"""Replacements and deletions of what holds data or runs pods."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from multiarch.review import replacements
from multiarch.review.holdings import get_holding
from multiarch.review.model import Operation, StackChange
from multiarch.review.previews.reading import read_previews
from multiarch.review.values import format_value
from multiarch.rules import Finding, Risk
from tests.review.by_hand import change, changed, made
from tests.review.engine_text import digest, event_log, step

SET, QUEUE, KEY = "kubernetes:apps/v1:StatefulSet", "aws:sqs/queue:Queue", "aws:kms/key:Key"


def found(data: bytes) -> list[Finding]:
    return [
        finding
        for preview in read_previews(data, "-")
        for finding in replacements.find_replacements(StackChange(preview, None, None, date(2026, 11, 22)))
    ]


def test_a_replaced_stateful_set_says_why_and_what_is_lost() -> None:
    meta = {"name": "db", "namespace": "shop"}
    old, new = ({"metadata": meta, "spec": {"serviceName": name}} for name in ("a", "b"))
    (finding,) = found(digest(step("replace", SET, "db", old, new, {"spec.serviceName": "update-replace"})))
    assert (finding.rule.name, finding.level) == ("replace-stateful", Risk.HIGH)
    assert finding.subject == "StatefulSet shop/db"
    assert finding.text == "It is replaced by a new one. Lost with it: its pods, with the identity of each."
    assert finding.details[0] == "Reason: spec.serviceName: a → b."
    assert finding.details[1].startswith("The preview does not say whether the old one is deleted first")


def test_the_event_log_says_which_comes_first_and_pods_are_not_data() -> None:
    kind = "kubernetes:apps/v1:Deployment"
    logical = step("replace", kind, "api", {"a": 1}, {"a": 2}, {"a": "update-replace"})
    create, delete = {**logical, "op": "create-replacement"}, {**logical, "op": "delete-replaced", "newState": None}
    (first,), (last,) = found(event_log(create, logical, delete)), found(event_log(delete, logical, create))
    assert (first.rule.name, first.level, last.level) == ("replace-running", Risk.MEDIUM, Risk.HIGH)
    assert first.details[1] == "The new one is created before the old one is deleted."
    assert last.details[1] == "The old one is deleted before the new one exists."


def test_a_replacement_without_a_cause_follows_another() -> None:
    (finding,) = found(digest(step("replace", QUEUE, "jobs", {"a": 1}, {"a": 1})))
    assert finding.details[0].startswith("The preview does not name a property that causes this")


def test_a_deletion_says_what_stops_or_softens_it() -> None:
    inputs = {"name": "it", "skipFinalSnapshot": True, "deletionWindowInDays": 7, "forceDestroy": None}
    (finding,) = found(digest(step("delete", "aws:rds/instance:Instance", "it", inputs, protect=True)))
    assert (finding.rule.name, finding.level) == ("delete-stateful", Risk.HIGH)
    assert finding.details == (
        "It is protected: Pulumi rejects this until `protect` is removed in an update of its own.",
        "Its settings: deletionWindowInDays 7, skipFinalSnapshot true.",
    )


def test_what_is_retained_stays_and_costs() -> None:
    (kept,) = found(digest(step("delete", QUEUE, "old", {"name": "old"}, retainOnDelete=True)))
    assert (kept.rule.name, kept.level, kept.subject) == ("forget-resource", Risk.MEDIUM, "SQS queue old")
    (other,) = found(digest(step("delete", "aws:iam/role:Role", "old", {"name": "old"}, retainOnDelete=True)))
    assert other.level is Risk.LOW
    (replaced,) = found(digest(step("replace", QUEUE, "q", {"name": "a"}, {"name": "b"}, retainOnDelete=True)))
    assert "The old one stays in place" in replaced.text


@pytest.mark.parametrize(
    "token",
    [
        "aws:eks/nodeGroup:NodeGroup",
        "aws:autoscaling/tag:Tag",
        "aws:iam/role:Role",
        "multiarch-eks:components:Platform",
    ],
)
def test_what_holds_nothing_of_its_own_is_left_to_others(token: str) -> None:
    assert found(digest(step("delete", token, "it", {}), step("replace", token, "other", {}, {}))) == []


def test_kinds_are_found_in_every_version_of_their_group() -> None:
    assert get_holding("kubernetes:core/v1:Namespace") == get_holding("kubernetes:v1:Namespace")
    release = get_holding("kubernetes:helm.sh/v3:Release")
    assert release is not None
    assert not release.is_data
    assert get_holding("gcp:storage/bucket:Bucket") is None


def test_values_of_secrets_are_not_shown() -> None:
    old, new = {"masterPassword": "hunter2", "engine": "a"}, {"masterPassword": "hunter3", "engine": "b"}
    kinds = {"masterPassword": "update-replace", "engine": "update-replace"}
    (finding,) = found(digest(step("replace", "aws:rds/instance:Instance", "db", old, new, kinds)))
    assert finding.details[0] == "Reason: engine: a → b; masterPassword."


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("spec.template.spec.containers[0].env[0].value", "hunter2"),
        ("containerDefinitions", '[{"env":[{"name":"X","value":"hunter2"}]}]'),
        ("values.config", "password: hunter2"),
        ("url", "https://hooks.slack.com/services/T0/B0/hunter2"),
    ],
)
def test_what_may_be_a_secret_by_its_name_or_place_is_not_shown(path: str, text: str) -> None:
    assert "hunter2" not in format_value(text, path)


def test_lists_with_values_that_may_be_secrets_are_not_shown() -> None:
    assert format_value([{"name": "a", "env": [{"name": "X", "value": "hunter2"}]}], "spec.containers") == "…"
    assert format_value([{"name": "a", "port": 80}], "spec.ports") == '[{"name": "a", "port": 80}]'


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("taints[0].value", "arm64"),
    ],
)
def test_other_values_are_shown(path: str, text: str) -> None:
    assert format_value(text, path) == text


@pytest.mark.parametrize(
    ("type_", "rule"),
    [
        ("aws:kms/replicaKey:ReplicaKey", "delete-stateful"),
        ("kubernetes:core/v1:Secret", "delete-stateful"),
        ("kubernetes:networking.k8s.io/v1:Ingress", "delete-running"),
        ("aws:glue/catalogDatabase:CatalogDatabase", "not-judged"),
        ("cloudflare:index/record:Record", "not-judged"),
        ("aws:iam/rolePolicy:RolePolicy", None),
        ("kubernetes:core/v1:ConfigMap", None),
    ],
)
def test_a_deletion_is_judged_or_said_not_to_be(type_: str, rule: str | None) -> None:
    found = list(replacements.find_replacements(change(made(type_, "x", {"name": "x"}, None, id_="x"))))
    assert [each.rule.name for each in found] == ([rule] if rule else [])
    assert all(each.level is Risk.HIGH for each in found)


@pytest.mark.parametrize(
    ("type_", "change_", "rules"),
    [
        ("aws:lambda/permission:Permission", {"principal": "*"}, ["not-judged"]),
        ("aws:lambda/permission:Permission", {"tags": {"a": "b"}}, []),
        ("my:own:Component", {"principal": "*"}, []),
    ],
)
def test_an_update_of_an_unknown_type_is_not_judged(type_: str, change_: dict[str, Any], rules: list[str]) -> None:
    step = changed(type_, "x", {"principal": "a", "tags": {}}, change_)
    found = list(replacements.find_replacements(change(step)))
    assert [each.rule.name for each in found] == rules
    assert all(each.details == ("principal: a → *",) for each in found)


def test_a_secret_whose_values_change_is_replaced_without_a_loss() -> None:
    old, new = ({"stringData": {"a": each}} for each in "ab")
    step = made("kubernetes:core/v1:Secret", "x", old, new, operation=Operation.REPLACE)
    assert list(replacements.find_replacements(change(step))) == []
