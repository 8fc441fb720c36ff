"""Every rule of the table has a case that triggers it, and a problem without a rule of the table can't be made."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from multiarch.errors import Problem
from multiarch.rules import RULES, SECTIONS, Severity
from multiarch.rules.policies import POLICIES
from multiarch.stack import wording
from multiarch.stack.origin import Origin
from tests.nodes import test_node_settings
from tests.stack import (
    test_autoscaling_contradictions,
    test_contradictions,
    test_existing_cluster,
    test_rebalance,
    test_webhook,
)
from tests.stack.files import CONFIG, PROJECT, Project
from tests.stack.words import plan

# What EKS, EC2, Kubernetes or an autoscaler rejects is an error, and none of these.
WARNINGS = """
    addon-not-checked addon-unknown addon-without-policies al2-ended amd64-beside-others ami-not-pinned
    ami-release-alone auto-mode-addon auto-mode-session autoscaler-not-used autoscaler-unreachable aws-auth-line
    cluster-not-read controller-single-node coredns-waits device-plugin-unreachable documentation-cidr
    efa-security-group efa-zones esc-environment fargate-pod-identity group-of-several-zones group-stays-empty
    imds-hop-limit insecure-kubelet-flag instance-type-unused kubernetes-ends-soon kubernetes-extended
    kubernetes-forced-upgrade kubernetes-unconfirmed max-pods migration-architecture migration-sizes
    no-device-plugin no-driver-image no-free-pod-addresses no-group-can-grow no-vpc-cni not-drained one-zone
    open-to-all policy-ami-pinned pool-without-limit prod-unprotected public-cidr rebalance-image-not-pinned
    rebalance-not-used rebalance-unreachable service-account-without-policies session-without-nodes spot-single-type
    storage-class-unreachable termination-handler-unreachable unused-acknowledgement upgrade-policy-soon
    webhook-architecture webhook-image-not-pinned webhook-not-used webhook-taint-unused webhook-unreachable
    zones-not-named
