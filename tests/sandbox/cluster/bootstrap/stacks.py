"""Every stack file of the repository, and its plan."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from multiarch.nodes.model import NodeGroupPlan
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from tests.quotations import ROOT
from tests.stack.words import TODAY

STACKS = sorted((*ROOT.glob("config/stacks/Pulumi.*.yaml"), *ROOT.glob("examples/**/Pulumi.*.yaml")))


@cache
def groups_of(file: Path) -> tuple[NodeGroupPlan, ...]:
    return make_plan(load_file(file, project_file=ROOT / "Pulumi.yaml"), today=TODAY).node_groups


def name_of(file: Path) -> str:
    return file.stem.removeprefix("Pulumi.")
