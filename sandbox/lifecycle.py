"""Bring a stack up in the sandbox, preview it, and take everything down again."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from multiarch.errors import MultiarchError, OutsideError
from sandbox import backend, display, engine, environment, inventory, processes, project, runner, server, state
from sandbox.layout import Layout, SandboxUsageError

Say = Callable[[str], None]

_NO_CHANGE = re.compile(r"\d+ unchanged|> ?\d+ ")


class PulumiFailedError(OutsideError):
    """A Pulumi command failed. ``lines`` are its error messages; ``log`` has the whole output."""

    def __init__(self, what: str, outcome: runner.CommandResult, log: Path) -> None:
        """``what`` names the command and the stack."""
        super().__init__(
            f"pulumi {what} failed (exit code {outcome.returncode}).", hint=f"Its whole output is in {log}."
        )
        told = outcome.section("Diagnostics") or outcome.lines[-20:]
        self.lines = tuple(display.failures_last([line for line in told if not display.is_ambient(line)]))


class StoppedError(MultiarchError):
    """Ctrl-C, SIGTERM or a closed terminal; everything was stopped cleanly."""

    exit_code = 130


@dataclass(frozen=True, slots=True)
class Done:
    """A Pulumi command's ``Resources:`` and ``Duration:`` lines."""

    changes: tuple[str, ...]
    duration: str


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What ``down`` found left, per kind of resource, before it stopped the server."""

    found: dict[str, tuple[str, ...]]


class Sandbox:
    """One sandbox.

    ``say`` gets progress messages, ``show`` gets Pulumi's own lines: those of a preview always, those of other commands
    when ``verbose``. ``colour`` asks Pulumi for colours in them.
    """

    def __init__(self, layout: Layout, say: Say, show: Say, *, verbose: bool = False, colour: bool = False) -> None:
        """Start and read nothing yet."""
        self.layout = layout
        self._say = say
        self._show = show
        self._verbose = verbose
        self._colour = colour

    # -- commands ---------------------------------------------------------------------------------------------------

    def up(self, stack: str) -> Done:
        """Create or update everything that ``stack`` describes.

        Raises:
            SandboxUsageError: there is no such stack.
            OutsideError: no engine, no server, or Pulumi failed; what runs keeps running, and ``up`` can be repeated.
            StoppedError: told to stop; nothing that this call started is left running.
        """
        self.layout.require_stack(stack)
        with state.exclusive(self.layout, f"up {stack}"), self._running(stack) as running:
            self._unlock(stack)
            self._settle(stack)
            outcome = self._pulumi("up", stack, ["--yes", "--skip-preview"])
            environment.write_shim(self.layout, _known(running.engine))
            return _done(outcome)

    def preview(self, stack: str) -> tuple[Done, bool]:
        """Show what ``up`` would change, and return whether it would change anything.

        Starts the AWS server if it does not run: the preview then shows everything as new.
        """
        self.layout.require_stack(stack)
        with state.exclusive(self.layout, f"preview {stack}"), self._running(stack):
            self._unlock(stack)
            done = _done(self._pulumi("preview", stack, []))
            return done, any(not _NO_CHANGE.match(line) for line in done.changes)

    def down(self, *, force: bool = False) -> Leftovers:
        """Destroy every stack, stop what runs, remove ``.sandbox``. ``force`` only stops and removes.

        Raises:
            OutsideError: a destroy failed; nothing was stopped or removed.
        """
        if not self.layout.folder.is_dir():
            return Leftovers({})
        with state.exclusive(self.layout, "down"):
            known = self._known_or_nothing(force=force)
            if known.run:
                self._say(f"stopping `{known.run.what}`")
                processes.interrupt(known.run.process, grace=runner.GRACE)
            left: dict[str, tuple[str, ...]] = {}
            if known.server and server.answers(known.server) and not force:
                left = self._destroy_all(known.server)
            if known.server:
                server.stop(known.server.process)
                if processes.session(known.server.process):
                    raise OutsideError(f"The AWS server (process {known.server.process.pid}) can't be stopped.")
            shutil.rmtree(self.layout.folder)
            return Leftovers(left)

    def sync(self) -> None:
        """Bring Pulumi's project folder up to date with the user's files."""
        for remark in project.sync(self.layout):
            self._say(remark)

    def environment(self, stack: str) -> environment.Environment:
        """Return what a shell needs to run ``pulumi`` by hand.

        Raises:
            SandboxUsageError: nothing is up.
        """
        self.layout.require_stack(stack)
        known = state.load(self.layout)
        if known.server is None or known.engine is None or not server.answers(known.server):
            raise SandboxUsageError("The sandbox is not up.", hint="`make up` starts it.")
        environment.write_shim(self.layout, known.engine)
        return environment.build(self.layout, known.engine, known.server.url, stack, os.environ, by_hand=True)

    # -- the sandbox ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _running(self, stack: str) -> Iterator[state.State]:
        """Provide server, engine, project folder and stack; on a stop request, stop what was started here."""
        known = state.load(self.layout)
        if known.run and processes.session(known.run.process):
            pid = known.run.process.pid
            raise OutsideError(
                f"`{known.run.what}` of an earlier command is still at work (process {pid}).",
                hint="Wait for it, or `make down` to end it and everything else.",
            )
        found = engine.find(self._say)
        if found != known.engine:
            self._say(f"Pulumi {found.version} ({found.source})")
        running = known.server if known.server and server.answers(known.server) else None
        if running is None:
            self._restart(known)
        ours = running is None
        try:
            running = running or server.start(self.layout)
            known = state.State(server=running, engine=found)
            state.save(self.layout, known)
            if ours:
                self._say(f"AWS (moto and what the sandbox adds to it) listens on {running.url}")
                self._say(
                    "providers aws, eks and kubernetes are stand-ins: sandbox/README.md says what they do not show"
                )
            inventory.baseline(self.layout, inventory.Aws(running.url, self.layout.region(stack)))
            self.sync()
            self.layout.backend.mkdir(parents=True, exist_ok=True)
            self._pulumi("stack", stack, ["select", "--create"])
            # Creating a stack rewrites its settings without empty lines: errors would name wrong lines.
            self.sync()
            yield known
        except (KeyboardInterrupt, StoppedError):
            self._stopped(running if ours else None)
            raise StoppedError(
                "Stopped.",
                hint="What was created went with the sandbox's AWS. `make up` starts again from nothing."
                if ours
                else "The sandbox's AWS was up before, and still is. `make up` goes on from here, `make down` ends it.",
            ) from None

    def _restart(self, known: state.State) -> None:
        if known.server:
            server.stop(known.server.process)  # it may hang without listening
        place = backend.put_aside(self.layout)
        if place:
            self._say(
                "The sandbox's AWS server is gone, and its state was only in memory. "
                f"Starting from an empty one; Pulumi's old state is in {place}."
            )

    def _stopped(self, started: state.Server | None) -> None:
        with runner.deaf():
            for stack in backend.stacks(self.layout):
                with contextlib.suppress(OutsideError):
                    self._unlock(stack)
            if started:
                server.stop(started.process)
            known = state.load(self.layout)
            state.save(self.layout, replace(known, run=None, server=None if started else known.server))

    def _unlock(self, stack: str) -> None:
        holders, stale = backend.locked_by(self.layout, stack)
        if holders:
            raise OutsideError(
                f"A Pulumi command by hand (process {holders[0].pid}) is at work on {stack}.", hint="Wait for it."
            )
        if stale:
            self._say(f"{stack} was left locked by a command that is gone: pulumi cancel")
            self._pulumi("cancel", stack, ["--yes"])

    def _settle(self, stack: str) -> bool:
        """Find out in AWS how the operations of a killed engine ended; return whether there were any.

        Refresh does not look for what was being created, and would keep those operations for ever. Forgetting them
        loses nothing here: the stand-ins know by a tag what an earlier `up` has made, and the next one takes it over.
        """
        pending = backend.checkpoint(self.layout, stack).pending
        if pending:
            self._say(
                f"on {stack}, {len(pending)} cut off: {', '.join(pending)}; pulumi refresh asks what became of that"
            )
            self._pulumi("refresh", stack, ["--yes", "--skip-preview", "--clear-pending-creates"])
        return bool(pending)

    def _known_or_nothing(self, *, force: bool) -> state.State:
        try:
            return state.load(self.layout)
        except OutsideError:
            if not force:
                raise
            return state.State()

    # -- destroying -------------------------------------------------------------------------------------------------

    def _destroy_all(self, running: state.Server) -> dict[str, tuple[str, ...]]:
        names = backend.stacks(self.layout)
        regions = [inventory.Aws(running.url, file.stem) for file in sorted(self.layout.baselines.glob("*.json"))]
        if names:
            known = state.load(self.layout)
            state.save(self.layout, replace(known, engine=engine.find(self._say), run=None))
            for remark in project.sync(self.layout, destroying=True):
                self._say(remark)
        for cluster in (name for aws in regions for name in aws.unprotect_clusters()):
            self._say(f"cluster {cluster} has deletion protection; this is a sandbox: switching it off")
        for stack in names:
            self._unlock(stack)
            if backend.checkpoint(self.layout, stack).protected:
                self._say(f"{stack} has protected resources; this is a sandbox: taking the protection away")
                self._pulumi("state", stack, ["unprotect", "--all", "--yes"])
            if self._settle(stack):
                self._take_over(stack)
            self._say(f"destroying {stack}")
            self._pulumi("destroy", stack, ["--yes", "--skip-preview"])
            self._pulumi("stack", stack, ["rm", "--yes", "--preserve-config"])
        left: dict[str, tuple[str, ...]] = {}
        for aws in regions:
            for label, found in inventory.without(aws.everything(), inventory.baseline(self.layout, aws)).items():
                left[f"{label} in {aws.region}"] = found
        return left

    def _take_over(self, stack: str) -> None:
        """Let an `up` find what a killed one has made, so that the destroy knows of it."""
        self._say(f"finishing {stack}, so that what was being created is known")
        try:
            self._pulumi("up", stack, ["--yes", "--skip-preview"])
        except PulumiFailedError as error:
            self._say(f"{error} Going on with what is known.")

    # -- Pulumi -----------------------------------------------------------------------------------------------------

    def _pulumi(self, verb: str, stack: str, arguments: Sequence[str]) -> runner.CommandResult:
        """Run ``pulumi VERB … --stack STACK``; the words among ``arguments`` come before their options."""
        known = state.load(self.layout)
        if known.engine is None or known.server is None:
            raise OutsideError("The sandbox is not up.")
        words = [verb, *(word for word in arguments if not word.startswith("-"))]
        options = [word for word in arguments if word.startswith("-")]
        shown = verb == "preview" or (self._verbose and verb in {"up", "destroy", "refresh"})
        colour = "always" if shown and self._colour else "never"
        what, log = " ".join(words), self.layout.logs / f"{'-'.join(words)}-{stack}.log"

        def started(process: processes.ProcessId) -> None:
            state.save(self.layout, replace(known, run=state.Run(process, f"{what} {stack}")))

        screen = display.Display(self._show)
        outcome = runner.run(
            [known.engine.path, *words, "--stack", stack, *options, "--non-interactive", "--color", colour],
            environ=environment.build(self.layout, known.engine, known.server.url, stack, os.environ).applied_to(
                os.environ
            ),
            folder=self.layout.project,
            log=log,
            echo=screen if shown else None,
            say=self._say,
            started=started,
        )
        screen.end()
        state.save(self.layout, replace(known, run=None))
        if outcome.interrupted:
            raise StoppedError("Stopped.")
        if outcome.returncode:
            raise PulumiFailedError(f"{what} of {stack}", outcome, log)
        return outcome


def _done(outcome: runner.CommandResult) -> Done:
    duration = next((line.partition(":")[2].strip() for line in outcome.lines if line.startswith("Duration:")), "")
    return Done(tuple(line.strip() for line in outcome.section("Resources")), duration)


def _known(found: state.Engine | None) -> state.Engine:
    if found is None:
        raise OutsideError("The sandbox's state names no engine.")
    return found
