"""``multiarch stack render``: a preview without engine or credentials. The one command that loads ``components/``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Report, Table, problem_data
from multiarch.cli.options import project, stacks
from multiarch.cli.options.stacks import StacksArgument
from multiarch.cli.terminal import say, show_problems
from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.escaping import escaped
from multiarch.plurals import counted

if TYPE_CHECKING:
    from components.rendering import RenderedStack


@dataclass(frozen=True, slots=True)
class ResourceNode:
    """One resource of the tree."""

    urn: str
    parent: str
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """The result for one stack; it can be pickled. ``fault`` says why rendering failed."""

    file: str
    stack: str = ""
    directory: str = ""
    nodes: tuple[ResourceNode, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    fault: str = ""
    exit_code: int = 0


HELP = """Show the resources that Pulumi will declare.

Works without Pulumi's engine and AWS credentials. Writes user data, policies and manifests to build/STACK. Needs
Pulumi's Python packages: those of a clone's .venv, or `pip install 'multiarch-eks[pulumi]'`.

\b
Examples:
  multiarch stack render                           all stacks of the project
  multiarch stack render checkout-dev --directory rendered

Exit code: 0; 2 if a stack is invalid or the folder can't be written."""


def render(
    names: StacksArgument = None,
    *,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory", "-d", metavar="FOLDER", help="Where to write STACK/. Default: the project's build/."
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", min=0, help="Parallel processes; 0: one per processor.")
    ] = 0,
    output: OutputOption = Format.TABLE,
) -> None:
    """Render stacks, as :data:`HELP` says."""
    root = project.root()
    target = directory or root / "build"
    results: list[Rendered] = []
    for result in _all(stacks.files(names or ()), root, target, jobs or os.cpu_count() or 1):
        results.append(result)
        if output is not Format.JSON:
            show_problems(result.problems)
            if result.fault:
                say(f"error: {result.fault}")
        if output is Format.TABLE and not result.exit_code:
            _show(result)
    if output is not Format.TABLE:
        report = Report(
            "stack-rendering",
            data=lambda: {"stacks": [_data(result) for result in results]},
            blocks=lambda: (
                Table(("type", "name"), [(each.type, each.name) for each in result.nodes], result.stack)
                for result in results
                if not result.exit_code
            ),
        )
        show(report, output)
    elif len(results) > 1:
        done = sum(not result.exit_code for result in results)
        what = counted(done, "stack") if done == len(results) else f"{done} of {counted(len(results), 'stack')}"
        say(f"{what} rendered{f' into {target}' if done else ''}.")
    if code := max(result.exit_code for result in results):
        raise typer.Exit(code)


def _all(paths: Sequence[Path], root: Path, target: Path, jobs: int) -> Iterator[Rendered]:
    from concurrent.futures import ProcessPoolExecutor

    workers = min(jobs, len(paths))
    if workers == 1:
        for path in paths:
            yield _one(path, root, target)
        return
    with ProcessPoolExecutor(workers) as pool:
        pending = [pool.submit(_one, path, root, target) for path in paths]
        for future in pending:
            yield future.result()


def _one(path: Path, root: Path, target: Path) -> Rendered:
    """Render one stack. Errors are returned as values, because they cross from process to process."""
    from multiarch.stack.yaml_source import shown

    file = shown(path)
    try:
        plan = stacks.planned(path)[1]
        rendered: RenderedStack = rendering(root).render(plan, target)
    except StackError as error:
        return Rendered(file, problems=error.problems, exit_code=error.exit_code)
    except MultiarchError as error:
        return Rendered(file, fault=str(error), exit_code=error.exit_code)
    return Rendered(
        file=file,
        stack=rendered.stack,
        directory=str(rendered.directory),
        nodes=tuple(ResourceNode(r.urn, r.parent, r.type, r.name) for r in rendered.resources),
        files=tuple(path.as_posix() for path in rendered.files),
        problems=plan.warnings,
    )


def rendering(root: Path) -> ModuleType:
    """Load the components: ``components`` of the clone at ``root``, or else ``multiarch_eks``, which a wheel installs.

    Returns their module ``rendering``. Raises MultiarchError if a package is not installed.
    """
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        try:
            return import_module("components.rendering")
        except ModuleNotFoundError as error:
            if error.name not in ("components", "components.rendering"):
                raise
            return import_module("multiarch_eks.rendering")
    except ModuleNotFoundError as error:
        raise _not_installed(error.name) from error


def _not_installed(missing: str | None) -> MultiarchError:
    if missing == "multiarch_eks":
        return MultiarchError(
            "Rendering needs the components, which are not installed.",
            hint="Run this in a clone, or `pip install 'multiarch-eks[pulumi]'`.",
        )
    return MultiarchError(
        f"Rendering needs the Python package {missing}, which is not installed.",
        hint="Use .venv (`make render`), or `pipx install --force --editable '.[pulumi]'` in the clone.",
    )


def _show(result: Rendered) -> None:
    for line in tree(result.nodes):
        typer.echo(escaped(line))
    say(f"{counted(len(result.nodes), 'resource')}, {counted(len(result.files), 'file')} in {result.directory}")


def tree(nodes: Sequence[ResourceNode]) -> Iterator[str]:
    """Lines that show each resource below its parent, sorted by type and name."""
    children: dict[str, list[ResourceNode]] = {}
    known = {node.urn for node in nodes}
    for node in sorted(nodes, key=lambda node: (node.type, node.name)):
        children.setdefault(node.parent if node.parent in known else "", []).append(node)

    def below(parent: str, indent: str) -> Iterator[str]:
        siblings = children.get(parent, [])
        for node in siblings:
            last = node is siblings[-1]
            yield f"{indent}{'└─ ' if last else '├─ '}{node.type} {node.name}"
            yield from below(node.urn, f"{indent}{'   ' if last else '│  '}")

    for top in children.get("", []):
        yield f"{top.type} {top.name}"
        yield from below(top.urn, "")


def _data(result: Rendered) -> dict[str, object]:
    return {
        "file": result.file,
        "ok": not result.exit_code,
        "stack": result.stack,
        "directory": result.directory,
        "resources": [asdict(node) for node in result.nodes],
        "files": list(result.files),
        "problems": [problem_data(problem) for problem in result.problems],
        "fault": result.fault,
    }
