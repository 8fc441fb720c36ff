"""Start and stop a cluster that outlives the command, and say how it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from multiarch.errors import OutsideError
from sandbox import processes, server
from sandbox.cluster import leftovers, machine

FOLDER: Final = "folder"
"""The file that names the cluster's folder."""
STATUS: Final = "cluster.json"
WITHOUT_NODES: Final = "--without-nodes"
_START_SECONDS: Final = 900.0  # tools may have to be built; each part has a limit of its own
_STOP_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Status:
    """A running cluster. ``nodes`` is architecture by name; ``missing`` says why there is no emulated node.

    ``stack`` is the file of the stack whose user data the nodes started with, or empty.
    """

    kubeconfig: str
    folder: str
    kubernetes: str
    hosts: str = ""
    nodes: dict[str, str] = field(default_factory=dict)
    missing: str = ""
    stack: str = ""
    seconds: float = 0.0


def up(
    state: Path, say: Callable[[str], None], *, stack: tuple[Path, Path] | None = None, nodes: bool = True
) -> Status:
    """Start a cluster whose state is in the folder ``state``, unless it runs; return when its nodes are ready.

    Its nodes start with the user data of ``stack``, its file and ``Pulumi.yaml``, if there is one. Without ``nodes``,
    pods count as ready though nothing runs.

    Raises:
        OutsideError: real nodes can't run here, a tool is missing, or a part did not start; nothing is left running.
    """
    if nodes:
        machine.native_architecture()
    running = status(state)
    if running is not None:
        if stack and running.stack != str(stack[0]):
            raise OutsideError(
                f"The cluster runs with {running.stack or 'no stack'}.", hint="`make cluster-down` stops it."
            )
        return running
    down(state)
    chosen = list(map(str, stack or ())) if nodes else [WITHOUT_NODES]
    try:
        _, found = server.run_behind(
            "sandbox.cluster", chosen, state, "cluster", lambda: _read(state), timeout=_START_SECONDS, say=say
        )
    except BaseException:
        down(state)
        raise
    return found


def status(state: Path) -> Status | None:
    """Return the status of a running cluster, None if it does not run or is not ready."""
    return _read(state) if processes.of_folder(state) else None


def down(state: Path) -> bool:
    """Stop a cluster and remove everything of it, also if parts of it were killed; return whether there was one.

    Raises:
        OutsideError: something could not be removed.
    """
    named = state / FOLDER
    folder = Path(named.read_text()) if named.is_file() else None
    for process in processes.of_folder(state):
        processes.interrupt(process, grace=_STOP_SECONDS)
    left = leftovers.remove(folder) if folder else []
    if left:
        raise OutsideError(f"The cluster left {', '.join(left)}.", hint="Remove it by hand, or try again.")
    there = state.is_dir()
    shutil.rmtree(state, ignore_errors=True)
    return there


def _read(state: Path) -> Status | None:
    file = state / STATUS
    return Status(**json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None
