"""Read Pulumi's file backend from disk: its stacks, their locks, interrupted operations."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multiarch.errors import OutsideError
from sandbox.layout import Layout
from sandbox.state import GIVE_UP

_DEFAULT_PROVIDER = re.compile(r"::pulumi:providers:[\w-]+::default(?:_[\w.+-]+)?$")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a stack: counts of resources and of protected ones, and interrupted operations.

    Providers that no program declares are in the state too; as in Pulumi's own summaries they are not counted.
    """

    resources: int
    protected: int
    pending: tuple[str, ...]
    outputs: Mapping[str, Any]


def stacks(layout: Layout) -> list[str]:
    """List the stacks that have a state, sorted."""
    return sorted(file.stem for file in _folder(layout).glob("*.json"))


def checkpoint(layout: Layout, stack: str) -> Checkpoint:
    """Read a stack's state; it is empty before the first update.

    Raises:
        OutsideError: the file is not what Pulumi writes.
    """
    file = _folder(layout) / f"{stack}.json"
    try:
        latest = json.loads(file.read_text(encoding="utf-8"))["checkpoint"].get("latest") or {}
        resources = latest.get("resources") or []
        pending = [
            f"{operation['type']} {operation['resource']['urn'].rpartition('::')[2]}"
            for operation in latest.get("pending_operations") or []
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutsideError(f"{file} can't be read ({type(error).__name__}: {error}).", hint=GIVE_UP) from error
    root: Mapping[str, Any] = next((row for row in resources if row.get("type") == "pulumi:pulumi:Stack"), {})
    return Checkpoint(
        resources=sum(not _DEFAULT_PROVIDER.search(str(row.get("urn"))) for row in resources),
        protected=sum(bool(row.get("protect")) for row in resources),
        pending=tuple(pending),
        outputs=root.get("outputs", {}),
    )


def _folder(layout: Layout) -> Path:
    return layout.backend / ".pulumi" / "stacks" / _project(layout)


def _project(layout: Layout) -> str:
    return str(layout.settings()["name"])


def locks(layout: Layout, stack: str) -> list[Path]:
    """List the files that lock a stack: a Pulumi command is at work on it, or was killed."""
    return sorted((layout.backend / ".pulumi" / "locks" / "organization" / _project(layout) / stack).glob("*.json"))


def require_whole(layout: Layout) -> None:
    """Require that the state of each stack tells what AWS has.

    Raises:
        OutsideError: a stack is locked, a command was killed in the middle of an operation, or a state can't be read.
    """
    for stack in stacks(layout):
        if locks(layout, stack):
            raise OutsideError(
                f"{stack} is locked: a Pulumi command is at work on it, or was killed.",
                hint=f"Wait for it. If there is none: {GIVE_UP}",
            )
        if pending := checkpoint(layout, stack).pending:
            raise OutsideError(
                f"A command on {stack} was killed while {', '.join(pending)}: what AWS has is not known.", hint=GIVE_UP
            )


def forget(layout: Layout) -> bool:
    """Remove the state of a world that is gone; return whether there was one.

    The copies of the stack files go too: what encrypts their secrets was in the AWS that is gone.
    """
    there = bool(stacks(layout))
    for folder in (layout.backend, layout.all_manifests, layout.project):
        shutil.rmtree(folder, ignore_errors=True)
    return there
