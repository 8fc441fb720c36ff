"""A copy of the project in a folder of its own, with a sandbox of its own, driven by the real engine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from multiarch.errors import OutsideError
from multiarch.stack.load import load_file
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from sandbox import backend, environment, inventory, processes, project, server, state
from sandbox.layout import CLONE, Layout
from tests.e2e.aws import instances

STACKS = ("checkout-dev", "gke-parity", "legacy-al2", "payments-prod")
TIMEOUT = 600.0  # seconds for one command; on an idle machine the longest takes 20
NO_REFRESH = "--refresh=false"
"""For a command of which a test asks nothing that reading AWS first could change: it needs half the time."""
_NO_CHANGE = frozenset({"read", "refresh", "same"})
_PROJECT = ("Pulumi.yaml", "__main__.py", "charts", "components", "config", "multiarch")


@dataclass(frozen=True, slots=True)
class Step:
    """What the engine does, or would do, with one resource: ``what`` is its type and logical name.

    ``paths`` are the properties that differ.
    """

    op: str
    what: str
    paths: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Said:
    """What a Pulumi command said."""

    returncode: int
    stdout: str
    stderr: str

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]

    def errors(self) -> str:
        """All messages of severity error; with ``--json`` they are events of a command, or part of a preview."""
        if self.stdout.startswith("{\n"):
            told = json.loads(self.stdout).get("diagnostics") or []
        else:
            told = [event["diagnosticEvent"] for event in self.events() if "diagnosticEvent" in event]
        return "".join(row["message"] for row in told if row["severity"] == "error")


@dataclass(frozen=True)
class World:
    """The project below ``root``, and what runs for it."""

    root: Path

    @property
    def layout(self) -> Layout:
        return Layout(self.root)

    @property
    def settings(self) -> Path:
        return self.root / "Pulumi.yaml"

    def stack_file(self, stack: str) -> Path:
        return self.root / "config" / "stacks" / f"Pulumi.{stack}.yaml"

    def plan(self, stack: str) -> Plan:
        return make_plan(load_file(self.stack_file(stack), project_file=self.settings), today=date.today())  # noqa: DTZ011

    def aws(self, stack: str) -> inventory.Aws:
        return _aws(self.server.url, self.layout.region(stack))

    @property
    def server(self) -> state.Server:
        server = state.load(self.layout).server
        assert server is not None
        return server

    def held(self, stack: str) -> dict[str, tuple[str, ...]]:
        """What AWS holds in the stack's region, by kind."""
        return self.aws(stack).everything()

    def instance_ids(self, stack: str) -> dict[str, set[str]]:
        """The running instances of each of the stack's groups."""
        plan, aws = self.plan(stack), self.aws(stack)
        return {
            group.name: {row["InstanceId"] for row in instances(aws, plan.cluster.name, group.name)}
            for group in plan.node_groups
        }

    def pending(self, stack: str) -> tuple[str, ...]:
        """Operations that were cut off, of which nobody knows the end."""
        return backend.checkpoint(self.layout, stack).pending

    def resources(self, stack: str) -> list[dict[str, Any]]:
        """The stack's resources as Pulumi's state has them."""
        (file,) = self.layout.backend.glob(f".pulumi/stacks/*/{stack}.json")
        found: list[dict[str, Any]] = json.loads(file.read_text())["checkpoint"]["latest"].get("resources") or []
        return found

    def outputs(self, stack: str) -> Mapping[str, Any]:
        """The stack's outputs, without secrets."""
        return backend.checkpoint(self.layout, stack).outputs

    # -- the sandbox's commands -------------------------------------------------------------------------------------

    def sandbox(self, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Run ``python -m sandbox``, which is what ``make up`` and its like run."""
        command = [sys.executable, "-m", "sandbox", "--project", str(self.root), *arguments]
        result = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert result.returncode == expect, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result

    # -- Pulumi's commands, as a user runs them after `python -m sandbox env` ------------------------------------------

    @contextlib.contextmanager
    def running(self, stack: str, *words: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
        """Start a Pulumi command; the path is where its standard error goes. At the end nothing of it is left.

        ``variables`` are those of its environment that the sandbox does not set.
        """
        known = state.load(self.layout)
        assert known.engine is not None
        project.sync(self.layout)
        spoken = environment.build(self.layout, known.engine, self.server.url, stack, os.environ)
        with tempfile.NamedTemporaryFile("w", prefix="pulumi-", suffix=".stderr") as stderr:
            process = subprocess.Popen(
                [known.engine.path, *words, "--stack", stack, "--non-interactive", "--color", "never"],
                cwd=self.layout.project,
                env=spoken.applied_to(os.environ) | variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )
            try:
                yield process, Path(stderr.name)
            finally:
                process.kill()
                process.wait()
                processes.stop_session(process.pid, grace=5)
                if process.stdout:
                    process.stdout.close()

    def pulumi(self, stack: str, *words: str, expect: int = 0, **variables: str) -> Said:
        """Run a Pulumi command to its end."""
        with self.running(stack, *words, **variables) as (process, stderr):
            stdout, _ = process.communicate(timeout=TIMEOUT)
            said = Said(process.returncode, stdout, stderr.read_text())
        assert said.returncode == expect, f"pulumi {words}: {said.returncode}\n{said.stdout[-5000:]}\n{said.stderr}"
        return said

    def multiarch(self, stack: str, *arguments: str) -> str:
        """Run the command line that is installed beside this Python; AWS is the sandbox's, once that runs."""
        known = state.load(self.layout)
        environ = dict(os.environ)
        if known.engine and known.server:
            built = environment.build(self.layout, known.engine, self.server.url, stack, environ)
            environ = dict(built.applied_to(environ))
        command = [str(Path(sys.prefix) / "bin" / "multiarch"), *arguments]
        result = subprocess.run(
            command, cwd=self.root, env=environ, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        assert result.returncode == 0, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result.stdout

    def preview(self, stack: str, *options: str) -> list[Step]:
        """What `pulumi up` would do, without what stays the same."""
        told = json.loads(self.pulumi(stack, "preview", "--json", *options).stdout)
        steps = [
            Step(step["op"], what(step["urn"]), frozenset(step.get("detailedDiff") or ()))
            for step in told["steps"]
            if step["op"] not in _NO_CHANGE
        ]
        counted = {op: number for op, number in told["changeSummary"].items() if op not in _NO_CHANGE}
        assert bool(counted) == bool(steps), f"{counted} against {steps}"
        return steps

    def up(self, stack: str, *options: str) -> list[Step]:
        """Do it; return what was done, in that order."""
        return done(self.pulumi(stack, "up", "--yes", "--skip-preview", "--json", *options))

    # -- changes ------------------------------------------------------------------------------------------------------

    def edit(self, stack: str, *path: str, value: object) -> None:
        """Change one key of a stack's file, as a team would; ``path`` begins below ``multiarch-eks:``."""
        edit(self.stack_file(stack), path, value)

    @contextlib.contextmanager
    def changed(self, stack: str, *path: str, value: object) -> Iterator[list[Step]]:
        """Change one key, and give what a preview says of it.

        When a test fails in here, the stack goes back to what it was, so that the next test finds what it expects.
        """
        with self.restoring(stack):
            self.edit(stack, *path, value=value)
            yield self.preview(stack)

    @contextlib.contextmanager
    def made(self, stack: str, *path: str, value: object, options: Sequence[str] = ()) -> Iterator[list[Step]]:
        """Change one key, and give what an update did; otherwise as :meth:`changed`."""
        with self.restoring(stack):
            self.edit(stack, *path, value=value)
            yield self.up(stack, *options)

    @contextlib.contextmanager
    def restoring(self, stack: str) -> Iterator[None]:
        """Give a stack back its file, and the stack what the file says, if a test fails in here."""
        file = self.stack_file(stack)
        before = file.read_bytes()
        try:
            yield
        except Exception:
            file.write_bytes(before)
            self.up(stack)
            raise

    def fault(self, *, complete: bool) -> str:
        """Say what is wrong with what runs; ``complete``: each stack must have resources too."""
        try:
            known = state.load(self.layout)
            found = {stack: backend.checkpoint(self.layout, stack) for stack in backend.stacks(self.layout)}
        except OutsideError as error:
            return error.message
        if known.server is None or not server.answers(known.server):
            return "AWS does not answer"
        for stack, told in found.items():
            if backend.locks(self.layout, stack) or told.pending:
                return f"{stack} is locked, or a command on it was killed"
        missing = [stack for stack in STACKS if stack not in found or not found[stack].resources]
        return f"not up: {', '.join(missing)}" if complete and missing else ""

    def restore_files(self) -> None:
        """Give the stacks and the project the settings that they have in the repository."""
        shutil.copy2(CLONE / "Pulumi.yaml", self.root)
        shutil.copytree(CLONE / "config", self.root / "config", dirs_exist_ok=True)

    # -- the end ------------------------------------------------------------------------------------------------------

    def processes(self) -> dict[int, str]:
        """Every running process that belongs to this project, whoever started it, with its command line."""
        found = {}
        for entry in Path("/proc").iterdir():
            process = int(entry.name) if entry.name.isdigit() and processes.is_running(int(entry.name)) else None
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                if process and os.fsencode(self.layout.folder) in command + b"\0" + (entry / "environ").read_bytes():
                    found[process] = command.replace(b"\0", b" ").decode()
        return found

    def end(self) -> list[str]:
        """Stop what the sandbox says it runs, then whatever else is left of it; return the latter's command lines."""
        with contextlib.suppress(OutsideError):
            if own := state.load(self.layout).server:
                processes.stop_session(own.process)
        left = self.processes()
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return list(left.values())


@cache
def _aws(url: str, region: str) -> inventory.Aws:
    """Keep its clients, each of which takes as long to make as some calls."""
    return inventory.Aws(url, region)


def make_world(root: Path) -> World:
    """Copy what the project is made of; the Python of the copy is the one that runs the tests."""
    root.mkdir(parents=True)
    for name in _PROJECT:
        source = CLONE / name
        if source.is_dir():
            # With its bytecode, which each world would have to compile; files that are being written come and go.
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy2(source, root / name)
    (root / ".venv").symlink_to(sys.prefix)
    return World(root)


def done(said: Said) -> list[Step]:
    """The steps that a command finished, in that order, without what stayed the same."""
    told = (event["resOutputsEvent"]["metadata"] for event in said.events() if "resOutputsEvent" in event)
    return [
        Step(step["op"], what(step["urn"]), frozenset(step.get("detailedDiff") or ()))
        for step in told
        if step["op"] not in _NO_CHANGE
    ]


def names(steps: Sequence[Step]) -> list[tuple[str, str]]:
    """Operation and resource of each step, sorted."""
    return sorted((step.op, step.what) for step in steps)


def what(urn: str) -> str:
    """Type and logical name of a resource, as :class:`Step` has them."""
    parts = urn.split("::")
    return f"{parts[2].rpartition('$')[2]} {parts[3]}"


@dataclass(frozen=True, slots=True)
class Renamed:
    """In place of a value: the key gets another name, and stays where it is."""

    name: str


def edit(file: Path, path: Sequence[str], value: object) -> None:
    """Change one key of a stack file; the first part of ``path`` is below ``multiarch-eks:``."""
    yaml = YAML()
    yaml.width = 4096
    content = yaml.load(file.read_text())
    *above, key = f"multiarch-eks:{path[0]}", *path[1:]
    place = content["config"]
    for each in above:
        place = place.setdefault(each, {})
    if isinstance(value, Renamed):
        place.insert(list(place).index(key), value.name, place.pop(key))
    else:
        place[key] = value
    with file.open("w") as sink:
        yaml.dump(content, sink)
