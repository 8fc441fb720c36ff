"""The way from one autoscaler to the other, as it is documented: each step is accepted, and says what is quoted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from multiarch.autoscaling.model import Autoscaler
from multiarch.stack.load import load_file
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from tests.migration_steps import BACK, STACK, TO_KARPENTER, steps, write
from tests.quotations import ROOT, matches, ran
from tests.stack.words import TODAY

CLUSTER_AUTOSCALER, KARPENTER = Autoscaler.CLUSTER_AUTOSCALER, Autoscaler.KARPENTER
FILE = Path("config", "stacks", f"Pulumi.{STACK}.yaml")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def planned(project: Path) -> Plan:
    return make_plan(load_file(project / FILE, project_file=project / "Pulumi.yaml"), today=TODAY)


def installed(plan: Plan) -> set[Autoscaler]:
    both = {CLUSTER_AUTOSCALER: plan.autoscaling.cluster_autoscaler, KARPENTER: plan.autoscaling.karpenter}
    return {name for name, found in both.items() if found}


def test_both_ways_begin_with_one_autoscaler_pass_through_both_and_end_with_the_other(project: Path) -> None:
    assert installed(planned(project)) == {CLUSTER_AUTOSCALER}
    for way, end in ((TO_KARPENTER, KARPENTER), (BACK, CLUSTER_AUTOSCALER)):
        *between, last = steps(way)
        assert between
        for step in between:
            write(project / FILE, step)
            plan = planned(project)
            assert installed(plan) == {CLUSTER_AUTOSCALER, KARPENTER}, step
            assert plan.autoscaling.use is end
        write(project / FILE, last)
        assert installed(planned(project)) == {end}


def test_the_last_step_leaves_no_warning_about_a_migration(project: Path) -> None:
    for way in (TO_KARPENTER, BACK):
        write(project / FILE, *steps(way))
        about = {warning.rule for warning in planned(project).warnings}
        assert not {rule for rule in about if rule.startswith("migration")}
        assert "autoscaler-not-used" not in about


def test_what_is_quoted_of_the_commands_is_what_they_print(project: Path) -> None:
    quoted = 0
    for way in (TO_KARPENTER, BACK):
        for step in steps(way):
            write(project / FILE, step)
            for command, output in step.commands:
                real = ran(command, project)
                assert matches(output, real), f"{way} {step.number}: {command}\n--- quoted\n{output}--- real\n{real}"
                quoted += 1
    assert quoted >= 2
