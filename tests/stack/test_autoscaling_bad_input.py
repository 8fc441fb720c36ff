"""Each mistake about autoscaling, as a team would write it, is told once, with file, line, key, and a fix."""

from __future__ import annotations

import pytest

from multiarch.errors import StackError
from multiarch.rules import Severity
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from tests.stack.files import CONFIG, Project
from tests.stack.words import TODAY

STACK = f"""{CONFIG}      minSize: 2
    arm:
      instanceTypes: [m7g.large]
      minSize: 0
"""
ARM_SPOT = "{weight: 40, architectures: [arm64], capacityTypes: [spot]}"
POOL = "autoscaling.karpenter.nodePools.general"
CONTROLLER = "autoscaling.karpenter.controllerGroup"


def pool(words: str) -> str:
    return f"{{use: karpenter, karpenter: {{nodePools: {{general: {words}}}}}}}"


def errors(project: Project, text: str) -> list[str]:
    project.write(text)
    try:
        make_plan(load_file(project.file), today=TODAY)
    except StackError as rejected:
        return [
            str(problem).replace(f"{project.file.parent.as_posix()}/", "")
            for problem in rejected.problems
            if problem.severity is Severity.ERROR
        ]
    return []


@pytest.mark.parametrize(
    ("words", "key", "hint"),
    [
        ("{use: cluster-autoscaler, clusterAutoscaler: {priorities: {web: -1}}}",
         "autoscaling.clusterAutoscaler.priorities.web", "Write 1 or more"),
        ("{use: cluster-autoscaler, clusterAutoscaler: {priorities: {web: 0}}}",
         "autoscaling.clusterAutoscaler.priorities.web", "Write 1 or more"),
        (f"{{use: karpenter, karpenter: {{nodePools: {{a: {ARM_SPOT}, b: {ARM_SPOT}}}}}}}",
         "autoscaling.karpenter.nodePools.b.weight", "different weights"),
        (pool("{weight: 101}"), f"{POOL}.weight", "100"),
        (pool("{weight: -1}"), f"{POOL}.weight", "1"),
        ("{use: cluster-autoscaler, order: [arm64-spot, arm64-on-demand, amd64-on-demand]}", "autoscaling.order[0]",
         "there are amd64-on-demand, arm64-on-demand"),
        ("{use: cluster-autoscaler, clusterAutoscaler: {priorities: {wbe: 3}}}",
         "autoscaling.clusterAutoscaler.priorities.wbe", "Groups are arm, web"),
        (pool("{families: [m7g], architectures: [amd64]}"), f"{POOL}.families", "Relax the requirements"),
        ("{use: karpenter, karpenter: {version: 1.8.2}}", "autoscaling.karpenter.version", "Omit version"),
        ("{use: karpenter, karpenter: {amiAlias: al2@v20250701}}", "autoscaling.karpenter.amiAlias", "Use al2023"),
        ("{use: karpenter, karpenter: {controllerGroup: arm}}", CONTROLLER, "It can run on web"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_message_with_file_line_key_and_the_fix(
    project: Project, words: str, key: str, hint: str
) -> None:
    lines = errors(project, f"{STACK}  multiarch-eks:autoscaling: {words}\n")
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"Pulumi.shop-dev.yaml:14 {key}: ")
    assert hint in lines[0]


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        ("    web: {instanceTypes: [m7i.large, m6i.large], capacityType: spot, minSize: 2}\n", "web is spot capacity"),
        ("    web: {instanceTypes: [m7i.large], kind: self-managed, minSize: 2}\n", "web is self-managed"),
    ],
)
def test_a_controller_with_nowhere_to_run_is_one_message(project: Project, groups: str, why: str) -> None:
    text = f"{CONFIG.partition('    web:')[0]}{groups}  multiarch-eks:autoscaling: {{use: karpenter}}\n"
    (line,) = errors(project, text)
    assert line.startswith(f"Pulumi.shop-dev.yaml:9 {CONTROLLER}: ")
    assert why in line
    assert "Add a managed on-demand group of two nodes" in line


def test_amazon_linux_2_of_the_whole_stack_is_one_message(project: Project) -> None:
    (line,) = errors(
        project, f"{STACK}  multiarch-eks:amiFamily: AL2\n  multiarch-eks:autoscaling: {{use: karpenter}}\n"
    )
    assert line.startswith("Pulumi.shop-dev.yaml:14 amiFamily: there are no Amazon Linux 2 images")
