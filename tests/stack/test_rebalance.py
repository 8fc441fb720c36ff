"""The CronJob that rebalances in a stack: what its runs get, and what contradicts the stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multiarch.schema.rebalance import RebalancePlan
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from tests.stack.test_autoscaling_contradictions import KARPENTER, NO_AGENT, NO_NAT
from tests.stack.test_webhook import IMAGE, webhook
from tests.stack.words import TODAY, Case, check_contradiction, merged, plan, problems

ROOT = "rebalance"


def rebalance(**words: object) -> dict[str, Any]:
    return {ROOT: {"enabled": True, "image": IMAGE, **words}}


def quiet(schedule: str, duration: str) -> dict[str, Any]:
    return rebalance(quietHours={"schedule": schedule, "duration": duration})


CASES: list[Case] = [
    ("image-missing", {ROOT: {"enabled": True}}, f"{ROOT}.image", "no image"),
    ("image", rebalance(image="registry.example.com/Tool"), f"{ROOT}.image", "not an image reference"),
    ("rebalance-image-not-pinned", rebalance(image=IMAGE.partition("@")[0]), f"{ROOT}.image", "no digest"),
    ("image-no-way-out", merged(NO_NAT, rebalance(image=f"quay.io/a/b@{IMAGE.partition('@')[2]}")), f"{ROOT}.image",
     "quay.io"),
    ("rebalance-not-used", {ROOT: {"maxPods": 3}}, ROOT, "no effect"),
    ("not-valid", rebalance(ecrRepositories=["shop/*", "https://x"]), f"{ROOT}.ecrRepositories[1]",
     "https://x"),
    ("not-valid", rebalance(pullSecrets=["registry"]), f"{ROOT}.pullSecrets[0]", "registry"),
    ("pod-identity-agent", rebalance() | NO_AGENT, "addons.podIdentityAgent.enabled", "no IAM role"),
    ("rebalance-schedule", rebalance(schedule="hourly"), f"{ROOT}.schedule", "hourly"),
    ("rebalance-duration", rebalance(pace="0s"), f"{ROOT}.pace", "0s"),
    ("rebalance-duration", quiet("0 8 * * *", "24h"), f"{ROOT}.quietHours.duration", "never end"),
    ("rebalance-one-architecture", rebalance() | {"nodeGroups": {"web-arm": None}}, f"{ROOT}.enabled",
     "no arm64 nodes"),
    ("rebalance-unreachable", rebalance(), f"{ROOT}.enabled", "this VPC is new"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_contradiction_is_named_with_its_key_and_the_fix(case: Case) -> None:
    check_contradiction(*case)


def planned(change: dict[str, Any]) -> RebalancePlan:
    found = plan(change).rebalance
    assert found is not None
    return found


def test_it_is_off_unless_it_is_turned_on() -> None:
    assert plan().rebalance is None
    assert plan({ROOT: {"enabled": False, "image": IMAGE}}).rebalance is None
    assert "rebalance-not-used" not in {p.rule for p in problems({ROOT: {"enabled": False, "image": IMAGE}})}


def test_its_image_is_by_default_the_webhook_s_and_is_checked_once() -> None:
    both = webhook() | {ROOT: {"enabled": True}}
    assert planned(both).image == IMAGE
    assert planned({"admissionWebhook": {"enabled": False, "image": IMAGE}, ROOT: {"enabled": True}}).image == IMAGE
    unpinned = {p.rule for p in problems(webhook(image=IMAGE.partition("@")[0]) | {ROOT: {"enabled": True}})}
    assert "webhook-image-not-pinned" in unpinned
    assert "rebalance-image-not-pinned" not in unpinned


def test_architectures_of_pools_count_too() -> None:
    change = merged(KARPENTER, merged(rebalance(), {"nodeGroups": {"web-arm": None}}))
    assert planned(change).image == IMAGE


def test_without_ecr_it_needs_no_role_and_no_agent() -> None:
    assert planned(rebalance(ecrRepositories=[]) | NO_AGENT).ecr_repositories == []
    assert planned(rebalance(ecrRepositories=["b", "a", "b"])).ecr_repositories == ["a", "b"]


@pytest.mark.parametrize("change", [{}, KARPENTER, {"autoscaling": {"use": "cluster-autoscaler"}}])
def test_the_stack_file_of_its_runs_makes_the_same_nodes_without_a_project(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    wanted = plan(merged(change, rebalance() | {"arm64Taint": "cpu=graviton:NoSchedule"}))
    assert wanted.rebalance is not None
    file = tmp_path / "Pulumi.shop-dev.yaml"
    file.write_text(wanted.rebalance.stack_file)
    found = make_plan(load_file(file), today=TODAY)
    assert found.rebalance is None
    for part in ("stack", "region", "node_groups", "arm64_taint", "autoscaling", "network", "addons"):
        assert getattr(found, part) == getattr(wanted, part), part


def test_the_stack_file_of_its_runs_does_not_say_who_may_use_the_cluster() -> None:
    role = "arn:aws:iam::111122223333:role/platform"
    assert role not in planned(rebalance() | {"access": {"admins": [role]}}).stack_file
