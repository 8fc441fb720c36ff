"""Arguments and options that name stacks, their completion by the shell, and the taint of arm64 nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.options.project import CHOSEN, get_chosen_project
from multiarch.errors import MultiarchError
from multiarch.facts.taints import Taint, parse_taint
from multiarch.frozen import dataclass
from multiarch.runs.stacks import find_file, find_root, get_stack_name, load_plan
from multiarch.schema.stack import StackSpec
from multiarch.stack.load import list_stack_files
from multiarch.stack.model import Plan


def complete_stacks(context: typer.Context, incomplete: str) -> list[str]:
    """Return the stacks whose names begin so; the shell itself completes files."""
    CHOSEN.set(context.find_root().params.get("project"))
    return [name for name in _list_names() if name.startswith(incomplete)]


def _list_names() -> list[str]:
    """Return the stacks of the project; none outside a project."""
    try:
        return [get_stack_name(path) for path in list_stack_files(find_root(get_chosen_project()))]
    except MultiarchError:
        return []


def reject_stacks(files: Iterable[str]) -> None:
    """Raise MultiarchError for a stack's name where files are meant, in a command that takes it by ``--stack``."""
    for name in files:
        if not Path(name).exists() and name in _list_names():
            raise MultiarchError(f"{name} is a stack, not a file with manifests.", hint=f"Write --stack {name}.")


def plan_of(name: str) -> Plan:
    """Return the plan of a stack, by name or file. Raises MultiarchError and StackError."""
    return load_plan(find_file(name, get_chosen_project()))[1]


StackArgument = Annotated[
    str, typer.Argument(metavar="STACK|FILE", autocompletion=complete_stacks, help="A stack's name or file.")
]
OptionalStackArgument = Annotated[
    str | None, typer.Argument(metavar="STACK|FILE", autocompletion=complete_stacks, help="A stack's name or file.")
]
StacksArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="STACK|FILE", autocompletion=complete_stacks, help="Names or files. Default: all stacks of the project."
    ),
]


@dataclass(frozen=True, slots=True)
class TaintOptions:
    """Which taint nodes of an architecture have."""

    taint: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE:EFFECT", help="The nodes' taint. Default for arm64: arch=arm64:NoSchedule."),
    ] = None
    stack: Annotated[
        str | None,
        typer.Option(metavar="STACK|FILE", autocompletion=complete_stacks, help="Take the taint from this stack."),
    ] = None

    def arm64(self) -> Taint | None:
        """Return the taint of arm64 nodes; ``None`` for a stack whose arm64 nodes have none.

        Raises MultiarchError for an invalid taint or stack, and if both options are given.
        """
        if self.taint and self.stack:
            raise MultiarchError("--taint and --stack are mutually exclusive.", hint="Both set the taint.")
        if self.taint:
            return parse_taint(self.taint)
        if self.stack:
            return plan_of(self.stack).arm64_taint
        return parse_taint(str(StackSpec.model_fields["arm64_taint"].default))


_LABEL_PART = r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
_LABEL_KEY = rf"({_LABEL_PART}/)?{_LABEL_PART}"
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""


def _group_by(label: str | None) -> str | None:
    if label is not None and not re.fullmatch(_LABEL_KEY, label):
        raise MultiarchError(
            f"--group-by {label!r} is not a label's key.", hint="Write one such as team or app.kubernetes.io/part-of."
        )
    return label


GroupByOption = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="LABEL",
        callback=_group_by,
        help="Group by this label of the workloads or their pods, such as team.",
    ),
]
