"""``python -m sandbox``: a complete environment on this machine, without an AWS account.

Exit codes: 0 fine, 1 something is left or would change, 2 wrong usage, 3 something outside failed, 130 stopped.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from multiarch.cli import lines
from multiarch.errors import MultiarchError, StackError, merge_warnings
from sandbox import backend, environment, lifecycle, plugins, server, state, summary
from sandbox.cluster import lifecycle as real_cluster
from sandbox.commands import make_runnable
from sandbox.layout import CLONE, Layout
from tools import build

app = typer.Typer(
    name="sandbox",
    help="A complete EKS environment on this machine: the real Pulumi engine, and moto for AWS.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cluster = typer.Typer(
    help="A Kubernetes cluster on this machine with a real node of each architecture. Needs root, and Linux.",
    no_args_is_help=True,
)
app.add_typer(cluster, name="cluster")
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
_WIDTH_OF_FILES = 140
_MESSAGE = re.compile(r"(?P<indent> +)(?:\x1b\[[0-9;]*m)*(?:warning|error): ")
_UNREACHABLE = re.compile(r"\[(?:autoscaler|storage-class|termination-handler)-unreachable\]")


Stack = Annotated[
    str, typer.Argument(help="A stack, by its name or its file config/stacks/Pulumi.NAME.yaml.", metavar="STACK|FILE")
]


Providers = Annotated[
    str,
    typer.Option(
        help="Plugins: official, stand-ins, or the names of those to be official, separated by commas. "
        "Default: those of the running sandbox, or stand-ins.",
        metavar="PLUGINS",
    ),
]


def _out() -> Console:
    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH_OF_FILES)


def _say(text: str) -> None:
    line = f"sandbox: {make_runnable(text)}"
    room = lines.count_columns(sys.stderr)
    for each in lines.wrap_lines(line, room, others="  ") if sys.stderr.isatty() else (line,):
        print(each, file=sys.stderr, flush=True)


def _show(line: str) -> None:
    """Print a line of Pulumi's output; a terminal gets messages broken between words."""
    line = make_runnable(line)
    if sys.stdout.isatty() and (start := _MESSAGE.match(line)):
        indent, room = start["indent"], lines.count_columns(sys.stdout)
        line = "\n".join(lines.wrap_lines(line, room, first=indent, others=f"{indent}  "))
    print(line, flush=True)


@app.callback()
def _project(
    context: typer.Context,
    project: Annotated[Path, typer.Option(help="The folder with Pulumi.yaml.", file_okay=False)] = CLONE,
) -> None:
    users = dict(os.environ)
    environment.forget_aws(os.environ)
    layout, colour = Layout(project.resolve()), sys.stdout.isatty()
    context.obj = lifecycle.Sandbox(layout, _say, _show, colour=colour, environ=users)


def _sandbox(context: typer.Context, providers: str = "") -> lifecycle.Sandbox:
    sandbox: lifecycle.Sandbox = context.obj
    if providers:
        sandbox.official = plugins.parse_names(providers)
    return sandbox


@app.command()
def up(context: typer.Context, stack: Stack = "checkout-dev", providers: Providers = "") -> None:
    """Start the sandbox if it is not up, and create or update a stack in it."""
    sandbox = _sandbox(context, providers)
    stack = sandbox.layout.stack(stack)
    done = sandbox.up(stack)
    for warning in done.warnings:
        _say(f"warning: {warning}")
    _say(f"{stack} is up: {', '.join(done.changes) or 'nothing to do'} in {done.duration or 'no time'}")
    running = state.load(sandbox.layout).server
    if running:
        console = _out()
        summary.print_world(console, sandbox.layout, running.url, [stack])
        summary.print_next(console, stack, private=any(_UNREACHABLE.search(each) for each in done.warnings))


@app.command()
def preview(
    context: typer.Context,
    stack: Stack = "checkout-dev",
    *,
    expect_no_changes: Annotated[
        bool, typer.Option("--expect-no-changes", help="Exit with 1 if anything would change.")
    ] = False,
    providers: Providers = "",
) -> None:
    """Show what `up` would change, and change nothing."""
    sandbox = _sandbox(context, providers)
    _, changes = sandbox.preview(sandbox.layout.stack(stack))
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
    """Destroy every stack, stop what runs, the demo's registry too, and remove .sandbox."""
    sandbox = _sandbox(context)
    if not sandbox.layout.folder.is_dir():
        _say("nothing is up, nothing is left")
        return
    left = sandbox.down(force=force)
    for what, names in left.items():
        _say(f"the destroy left {what}: {', '.join(names)}")
    if left:
        _say("that was lost with the sandbox's AWS; in a real account it would still be there")
        raise typer.Exit(1)
    _say("nothing is left: no resource in AWS, no process, no file" if not force else "nothing is left running")


@app.command()
def status(context: typer.Context) -> None:
    """Say what runs, and which stacks are up."""
    layout = _sandbox(context).layout
    known, running = state.load(layout), server.find_running(layout)
    print(f"AWS: {running.url} (process {running.process})" if running else "not up; `make up` starts it")
    if known.engine:
        print(f"Pulumi: {known.engine.version}, {known.engine.source}")
    if not running:
        return
    print(f"providers: {plugins.describe(known.official)}")
    for name in backend.stacks(layout):
        told = backend.checkpoint(layout, name)
        pending = f", {len(told.pending)} operations cut off" if told.pending else ""
        print(f"{name}: {told.resources} resources{pending}")
    summary.print_world(_out(), layout, running.url, backend.stacks(layout))


