"""``python -m sandbox``: a complete environment on this machine, without an AWS account.

Exit codes: 0 fine, 1 something is left or would change, 2 wrong usage, 3 something outside failed, 130 stopped.
"""

from __future__ import annotations

import json
import signal
import sys
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from multiarch.errors import MultiarchError
from sandbox import lifecycle, state, summary
from sandbox.layout import CLONE, Layout

app = typer.Typer(
    name="sandbox",
    help="A complete EKS environment on this machine: the real Pulumi engine, and moto for AWS.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_WIDTH_OF_FILES = 140


class Output(StrEnum):
    """How a reading command answers."""

    TABLE = "table"
    JSON = "json"


Stack = Annotated[str, typer.Argument(help="A stack: config/stacks/Pulumi.STACK.yaml.", metavar="STACK")]


def _out() -> Console:
    return Console(width=None if sys.stdout.isatty() else _WIDTH_OF_FILES)


def _say(text: str) -> None:
    print(f"sandbox: {text}", file=sys.stderr, flush=True)


def _show(line: str) -> None:
    print(line, flush=True)


@app.callback()
def _project(
    context: typer.Context,
    project: Annotated[Path, typer.Option(help="The folder with Pulumi.yaml.", file_okay=False)] = CLONE,
) -> None:
    terminal = sys.stdout.isatty()
    context.obj = lifecycle.Sandbox(Layout(project.resolve()), _say, _show, verbose=terminal, colour=terminal)


def _sandbox(context: typer.Context) -> lifecycle.Sandbox:
    sandbox = context.obj
    if not isinstance(sandbox, lifecycle.Sandbox):
        raise TypeError(type(sandbox))
    return sandbox


@app.command()
def up(context: typer.Context, stack: Stack = "checkout-dev") -> None:
    """Start the sandbox if it is not up, and create or update a stack in it."""
    sandbox = _sandbox(context)
    done = sandbox.up(stack)
    _say(f"{stack} is up: {', '.join(done.changes) or 'nothing to do'} in {done.duration or 'no time'}")
    running = state.load(sandbox.layout).server
    if running:
        console = _out()
        summary.print_world(console, sandbox.layout, running.url, stack)
        summary.print_next(console, stack)


@app.command()
def preview(
    context: typer.Context,
    stack: Stack = "checkout-dev",
    *,
    expect_no_changes: Annotated[
        bool, typer.Option("--expect-no-changes", help="Exit with 1 if anything would change.")
    ] = False,
) -> None:
    """Show what `up` would change, and change nothing."""
    _, changes = _sandbox(context).preview(stack)
    if changes and expect_no_changes:
        raise typer.Exit(1)


@app.command()
def down(
    context: typer.Context,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Destroy nothing, just end the world and remove its files.")
    ] = False,
) -> None:
    """Destroy every stack, stop what runs, remove .sandbox."""
    sandbox = _sandbox(context)
    if not sandbox.layout.folder.is_dir():
        _say("nothing is up, nothing is left")
        return
    left = sandbox.down(force=force)
    for label, names in left.found.items():
        _say(f"the destroy left {len(names)} {label}: {', '.join(names)}")
    if left.found:
        _say("that was lost with the sandbox's AWS; in a real account it would still be there")
        raise typer.Exit(1)
    _say("nothing is left: no resource in AWS, no process, no file" if not force else "nothing is left running")


@app.command()
def status(context: typer.Context, output: Output = Output.TABLE) -> None:
    """Say what runs, and which stacks are up."""
    sandbox = _sandbox(context)
    told = summary.status(sandbox.layout)
    if output is Output.JSON:
        print(json.dumps(told, indent=2, sort_keys=True))
        return
    print(f"AWS: {told['url']} (process {told['server']['pid']})" if told["up"] else "not up; `make up` starts it")
    if told["engine"]:
        print("Pulumi: {version}, {source}, {path}".format_map(told["engine"]))
    if not told["up"]:
        return
    for name, stack in told["stacks"].items():
        pending = f", {len(stack['pending'])} operations cut off" if stack["pending"] else ""
        print(f"{name}: {stack['resources']} resources{pending}")
    for name in told["stacks"]:
        summary.print_world(_out(), sandbox.layout, told["url"], name)


@app.command()
def env(context: typer.Context, stack: Stack = "checkout-dev") -> None:
    """Print what a shell needs to run plain `pulumi` against the sandbox: eval "$(python -m sandbox env)"."""
    print(_sandbox(context).environment(stack).as_shell(), end="")


@app.command(hidden=True)
def sync(context: typer.Context) -> None:
    """Bring Pulumi's project folder up to date with the user's files (the sandbox's `pulumi` does this first)."""
    _sandbox(context).sync()


def _raise_interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Run a command; all errors end here."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise_interrupt)
    try:
        app()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 2
    except lifecycle.PulumiFailedError as error:
        _say(str(error))
        for line in error.lines:
            print(line, file=sys.stderr)
        return error.exit_code
    except MultiarchError as error:
        _say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _say("stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
