"""Changes that the real engine previews, several at a time, in one sandbox.

Each change is made in a folder of its own: links to the project, with copies of the stack files and of whatever the
change rewrites. A preview takes no lock and writes no state, so those of one stack need not wait for each other.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from sandbox import environment, project, state
from tests.e2e.world import TIMEOUT, World, edit

STACKS = Path("config", "stacks")
Rewrite = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a stack file, of the program, or of both.

    ``edits`` are keys of the stack file, written with slashes (``nodeGroups/graviton/maxSize``), and their new values
    (see :func:`tests.e2e.world.edit`). ``files`` rewrites other files of the project. ``command`` is what the engine
    is queried; ``stack`` may be a new one, whose file begins as a copy of ``like``.
    """

    stack: str
    edits: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, Rewrite] = field(default_factory=dict)
    command: tuple[str, ...] = ("preview",)
    like: str = ""


@dataclass(frozen=True, slots=True)
class Previewed:
    """What the engine said of a change: ``json`` is its output with ``--json``, ``events`` its event log.

    ``folder`` is the project with the change in it, ``before`` the one without.
    """

    folder: Path
    before: Path
    json: Path
    events: Path
    returncode: int
    stderr: str


@dataclass
class Previews:
    """Runs previews of changes, ``at_once`` at a time; whoever needs one waits for that one only."""

    world: World
    folder: Path
    at_once: int
    _running: dict[str, Future[Previewed]] = field(default_factory=dict)

    def start(self, changes: Mapping[str, Change]) -> None:
        """Begin; the sandbox must be up, and its files must not change any more."""
        project.sync(self.world.layout)
        self._pool = ThreadPoolExecutor(self.at_once)
        for name, change in changes.items():
            self._running[name] = self._pool.submit(self._preview, name, change)

    def of(self, name: str) -> Previewed:
        """The preview of one change."""
        return self._running[name].result()

    def end(self) -> None:
        """Wait for what runs, and start nothing more."""
        self._pool.shutdown(cancel_futures=True)

    def _preview(self, name: str, change: Change) -> Previewed:
        folder = self.folder / name / "project"
        _variant(self.world, folder, change)
        known = state.load(self.world.layout)
        assert known.engine is not None
        environ = environment.build(
            self.world.layout, known.engine, self.world.server.url, change.like or change.stack, os.environ
        ).applied_to(os.environ) | {"PULUMI_DEBUG_COMMANDS": "true"}  # shows --event-log
        engine = str(known.engine.path)
        if change.like:
            self._pulumi(engine, folder, environ, "stack", "init", change.stack)
        result = Previewed(
            folder, self.world.root, folder.parent / f"{name}.json", folder.parent / f"{name}.events", 0, ""
        )
        words = (*change.command, "--json", "--event-log", str(result.events), "--stack", change.stack)
        done = self._pulumi(engine, folder, environ, *words)
        result.json.write_text(done.stdout, encoding="utf-8")
        return Previewed(result.folder, result.before, result.json, result.events, done.returncode, done.stderr)

    @staticmethod
    def _pulumi(engine: str, folder: Path, environ: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [engine, *words, "--non-interactive", "--color", "never"],
            cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
            check=False,
        )  # fmt: skip


def _variant(world: World, folder: Path, change: Change) -> None:
    """Make the project with the change in it."""
    project.make_variant(world.layout, folder, change.stack, {Path(file).parts[0] for file in change.files})
    file = folder / STACKS / f"Pulumi.{change.stack}.yaml"
    if change.like:
        file.write_bytes(world.stack_file(change.like).read_bytes())
    for path, value in change.edits.items():
        edit(file, path.split("/"), value)
    for name, rewrite in change.files.items():
        before = (folder / name).read_text(encoding="utf-8")
        after = rewrite(before)
        assert after != before, f"{name} is as before"
        (folder / name).write_text(after, encoding="utf-8")


def replaced(*pairs: Sequence[str]) -> Rewrite:
    """A rewrite of a file that replaces strings, each of which must be there."""

    def rewrite(text: str) -> str:
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        return text

    return rewrite