@app.command()
def env(context: typer.Context, stack: Stack = "checkout-dev") -> None:
    """Print what a shell needs to run plain `pulumi` against the sandbox: eval "$(python -m sandbox env)"."""
    sandbox = _sandbox(context)
    stack = sandbox.layout.stack(stack)
    print(sandbox.environment(stack).as_shell(), end="")
    _say(f"settings are read from config/stacks/Pulumi.{stack}.yaml: what `pulumi config set` writes is discarded")


@app.command()
def vpc(context: typer.Context, stack: Stack) -> None:
    """Create a VPC in a stack's region, to try an existing one; prints the key that names it in the stack's file."""
    sandbox = _sandbox(context)
    print(sandbox.make_vpc(sandbox.layout.stack(stack)), end="")


@app.command()
def registry(context: typer.Context) -> None:
    """Start a registry with made-up images for the commands that query registries; `down` stops it."""
    sandbox = _sandbox(context)
    _say(f"a registry with images of examples/pods.yaml (one is missing on purpose) listens on {sandbox.registry()}")
    summary.print_registry(sandbox.layout, make_runnable)


@app.command()
def verify_demo(context: typer.Context, stack: Stack = "checkout-dev") -> None:
    """Show what `multiarch verify` says about a healthy cluster, and about four faults in it."""
    from sandbox.verify_demo import demo  # noqa: PLC0415  (imports the control plane and boto3)

    sandbox = _sandbox(context)
    demo.show(sandbox, sandbox.layout.stack(stack), _say, _show)


@app.command()
def review_demo(context: typer.Context, stack: Stack = "checkout-dev") -> None:
    """Show what `multiarch review` says of a change: a replacement, more permissions, higher cost."""
    from sandbox import review_demo as demo  # noqa: PLC0415  (imports prices)

    sandbox = _sandbox(context)
    demo.show(sandbox, sandbox.layout.stack(stack), _say, _show)


@app.command()
def existing_demo(context: typer.Context) -> None:
    """Show a stack for a cluster of eksctl: its file, its arm64 nodes, and the cluster as it was at the end."""
    from sandbox import existing_demo as demo  # noqa: PLC0415  (makes a cluster of its own)

    demo.show(_sandbox(context).layout, _say, _show)


@app.command()
def report_demo(context: typer.Context, stack: Stack = "payments-prod") -> None:
    """Write the page of `multiarch report` about a stack, with made-up workloads, images and prices."""
    from sandbox import report_demo as demo  # noqa: PLC0415  (the other commands do without it)

    sandbox = _sandbox(context)
    demo.show(sandbox, sandbox.layout.stack(stack), _say, _show)


@app.command()
def webhook_demo() -> None:
    """Show where three pods run on real nodes because of the webhook, and why; leaves nothing running."""
    from sandbox.webhook_demo import demo  # noqa: PLC0415  (imports the control plane)

    demo.show(_say, Console())


@app.command()
def image() -> None:
    """Build the image for both architectures on a stand-in for its base; print where it is, an OCI layout."""
    from sandbox.webhook_image import image as built  # noqa: PLC0415  (imports the control plane)

    print(f"oci:{built.ensure(_say)}:{built.TAG}")


@cluster.command("up")
def cluster_up(
    context: typer.Context,
    stack: Annotated[str, typer.Argument(help="Start nodes with the user data of this stack's groups.")] = "",
) -> None:
    """Start the cluster unless it runs; print its kubeconfig and what to try."""
    layout = _sandbox(context).layout
    files = None
    if stack:
        files = layout.stacks_folder() / f"Pulumi.{layout.stack(stack)}.yaml", layout.root / "Pulumi.yaml"
    with state.exclusive(layout, "cluster up"):
        found = real_cluster.up(layout.cluster, _say, stack=files)
    summary.print_cluster(found)
    summary.print_next_in_cluster(found)


@cluster.command("status")
def cluster_status(context: typer.Context) -> None:
    """Say whether the cluster runs, and which nodes it has."""
    found = real_cluster.status(_sandbox(context).layout.cluster)
    if found is None:
        print("no cluster; `make cluster` starts one")
        return
    summary.print_cluster(found)


@cluster.command("down")
def cluster_down(context: typer.Context) -> None:
    """Stop the cluster and remove everything of it: processes, mounts, control groups, the binfmt_misc entry, files."""
    layout, there = _sandbox(context).layout, False
    if layout.folder.is_dir():
        with state.exclusive(layout, "cluster down"):
            there = real_cluster.down(layout.cluster)
            if set(layout.folder.iterdir()) == {layout.lock}:
                shutil.rmtree(layout.folder)
    _say("the cluster is gone, nothing is left" if there else "no cluster, nothing is left")


@app.command(hidden=True, context_settings={"ignore_unknown_options": True})
def sync(context: typer.Context, arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Prepare `pulumi ARGUMENTS` in a shell; the sandbox's own `pulumi` runs this first."""
    _sandbox(context).sync_by_hand(arguments or ())


def _raise_interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Run a command; all errors end here."""
    # What boto3 loads does not become garbage: looking for some takes a quarter of a command's time.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise_interrupt)
    try:
        app()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 2
    except MultiarchError as error:
        _say_error(error)
        return error.exit_code
    except build.BuildError as error:
        _say(str(error))
        return 3
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}." if error.filename else f"{error}.")
        return 3
    except KeyboardInterrupt:
        _say("stopped")
        return 130
    return 0


def _say_error(error: MultiarchError) -> None:
    if isinstance(error, StackError):
        for problem in merge_warnings(error.problems):
            _say(f"{problem.mark}: {problem} [{problem.rule}]")
        return
    _say(str(error))
    if isinstance(error, lifecycle.PulumiFailedError):
        for line in error.lines:
            print(line, file=sys.stderr)


if __name__ == "__main__":
    ended = main()
    # The process ends. Without this the interpreter looks for garbage among all objects.
    gc.freeze()
    sys.exit(ended)
