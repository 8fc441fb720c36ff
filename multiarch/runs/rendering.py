"""What Pulumi would declare for stacks, without its engine. ``components`` is loaded here alone, by its name."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType

from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.runs.stacks import load_plan
from multiarch.serialization import OMITTED, JsonProperty
from multiarch.stack.yaml_source import format_path


@dataclass(frozen=True, slots=True)
class Rendered:
    """The result for one stack; it can be pickled. ``fault`` says why rendering failed."""

    file: str
    stack: str = ""
    directory: str = ""
    resources: tuple[DeclaredResource, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    fault: str = ""
    exit_code: int = field(default=0, metadata=OMITTED)

    @JsonProperty
    def ok(self) -> bool:
        """Return whether the stack was rendered."""
        return not self.exit_code


def render_stacks(paths: Sequence[Path], root: Path, target: Path, jobs: int) -> Iterator[Rendered]:
    """Render stack files of the project at ``root`` into ``target``, in parallel processes if ``jobs`` is not 1."""
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
    file = format_path(path)
    try:
        plan = load_plan(path)[1]
        rendered = load_rendering(root).render(plan, target)
    except StackError as error:
        return Rendered(file, problems=error.problems, exit_code=error.exit_code)
    except MultiarchError as error:
        return Rendered(file, fault=str(error), exit_code=error.exit_code)
    return Rendered(
        file=file,
        stack=plan.stack,
        directory=str(rendered.directory),
        resources=rendered.declared.resources,
        files=tuple(path.as_posix() for path in rendered.files),
        problems=plan.warnings,
    )


def load_rendering(root: Path) -> ModuleType:
    """Load what renders the components: ``components`` of the clone at ``root``, or the wheel's ``multiarch_eks``.

    Raises MultiarchError if a package is not installed.
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
