"""Every stack file of this project in the repository, and its plan."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from multiarch.nodes.model import NodeGroupPlan
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from tests.quotations import ROOT
from tests.stack.words import TODAY

_EXAMPLES = [
    # A folder with a Pulumi.yaml is a program of its own.
    file
    for file in ROOT.glob("examples/**/Pulumi.*.yaml")
    if not (file.parent / "Pulumi.yaml").exists()
]
STACKS = sorted((*ROOT.glob("config/stacks/Pulumi.*.yaml"), *_EXAMPLES))


@cache
def groups_of(file: Path) -> tuple[NodeGroupPlan, ...]:
    return make_plan(load_file(file, project_file=ROOT / "Pulumi.yaml"), today=TODAY).node_groups


def name_of(file: Path) -> str:
    return file.stem.removeprefix("Pulumi.")
