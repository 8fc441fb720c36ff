"""Bring a stack up in the sandbox, preview it, and take everything down again."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from multiarch.errors import MultiarchError, OutsideError
from sandbox import (
    backend,
    control_plane,
    engine,
    environment,
    inventory,
    plugins,
    processes,
    project,
    runner,
    server,
    state,
    vpc,
)
from sandbox.cluster import lifecycle as real_cluster
from sandbox.layout import Layout, SandboxUsageError

Say = Callable[[str], None]
Part = TypeVar("Part")

_NO_CHANGE = re.compile(r"\d+ unchanged|> ?\d+ ")
_SHOWN_AS_PROGRESS = {"up", "destroy"}
_TAKES_SETTINGS = {"up", "preview", "destroy"}


class PulumiFailedError(OutsideError):
    """A Pulumi command failed. ``lines`` are its messages, unless they were shown; ``log`` has the whole output."""

    def __init__(self, what: str, outcome: runner.CommandResult, log: Path) -> None:
        """``what`` names the command and the stack."""
        super().__init__(
            f"pulumi {what} failed (exit code {outcome.returncode}).", hint=f"Its whole output is in {log}."
        )
        shown = what.startswith("preview")
        self.lines = () if shown else outcome.section("Diagnostics") or outcome.lines[-20:]


class StoppedError(MultiarchError):
    """Ctrl-C, SIGTERM or a closed terminal; everything was stopped cleanly."""

    exit_code = 130


@dataclass(frozen=True, slots=True)
class Done:
    """A Pulumi command's ``Resources:`` and ``Duration:`` lines, and the program's warnings, each once."""

    changes: tuple[str, ...]
    duration: str
    warnings: tuple[str, ...]


class Sandbox:
    """One sandbox.

    ``say`` gets progress messages, ``show`` a preview's lines, with colours if ``colour`` is set. ``environ`` is the
    user's.
    """

    def __init__(
        self,
        layout: Layout,
        say: Say,
        show: Say,
        *,
        colour: bool = False,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Start and read nothing yet. Raises what :meth:`Layout.require_folder` raises: each command passes here."""
        layout.require_folder()
        self.official: frozenset[str] | None = None
        """Names of the providers to be official; None for those of the running sandbox, or none."""
        self.layout = layout
        self._say = say
        self._show = show
        self._colour = colour
        self._environ = dict(environ)

    # -- commands ---------------------------------------------------------------------------------------------------

    def up(self, stack: str) -> Done:
        """Create or update everything that ``stack`` describes.

        Raises:
            SandboxUsageError: there is no such stack.
            StackError: the rules of ``stack check`` reject it; nothing was started.
            OutsideError: no engine, no server, or Pulumi failed; what runs keeps running, and ``up`` can be repeated.
                Also if a command was killed before: ``down`` with ``force`` is what is left then.
            StoppedError: told to stop; nothing that this call started is left running.
        """
        self._check(stack)
        with state.exclusive(self.layout, f"up {stack}"), self._running(stack) as running:
            outcome = self._pulumi("up", stack, ["--yes", "--skip-preview"])
            environment.write_shim(self.layout, _known(running.engine))
            return _done(outcome)

    def preview(self, stack: str) -> tuple[Done, bool]:
        """Show what ``up`` would change, and return whether it would change anything.

        Starts the AWS server if it does not run: the preview then shows everything as new.
        """
        self._check(stack)
        with state.exclusive(self.layout, f"preview {stack}"):
            if server.find_running(self.layout) is None:
                self._say("nothing is up: starting an empty AWS for this preview, which shows everything as new")
            with self._running(stack):
                done = _done(self._pulumi("preview", stack, []))
        return done, any(not _NO_CHANGE.match(line) for line in done.changes)

    def down(self, *, force: bool = False) -> dict[str, tuple[str, ...]]:
        """Destroy every stack, stop what runs, remove ``.sandbox``. ``force`` only stops and removes.

        Return what was left before the server was stopped: names, by ``1 VPC in eu-west-1``.

        Raises:
            OutsideError: a destroy failed, or a command was killed before; nothing was stopped or removed.
        """
        if not self.layout.folder.is_dir():
            return {}
        with state.exclusive(self.layout, "down"):
            left: dict[str, tuple[str, ...]] = {}
            if not force and (running := server.find_running(self.layout)):
                backend.require_whole(self.layout)
                left = self._destroy_all(running)
            if real_cluster.down(self.layout.cluster):
                self._say("the cluster of real nodes is gone")
            control_plane.stop(self.layout)
            processes.stop_pulumi(self.layout.home)  # of a command that was killed, or by hand
            for process in (*processes.of_folder(self.layout.server), *processes.of_folder(self.layout.registry)):
                processes.stop_session(process)
                if processes.is_running(process):
                    raise OutsideError(f"The server with process number {process} can't be stopped.")
            shutil.rmtree(self.layout.folder)
            return left

    def destroy(self, stack: str) -> Done:
        """Destroy one stack; what runs keeps running. Raises what :meth:`up` raises."""
        with state.exclusive(self.layout, f"destroy {stack}"), self._running(stack):
            outcome = self._pulumi("destroy", stack, ["--yes", "--skip-preview"])
            self._pulumi("stack", stack, ["rm", "--yes", "--preserve-config"])
            return _done(outcome)

    def make_vpc(self, stack: str) -> str:
        """Create a VPC in the region of ``stack``, as if it were there before; ``down`` does not name it as left.

        Return the key of a stack file that names it.
        """
        with state.exclusive(self.layout, "vpc"), self._running(stack) as running:
            aws = inventory.Aws(_known(running.server).url, self.layout.region(stack))
            return vpc.create(aws)

    def registry(self) -> str:
        """Start the demo's registry unless it runs; return its address. ``down`` stops it."""
        with state.exclusive(self.layout, "registry"):
            running = processes.of_folder(self.layout.registry) and server.url_of(self.layout.registry)
            return running or server.launch("sandbox.registry", self.layout.registry, "registry").url

    def sync_by_hand(self, arguments: Sequence[str]) -> None:
        """Bring Pulumi's project folder up to date for ``pulumi ARGUMENTS`` in a shell."""
        project.sync(self.layout)
        if {"config", "--config", "-c"} & set(arguments):
            self._say("the next command reads settings from your stack file again; change them there")

    def environment(self, stack: str) -> environment.Environment:
        """Return what a shell needs to run ``pulumi`` by hand.

        Raises:
            SandboxUsageError: nothing is up.
        """
        found, running = state.load(self.layout).engine, server.find_running(self.layout)
        if found is None or running is None:
            raise SandboxUsageError("The sandbox is not up.", hint="`make up` starts it.")
        environment.write_shim(self.layout, found)
        return environment.build(self.layout, found, running.url, stack, self._environ, by_hand=True)

    # -- the sandbox ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _running(self, stack: str) -> Iterator[state.State]:
        """Give provide server, engine, project folder and stack; on a stop request, stop what was started here."""
        known = state.load(self.layout)
        found = self._engine(known)
        if found != known.engine:
            self._say(f"Pulumi {found.version} ({found.source})")
        running = server.find_running(self.layout)
        lost = "" if running else "the sandbox's AWS server is gone, and its state was only in memory"
        if running:
            backend.require_whole(self.layout)
        if (
            running
            and plugins.is_official(known.official, "kubernetes")
            and not real_cluster.status(self.layout.control_plane)
        ):
            running, lost = None, "the sandbox's control plane is gone"
        official = self._find_official(known if running else None, stack, found)
        if running is None:
            self._restart(lost)
        ours = running is None
        try:
            running = running or server.start(self.layout)
            environment.write_plugins(self.layout, official)
            known = state.State(server=running, engine=found, official=official)
            state.save(self.layout, known)
            if plugins.is_official(official, "kubernetes"):
                control_plane.lead_clusters(self.layout, running.url, self._say)
            if ours:
                self._say(f"AWS (moto and what the sandbox adds to it) listens on {running.url}")
                self._say(
                    f"providers: {plugins.describe(official)}"
                    if official
                    else "providers aws, eks and kubernetes are stand-ins: sandbox/README.md says what they do not show"
                )
            project.sync(self.layout)
            self.layout.backend.mkdir(parents=True, exist_ok=True)
            if stack not in backend.stacks(self.layout):
                self._pulumi(
                    "stack", stack, ["init", "--no-select", f"--secrets-provider={environment.SECRETS_PROVIDER}"]
                )
            # Creating a stack rewrites its settings without empty lines: errors would name wrong lines.
            project.sync(self.layout)
            yield known
        except (KeyboardInterrupt, StoppedError):
            self._stopped(running if ours else None)
            raise StoppedError("Stopped.", hint=self._tell_next(ours=ours)) from None

    def _find_official(self, running: state.State | None, stack: str, found: state.Engine) -> Mapping[str, str]:
        """Return the official plugins by ``NAME-vVERSION``: those of a running sandbox, which can't change."""
        if running and (stacks := backend.stacks(self.layout)):
            plugins.require_same(running.official, self.official, stacks, stack)
            return running.official
        return plugins.find_plugins(self.official or frozenset(), found, self._environ, self._say)

    def _engine(self, known: state.State) -> state.Engine:
        """Keep the engine that the first command has found as long as it is there."""
        there = known.engine is not None and known.engine.path.is_file()
        return _known(known.engine) if there else engine.find(self._say, self._environ)

    def _check(self, stack: str) -> None:
        """Reject a stack as the program would, before the engine needs half a minute to say so."""
        if self.layout.is_own():
            self.layout.plan(stack)

    def _restart(self, why: str) -> None:
        for process in processes.of_folder(self.layout.server):
            processes.stop_session(process)  # also one that hangs without listening, or that a removed state has named
        control_plane.stop(self.layout)
        if backend.forget(self.layout):
            self._say(f"{why}. Starting from an empty AWS")

    def _stopped(self, started: state.Server | None) -> None:
        if started:
            with runner.deaf():
                processes.stop_session(started.process)
                control_plane.stop(self.layout)
                state.save(self.layout, replace(state.load(self.layout), server=None))

    def _tell_next(self, *, ours: bool) -> str:
        """Say what is left after a stop, and which command goes on."""
        if ours:
            return "What was created went with the sandbox's AWS. `make up` starts again from nothing."
        up = "The sandbox's AWS was up before, and still is."
        try:
            backend.require_whole(self.layout)
        except OutsideError as error:  # an engine that was killed has kept its lock
            return f"{up} {error}"
        return f"{up} `make up` goes on from here, `make down` ends it."

    # -- destroying -------------------------------------------------------------------------------------------------

    def _destroy_all(self, running: state.Server) -> dict[str, tuple[str, ...]]:
        names = backend.stacks(self.layout)
        regions = [inventory.Aws(running.url, region) for region in inventory.regions(self.layout)]
        if names:
            known = state.load(self.layout)
            # What exists came about with the settings of the last command, which are in the project folder.
            state.save(self.layout, replace(known, engine=self._engine(known)))
        for stack in names:
            if backend.checkpoint(self.layout, stack).protected:
                self._say(f"{stack} has protected resources; this is a sandbox: taking the protection away")
                self._pulumi("state", stack, ["unprotect", "--all", "--yes"])
            for cluster in (name for aws in regions for name in aws.unprotect_clusters()):
                self._say(f"cluster {cluster} has deletion protection; this is a sandbox: switching it off")
            self._say(f"destroying {stack}")
            self._pulumi("destroy", stack, ["--yes", "--skip-preview"])
        left: dict[str, tuple[str, ...]] = {}
        for aws in regions:
            for label, found in aws.everything().items():
                place = "" if label in inventory.EVERYWHERE else f" in {aws.region}"
                left[f"{inventory.counted(len(found), label)}{place}"] = found
        return left

    # -- Pulumi -----------------------------------------------------------------------------------------------------

    def _echo(self, line: str) -> None:
        if runner.is_told(line):
            self._show(line)

    def _pulumi(self, verb: str, stack: str, arguments: Sequence[str]) -> runner.CommandResult:
        """Run ``pulumi VERB … --stack STACK``; the words among ``arguments`` come before their options."""
        known = state.load(self.layout)
        found, running = _known(known.engine), _known(known.server)
        words = [verb, *(word for word in arguments if not word.startswith("-"))]
        options = [word for word in arguments if word.startswith("-")]
        colour = "always" if verb == "preview" and self._colour else "never"
        what, log = " ".join(words), self.layout.logs / f"{'-'.join(words)}-{stack}.log"

        settings = (
            plugins.make_settings(running.url)
            if verb in _TAKES_SETTINGS and plugins.is_official(known.official, "aws")
            else ()
        )
        spoken = environment.build(self.layout, found, running.url, stack, self._environ)
        quiet = verb not in _SHOWN_AS_PROGRESS
        with contextlib.nullcontext() if quiet else Console(stderr=True).status(f"{what} {stack}"):
            outcome = runner.run(
                [found.path, *words, "--stack", stack, *options, *settings, "--non-interactive", "--color", colour],
                environ=spoken.applied_to(self._environ),
                folder=self.layout.project,
                log=log,
                echo=self._echo if verb == "preview" else None,
                say=self._say,
            )
        if outcome.interrupted:
            ending = verb in {"destroy", "state"}  # else the caller says what is next
            raise StoppedError("Stopped.", hint="`make down` goes on from here." if ending else "")
        if outcome.returncode and not server.answers(running):
            raise OutsideError(
                f"The sandbox's AWS server ended during `pulumi {what}` of {stack}.",
                hint=f"`make up` starts again from nothing. What the server said is in {self.layout.server}.",
            )
        if outcome.returncode:
            raise PulumiFailedError(f"{what} of {stack}", outcome, log)
        return outcome


def _done(outcome: runner.CommandResult) -> Done:
    duration = next((line.partition(":")[2].strip() for line in outcome.lines if line.startswith("Duration:")), "")
    changes = tuple(line.strip() for line in outcome.section("Resources"))
    return Done(changes, duration, runner.warnings(outcome.section("Diagnostics")))


def _known(found: Part | None) -> Part:
    if found is None:
        raise OutsideError("The sandbox is not up.")
    return found
