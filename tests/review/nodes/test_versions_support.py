"""Versions of Kubernetes, images, add-ons and charts, with their support."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from multiarch.observed.resources.paths import UNKNOWN
from multiarch.review.model import Operation, Step
from multiarch.review.nodes import versions_support
from multiarch.rules import Finding, Risk
from tests.review.by_hand import (
    ADD_ON,
    CLUSTER,
    EC2_NODE_CLASS,
    GROUP,
    MANAGED,
    NODE_CLASS,
    RELEASE,
    by_rule,
    change,
    changed,
    made,
    said,
)
from tests.stack.words import plan


def find(*steps: Step, **more: Any) -> list[Finding]:
    return list(versions_support.find_version_changes(change(*steps, **more)))


def cluster(old: str, new: str) -> Step:
    return changed(CLUSTER, "cluster-eksCluster", {"version": old}, {"version": new})


def test_an_upgrade_names_the_dates_of_both_tiers() -> None:
    (found,) = find(cluster("1.34", "1.35"))
    assert found.text == (
        "1.34 → 1.35; standard support until 2027-03-27, then extended support, which costs more, until 2028-03-27. It "
        "can't be undone: EKS can't downgrade a cluster."
    )
    assert "Before: standard support until 2026-12-02" in found.details[0]
    assert (found.rule.name, found.level) == ("change-kubernetes", Risk.MEDIUM)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("1.35", "1.34", "EKS can't downgrade a cluster."),
        ("1.33", "1.35", "EKS upgrades one minor at a time, so it rejects this; 1.34 comes next."),
    ],
)
def test_steps_that_eks_rejects_are_of_high_risk(old: str, new: str, text: str) -> None:
    (found,) = by_rule(find(cluster(old, new)))["refused-kubernetes"]
    assert text in found.text
    assert found.level is Risk.HIGH


@pytest.mark.parametrize(
    ("today", "text", "risk"),
    [
        (date(2027, 3, 26), None, None),
        (date(2027, 3, 27), "extended support, which costs more per cluster hour, until 2028-03-27", Risk.MEDIUM),
        (date(2028, 3, 27), "EKS support ended on 2028-03-27", Risk.HIGH),
    ],
)
def test_a_new_version_outside_standard_support_is_a_finding(today: date, text: str | None, risk: Risk | None) -> None:
    found = by_rule(find(cluster("1.34", "1.35"), today=today)).get("kubernetes-support", [])
    assert [each.level for each in found] == ([] if risk is None else [risk])
    assert text is None or text in said(found)


@pytest.mark.parametrize(("old", "new"), [("1.35", "1.36"), ("1.98", "1.99")])
def test_dates_that_are_not_known_are_said_to_be_unknown(old: str, new: str) -> None:
    assert "its support dates are unknown" in said(find(cluster(old, new)))


def test_the_plans_tell_the_version_without_a_preview_or_when_it_failed_before_the_cluster() -> None:
    plans = (plan({"kubernetesVersion": "1.34"}), plan({"kubernetesVersion": "1.35"}))
    assert "1.34 → 1.35" in said(find(plans=plans, succeeded=False))
    assert "1.34 → 1.35" in said(find(plans=plans))
    assert find(cluster("1.35", "1.35"), plans=plans) == []


def group(old: str | None, new: str | None, reported: str | None = None) -> Step:
    base = {**MANAGED, **({"releaseVersion": old} if old else {})}
    return made(
        GROUP,
        "graviton",
        base,
        {**MANAGED, **({"releaseVersion": new} if new else {})},
        operation=Operation.UPDATE,
        outputs={**base, "releaseVersion": reported or old},
    )


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("1.35.4-20261001", "1.35.4-20261106"),
        ("1.51.0-ae0b4a82", "1.52.0-00000001"),
    ],
)
def test_an_older_image_release_is_of_high_risk(new: str, old: str) -> None:
    (found,) = find(group(old, new))
    assert (found.rule.name, found.level) == ("old-image", Risk.HIGH)
    (found,) = find(group(new, old))
    assert (found.rule.name, found.level) == ("change-image", Risk.LOW)


def test_an_image_that_is_pinned_to_what_runs_is_no_other_image_and_one_that_is_no_longer_pinned_is_a_finding() -> None:
    (found,) = find(group(None, "1.35.4-20261106", "1.35.4-20261106"))
    assert (found.level, "is pinned" in found.text) == (Risk.NONE, True)
    (found,) = find(group("1.35.4-20261106", None))
    assert (found.rule.name, found.level) == ("unpin-image", Risk.MEDIUM)


def test_amazon_linux_2_is_named_with_its_ends() -> None:
    step = changed(GROUP, "graviton", MANAGED, {"amiType": "AL2_ARM_64"}, operation=Operation.REPLACE)
    found = said(by_rule(find(step))["old-image"])
    assert "Amazon Linux 2 reached its end on 2026-06-30" in found
    assert "1.32 is the last" in found
    assert "old-image" in by_rule(find(made(GROUP, "graviton", None, {**MANAGED, "amiType": "AL2_ARM_64"})))


@pytest.mark.parametrize(
    ("alias", "rule"),
    [("al2023@v20260801", "change-image"), ("al2023@v20260701", "old-image"), ("al2023@latest", "unpin-image")],
)
def test_an_alias_of_karpenters_nodes_is_compared_too(alias: str, rule: str) -> None:
    step = changed(NODE_CLASS, "default", EC2_NODE_CLASS, {"spec": {"amiSelectorTerms": [{"alias": alias}]}})
    (found,) = find(step)
    assert found.rule.name == rule
    assert found.subject == "EC2NodeClass default"


def test_a_pinned_release_that_moves_into_the_launch_template_is_not_unpinned() -> None:
    words = [{"release": "1.35.4-20261106"}, {"id": f"ami-{'a' * 17}", "release": "1.35.4-20261106"}]
    plans = [plan({"nodeGroups": {"web-arm": {"ami": each}}}) for each in words]
    without = {key: value for key, value in MANAGED.items() if key != "amiType"}
    step = made(
        GROUP, "web-arm", {**MANAGED, "releaseVersion": "1.35.4-20261106"}, without, operation=Operation.REPLACE
    )
    assert {each.rule.name for each in find(step, plans=(plans[0], plans[1]))} <= {"change-image"}
    # An earlier one is an older image, wherever it is written.
    older = plan({"nodeGroups": {"web-arm": {"ami": {"id": f"ami-{'b' * 17}", "release": "1.35.4-20261001"}}}})
    (found,) = find(plans=(plans[1], older))
    assert (found.rule.name, "1.35.4-20261106 → 1.35.4-20261001" in found.text) == ("old-image", True)


def test_an_own_image_comes_from_the_plans() -> None:
    ids = [{"nodeGroups": {"web-arm": {"ami": {"id": f"ami-{digit * 17}"}}}} for digit in "ab"]
    step = changed(GROUP, "web-arm", MANAGED, {"launchTemplate": {"version": "2"}})
    (found,) = find(step, plans=(plan(ids[0]), plan(ids[1])))
    assert found.text.startswith("Image ami-aaaaaaaaaaaaaaaaa → ami-bbbbbbbbbbbbbbbbb")
    (unpinned,) = find(step, plans=(plan(ids[0]), plan()))
    assert unpinned.rule.name == "unpin-image"


@pytest.mark.parametrize(
    ("old", "new", "text", "risk"),
    [
        ("v1.21.1-eksbuild.1", "v1.21.1-eksbuild.3", "v1.21.1-eksbuild.1 → v1.21.1-eksbuild.3.", Risk.LOW),
        ("v1.21.1-eksbuild.3", "v1.20.0-eksbuild.9", "an older version", Risk.MEDIUM),
        ("v1.21.1-eksbuild.3", None, "no longer pinned (now v1.21.1-eksbuild.3)", Risk.MEDIUM),
        (None, "v1.21.1-eksbuild.3", "is v1.21.1-eksbuild.3 from now on", Risk.LOW),
    ],
)
def test_versions_of_add_ons_and_charts(old: str | None, new: str | None, text: str, risk: Risk) -> None:
    (found,) = find(changed(ADD_ON, "vpc-cni", {"addonVersion": old}, {"addonVersion": new}))
    assert text in found.text
    assert (found.subject, found.level) == ("add-on vpc-cni", risk)
    (found,) = find(changed(RELEASE, "karpenter", {"version": old}, {"version": new}))
    assert (found.subject, found.level) == ("Helm release karpenter", risk)


def test_versions_that_are_known_only_during_the_update_are_not_unpinned() -> None:
    add_on = changed(ADD_ON, "vpc-cni", {"addonVersion": "v1.21.1-eksbuild.1"}, {"addonVersion": UNKNOWN})
    assert find(add_on, group("1.35.4-20261106", UNKNOWN)) == []
