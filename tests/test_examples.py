"""Every example is a valid stack with a README of a screen; tests/test_quotations.py runs what the READMEs quote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multiarch.autoscaling.model import Autoscaler
from multiarch.stack.load import load_file
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from tests.quotations import ROOT, blocks, commands, ran
from tests.stack.words import TODAY

EXAMPLES = ROOT / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
PROGRAMS = {file.parent for file in EXAMPLES.rglob("Pulumi.yaml")}
"""Examples that are programs of their own: their files are not stacks of this project. tests/e2e runs them."""
STACKS = sorted(file for file in EXAMPLES.rglob("Pulumi.*.yaml") if file.parent not in PROGRAMS)
EXPECTED_WARNINGS = {
    "ami-not-pinned",  # `stack pin` queries AWS, which an example does not
    "addon-not-checked",  # the same for the schema of an add-on's configuration values
    "documentation-cidr",  # a reader's own address is not known
    "not-drained",  # a private API in a new VPC, so that the handler has to wait for the second run
    "autoscaler-unreachable",  # the same of Karpenter; the example says so, and acknowledges it
    "migration-sizes",  # what the first step of the migration shows
    "al2-ended",
    "kubernetes-extended",
}
A_SCREEN = 50
"""Lines of a README."""


def planned(name: str) -> Plan:
    (file,) = EXAMPLES.glob(f"{name}/Pulumi.*.yaml")
    return make_plan(load_file(file, project_file=ROOT / "Pulumi.yaml"), today=TODAY)


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_each_example_is_numbered_and_has_a_stack_and_a_readme_of_a_screen(folder: Path) -> None:
    number, _, name = folder.name.partition("-")
    assert number == f"{FOLDERS.index(folder) + 1:02}"
    assert name
    assert list(folder.rglob("Pulumi.*.yaml"))
    assert len((folder / "README.md").read_text(encoding="utf-8").splitlines()) <= A_SCREEN
    assert f"({folder.name}/README.md)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_every_example_s_stack_is_accepted() -> None:
    names = " ".join(str(path.relative_to(ROOT)) for path in STACKS)
    checked = json.loads(ran(f"multiarch stack check -o json {names} 2>/dev/null", ROOT))
    assert len(checked["stacks"]) == len(STACKS) >= len(FOLDERS) - len(PROGRAMS)
    assert checked["errors"] == 0
    warnings = {problem["rule"] for stack in checked["stacks"] for problem in stack["problems"]}
    assert warnings <= EXPECTED_WARNINGS


def test_every_file_of_pods_is_placed_as_a_whole_by_a_command_of_its_readme() -> None:
    files = sorted(EXAMPLES.glob("*/pods.yaml"))
    assert files
    for file in files:
        said = [command for block in blocks(file.parent / "README.md") for command, _ in commands(block)]
        (command,) = [each for each in said if str(file.relative_to(ROOT)) in each]
        told = json.loads(ran(f"{command} -o json 2>/dev/null", ROOT))
        assert told["pods"]
        assert told["unplaced"] == 0


def test_the_migration_goes_from_one_autoscaler_through_both_to_the_other() -> None:
    steps = [planned(f"03-migration/{step}") for step in ("1-install", "2-close", "3-remove")]
    both = [bool(plan.autoscaling.cluster_autoscaler and plan.autoscaling.karpenter) for plan in steps]
    assert both == [True, True, False]
    assert {plan.autoscaling.use for plan in steps} == {Autoscaler.KARPENTER}
    about = [{warning.rule for warning in plan.warnings if warning.rule.startswith("migration")} for plan in steps]
    assert about == [{"migration-sizes"}, set(), set()]
