"""The node groups of the stacks, and their rendered user data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.user_data import render_user_data
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from sandbox.layout import CLONE
from tests.nodes.builders import CLUSTER
from tests.stack.words import TODAY

STACKS: Final = sorted((CLONE / "config" / "stacks").glob("Pulumi.*.yaml"))


def groups() -> Mapping[tuple[str, str], NodeGroupPlan]:
    """Every group of every stack, by the stack's name and its own."""
    loaded = {file: load_file(file, project_file=CLONE / "Pulumi.yaml") for file in STACKS}
    return {
        (file.stem.removeprefix("Pulumi."), group.name): group
        for file, stack in loaded.items()
        for group in make_plan(stack, today=TODAY).node_groups
    }


GROUPS: Final = groups()


def user_data(group: NodeGroupPlan) -> str:
    """The group's rendered user data."""
    return render_user_data(group, CLUSTER)
