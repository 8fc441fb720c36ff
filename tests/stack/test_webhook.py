"""The admission webhook in a stack: what follows from the stack, and what contradicts it."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.schema.webhook import WebhookConfiguration
from multiarch.stack.model import AdmissionWebhookPlan
from tests.stack.files import CONFIG, Project
from tests.stack.test_autoscaling_contradictions import NO_AGENT, NO_NAT
from tests.stack.words import Case, check_contradiction, merged, plan, problems

IMAGE = f"111122223333.dkr.ecr.eu-west-1.amazonaws.com/multiarch@sha256:{'0123456789abcdef' * 4}"
ROOT = "admissionWebhook"
SETTINGS = f"{ROOT}.configuration"


def webhook(**words: object) -> dict[str, Any]:
    return {ROOT: {"enabled": True, "image": IMAGE, **words}}


def deciding(**words: object) -> dict[str, Any]:
    return webhook(configuration=words)


CASES: list[Case] = [
    ("image-missing", {ROOT: {"enabled": True}}, f"{ROOT}.image", "Push"),
    ("image", webhook(image="registry.example.com/Webhook"), f"{ROOT}.image", "not an image reference"),
    ("webhook-image-not-pinned", webhook(image=IMAGE.partition("@")[0]), f"{ROOT}.image", "no digest"),
    ("image-no-way-out", merged(NO_NAT, webhook(image=f"quay.io/a/b@{IMAGE.partition('@')[2]}")), f"{ROOT}.image",
     "quay.io"),
    ("webhook-not-used", {ROOT: {"replicas": 3}}, ROOT, "no effect"),
    ("not-valid", webhook(ecrRepositories=["shop/*", "https://x"]), f"{ROOT}.ecrRepositories[1]", "https://x"),
    ("not-valid", webhook(ecrRepositories=["111122223333.dkr.ecr.eu-west-1.amazonaws.com/shop/*"]),
     f"{ROOT}.ecrRepositories[0]", "write shop/*"),
    ("webhook-architecture", deciding(architectures=["arm64"]), f"{SETTINGS}.architectures", "amd64"),
    ("not-valid", deciding(mode="pin", architectures=["amd64"]), f"{SETTINGS}.architectures", "pin needs both"),
    ("pod-identity-agent", webhook() | NO_AGENT, "addons.podIdentityAgent.enabled", "no IAM role"),
    ("webhook-without-taint", webhook() | {"arm64Taint": "none"}, f"{ROOT}.enabled", "arm64Taint"),
    ("webhook-taint-unused", deciding(taints=["arch=arm64:NoSchedule", "gpu:NoSchedule"]), f"{SETTINGS}.taints[1]",
     "gpu:NoSchedule"),
    ("webhook-unreachable", webhook(), f"{ROOT}.enabled", "this VPC is new"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_contradiction_is_named_with_its_key_and_the_fix(case: Case) -> None:
    check_contradiction(*case)


def planned(change: dict[str, Any]) -> AdmissionWebhookPlan:
    found = plan(change).admission_webhook
    assert found is not None
    return found


def configuration(change: dict[str, Any]) -> WebhookConfiguration:
    return planned(change).values.configuration


def test_it_is_off_unless_it_is_turned_on() -> None:
    assert plan().admission_webhook is None
    assert plan({ROOT: {"enabled": False, "image": IMAGE}}).admission_webhook is None
    assert "webhook-not-used" not in {p.rule for p in problems({ROOT: {"enabled": False, "image": IMAGE}})}


def test_taints_and_architectures_follow_from_the_stack() -> None:
    found = configuration(webhook())
    assert (found.taints, found.architectures) == (["arch=arm64:NoSchedule"], ["amd64", "arm64"])
    found = configuration(webhook() | {"arm64Taint": "cpu=graviton:NoSchedule", "nodeGroups": {"web": None}})
    assert (found.taints, found.architectures) == (["cpu=graviton:NoSchedule"], ["arm64"])


def test_what_is_written_stays_and_only_that_and_what_follows_is_set() -> None:
    found = planned(webhook(replicas=3, configuration={"mode": "observe"}))
    assert found.values.model_fields_set == {"image", "replicas", "configuration"}
    assert found.values.configuration.model_dump(exclude_unset=True) == {
        "mode": "observe",
        "taints": ["arch=arm64:NoSchedule"],
        "architectures": ["amd64", "arm64"],
    }


def test_without_ecr_it_needs_no_role_and_no_agent() -> None:
    without = deciding(registries={"ecr": False})
    assert planned(without).ecr_repositories == ()
    assert "pod-identity-agent" not in {p.rule for p in problems(without | NO_AGENT)}
    assert planned(webhook(ecrRepositories=["b", "a", "b"])).ecr_repositories == ("a", "b")


@pytest.mark.parametrize(
    ("repository", "valid"),
    [
        ("*", True),
        ("shop/*", True),
        ("arn:aws:ecr:eu-west-1:111122223333:repository/base/*", True),
        ("arn:aws-cn:ecr:*:111122223333:repository/*", True),
        ("arn:aws:s3:::bucket", False),
        ("111122223333.dkr.ecr.eu-west-1.amazonaws.com/shop", False),
        ("Shop", False),
        ("", False),
    ],
)
def test_a_repository_is_a_name_or_an_arn(repository: str, valid: bool) -> None:  # noqa: FBT001
    rules = {p.rule for p in problems(webhook(ecrRepositories=[repository]))}
    assert ("not-valid" not in rules) is valid


def test_keys_are_those_of_the_stack_file_alone(project: Project) -> None:
    """The installation's values take Python's names too; a stack file does not."""
    lines = project.lines(
        f"{CONFIG}  multiarch-eks:admissionWebhook: {{max_replicas: 3, configuration: {{cache: {{memory_mib: 9}}}}}}\n"
    )
    assert [line for line in lines if "max_replicas" in line and "maxReplicas" in line]
    assert [line for line in lines if "memory_mib" in line and "memoryMib" in line]


@pytest.mark.parametrize(
    ("written", "path", "message"),
    [
        (
            "resources: {limits: {memory: 64Mi}}",
            "",
            "resources.limits.memory is 64Mi; with configuration.cache.memoryMib 64 it must be at least 352Mi",
        ),
        ("resources: {requests: {memory: 64Mi}}", "", "resources.requests.memory is 64Mi; with"),
        ("resources: {limits: {memory: 1G}}", ".resources.limits.memory", "whole number of Mi or Gi, such as 512Mi."),
        ("priorityClassName: High", ".priorityClassName", "'High'; it takes a DNS name in lower case"),
        ("imagePullSecrets: [{name: a_b}]", ".imagePullSecrets[0].name", "a_b"),
        ("metricsPort: 8443", "", "securePort and metricsPort must differ"),
    ],
)
def test_what_does_not_fit_together_is_rejected_with_file_and_line(
    project: Project, written: str, path: str, message: str
) -> None:
    lines = project.lines(f"{CONFIG}  multiarch-eks:admissionWebhook: {{{written}}}\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"Pulumi.shop-dev.yaml:10 admissionWebhook{path}: ")
    assert message in lines[0]