"""
KEY = "  multiarch-eks:"
IN_GROUP = "      "
FILES: list[tuple[str, str | bytes]] = [
    ("stack-name", CONFIG.replace("team: shop", "team: other")),
    ("name", CONFIG.replace("team: shop", "team: Shop")),
    ("region", CONFIG.replace("eu-west-1", "europe")),
    ("aws-identity", f"{CONFIG}  aws:assumeRoles: [{{roleArn: a}}, {{roleArn: b}}]\n"),
    ("unknown-key", f"{CONFIG}{IN_GROUP}colour: red\n"),
    ("missing-key", CONFIG.replace("  multiarch-eks:owner: shop@example.com\n", "")),
    ("empty-value", f"{CONFIG}{KEY}clusterName:\n"),
    ("wrong-type", f"{CONFIG}{IN_GROUP}minSize: two\n"),
    ("not-allowed", f"{CONFIG}{IN_GROUP}kind: best\n"),
    ("out-of-range", f"{CONFIG}{IN_GROUP}maxSize: 0\n"),
    ("wrong-length", CONFIG.replace("[m7i.large]", "[]")),
    ("not-valid", f"{CONFIG}{KEY}addons: {{extra: {{a b: {{}}}}}}\n"),
    ("arn-partition", f"{CONFIG}{KEY}iam: {{nodePolicies: ['arn:aws-cn:iam::aws:policy/x']}}\n"),
    ("defaults-in-stack", f"{CONFIG}{KEY}defaults: {{owner: x}}\n"),
    ("misspelled-key", CONFIG.replace("multiarch-eks:owner", "multiarch_eks:owner")),
    ("esc-environment", f"{CONFIG}environment: [shared]\n"),
    ("secure-value", CONFIG.replace("shop@example.com", "{secure: AAA}")),
    ("not-a-stack-file", ""),
    ("not-yaml", "a: b: c\n"),
    ("not-utf-8", b"\xff\xfe\xfa"),
    ("unreadable-file", f"# {'x' * 1_000_000}\n{CONFIG}"),
    ("several-documents", f"{CONFIG}---\na: 1\n"),
    ("duplicate-key", f"{CONFIG}  team: shop\n"),
    ("key-not-text", f"{CONFIG}{IN_GROUP}1: x\n"),
    ("date", f"{CONFIG}{IN_GROUP}labels: {{a: 2026-01-01}}\n"),
    ("octal-number", f"{CONFIG}{IN_GROUP}minSize: 012\n"),
    ("not-a-number", f"{CONFIG}{IN_GROUP}minSize: .inf\n"),
    ("unknown-tag", f"{CONFIG}{IN_GROUP}labels: {{a: !secret x}}\n"),
    ("template", CONFIG.replace("shop@example.com", "{{ owner }}")),
    ("wrong-merge", f"{CONFIG}{IN_GROUP}labels: {{<<: x}}\n"),
    ("endless-alias", f"{CONFIG}{IN_GROUP}labels: &a {{b: *a}}\n"),
    (
        "too-many-values",
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{below}: &{below} [{', '.join([f'*{above}'] * 10)}]\n" for above, below in ("ab", "bc", "cd", "de", "ef")
        ),
    ),
]
"""The stack file that triggers each rule of a file."""
PROJECTS = [
    ("project-name", PROJECT.replace("multiarch-eks", "other")),
    ("not-a-project", "[]\n"),
]
"""The same for ``Pulumi.yaml``."""
TESTED_BESIDE_THEIR_CODE = {
    "addon-schema": "tests/stack/test_addon_schemas.py",
    "cluster-differs": "tests/doctor/test_joined.py",
    "cluster-not-found": "tests/doctor/test_joined.py",
    "cluster-not-read": "tests/components/test_program.py",
    "creator-in-access": "tests/stack/test_creator.py",
    "file-name": "tests/stack/test_load.py",
    "fixed-value": "tests/e2e/test_rejected.py",
    "group-of-another": "tests/doctor/test_joined.py",
    "log-group-exists": "tests/e2e/test_rejected.py",
    "no-free-addresses": "tests/doctor/test_joined.py",
    "no-free-pod-addresses": "tests/doctor/test_joined.py",
    "no-change": "tests/components/provider/test_components.py",
    "no-manifests": "tests/components/provider/test_components.py",
    "prefer-and-require": "tests/components/provider/test_components.py",
    "refused": "tests/cli/test_stack_check.py",
    "not-in-cluster-vpc": "tests/doctor/test_joined.py",
    "too-few-zones": "tests/components/test_network.py",
    "value-known-later": "tests/components/provider/test_components.py",
} | {rule.name: "tests/policies/test_policies.py" for rule in POLICIES}
"""What a stack file's text alone can't trigger."""


@pytest.mark.parametrize(("rule", "text"), FILES, ids=[rule for rule, _ in FILES])
def test_a_file_triggers_its_rule_and_is_told_the_fix(project: Project, rule: str, text: str | bytes) -> None:
    problems = project.problems(text) or project.load(text).warnings
    found = [problem for problem in problems if problem.rule == rule]
    assert found, problems
    assert found[0].hint


@pytest.mark.parametrize(("rule", "text"), PROJECTS, ids=[rule for rule, _ in PROJECTS])
def test_a_project_file_triggers_its_rule(project: Project, rule: str, text: str) -> None:
    assert rule in {problem.rule for problem in project.problems(CONFIG, project=text)}


def test_a_rejection_that_has_no_words_of_its_own_is_a_rule_too() -> None:
    error: Any = {"type": "other", "loc": ("owner",), "msg": "Input is odd", "input": "x"}
    (problem,) = wording.describe_problems([error], Origin(values={"owner": "x"}))
    assert (problem.rule, problem.message) == ("not-valid", "the string 'x' is not valid: Input is odd.")


def test_support_that_ends_soon_after_extended_support_is_a_rule_too() -> None:
    warnings = plan({"kubernetesVersion": "1.33"}, today=date(2027, 7, 1)).warnings
    assert "kubernetes-forced-upgrade" in {problem.rule for problem in warnings}


def test_the_warnings_are_these_and_every_other_rule_is_an_error() -> None:
    assert {rule.name for rule in RULES.values() if rule.severity is Severity.WARNING} == set(WARNINGS.split())


def test_every_rule_has_a_case_and_every_case_has_a_rule() -> None:
    modules = (
        test_contradictions,
        test_autoscaling_contradictions,
        test_existing_cluster,
        test_webhook,
        test_rebalance,
        test_node_settings,
    )
    tables = (*(module.CASES for module in modules), FILES, PROJECTS)
    cases = {case[0] for table in tables for case in table}
    assert cases | {"not-valid", "kubernetes-forced-upgrade", *TESTED_BESIDE_THEIR_CODE} == RULES.keys()


def test_a_rule_is_in_one_section_with_one_name() -> None:
    assert sum(map(len, SECTIONS.values())) == len(RULES)


def test_a_problem_whose_rule_is_not_in_the_table_can_not_be_made() -> None:
    with pytest.raises(KeyError, match="no-such-rule"):
        Problem("no-such-rule", "x")


def test_a_problem_takes_severity_and_fix_from_its_rule() -> None:
    problem = Problem("open-to-all", "x")
    assert (problem.severity, problem.hint) == (Severity.WARNING, RULES["open-to-all"].fix)
    assert Problem("open-to-all", "x", "Do y.").hint == "Do y."
