"""The stack files before and after a change: from a commit of git, or from another folder, and from the project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from multiarch.errors import MultiarchError, OutsideError, StackError
from multiarch.git import Repository
from multiarch.plurals import format_count
from multiarch.review.model import StackVersion
from multiarch.stack.affected import read_values
from multiarch.stack.load import PROJECT_FILE, STACKS_FOLDER, load_file
from multiarch.stack.plan import make_plan

_PREFIX, _SUFFIX = "Pulumi.", ".yaml"


class Folder(NamedTuple):
    """Stack files on one side of the change. ``name`` is the folder's in messages, empty for the project's own."""

    path: Path
    name: str

    def stacks(self) -> dict[str, str]:
        """Return the content of every stack file, by the stack's name."""
        return {
            file.name.removeprefix(_PREFIX).removesuffix(_SUFFIX): read_values(file)
            for file in sorted((self.path / STACKS_FOLDER).glob(f"{_PREFIX}*{_SUFFIX}"))
        }

    def version(self, stack: str, today: date) -> StackVersion | None:
        """Return the stack's file and plan; None where there is no file."""
        relative = STACKS_FOLDER / f"{_PREFIX}{stack}{_SUFFIX}"
        file = self.path / relative
        if not os.path.lexists(file):
            return None
        side = f"{self.name}: " if self.name else ""
        return read_version(file, self.path / PROJECT_FILE, today, relative.as_posix(), side)


def read_version(
    file: Path, project_file: Path, today: date, shown: str, side: str = "", text: str | None = None
) -> StackVersion:
    """Return a stack's file and plan. ``shown`` is its name in messages, which begin with ``side``.

    ``text`` is its content, if it is not to be read from ``file``.
    """
    try:
        loaded = load_file(file, project_file=project_file, text=text)
        plan = make_plan(loaded, today=today)
    except StackError as error:
        found = [f"{each.key or 'the file'}: {each.message}" for each in error.problems if each.severity == "error"]
        more = f" {format_count(len(found) - 1, 'more problem')}." if len(found) > 1 else ""
        return StackVersion(shown, None, f"{side}{found[0] if found else 'invalid'}{more}")
    except MultiarchError as error:
        return StackVersion(shown, None, f"{side}{error.message}".replace(f"{project_file.parent}/", side))
    of_aws = {
        "aws:region": loaded.region,
        "aws:profile": plan.identity.profile,
        "aws:assumeRoles": plan.identity.role_arn,
    }
    return StackVersion(shown, plan, values={**of_aws, **loaded.spec.with_all_sections().model_dump(by_alias=True)})


def open_folder(path: Path) -> Folder:
    """Return another clone of the project. Raises MultiarchError for a folder without stack files."""
    if not (path / STACKS_FOLDER).is_dir() or not (path / PROJECT_FILE).is_file():
        raise MultiarchError(
            f"{path} has no {PROJECT_FILE} or no {STACKS_FOLDER}.",
            hint="Give a clone of the project, as it was before.",
        )
    return Folder(path, str(path))


@contextmanager
def open_commit(root: Path, ref: str) -> Iterator[Folder]:
    """Yield the project at ``root`` as it was in the commit that HEAD and ``ref`` last had in common.

    Raises MultiarchError and OutsideError as :class:`multiarch.git.Repository` does, and for a commit without the
    project.
    """
    repository = Repository.of(root)
    commit = repository.base(ref)
    stacks = [STACKS_FOLDER / name for name in repository.names(commit, STACKS_FOLDER.as_posix())]
    with _open_temporary_folder() as folder:
        path = Path(folder)
        (path / STACKS_FOLDER).mkdir(parents=True)
        for each in (Path(PROJECT_FILE), *(each for each in stacks if each.suffix == _SUFFIX)):
            if (content := repository.read(commit, each.as_posix())) is not None:
                (path / each).write_bytes(content)
        if not (path / PROJECT_FILE).is_file():
            raise MultiarchError(f"There is no {PROJECT_FILE} at {ref}.", hint="Give a commit of this project.")
        yield Folder(path, ref)


def _open_temporary_folder() -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix="multiarch-review-")
    except OSError as error:
        raise OutsideError(
            f"A temporary folder can't be made: {error.strerror}.",
            hint="Set TMPDIR to a folder that can be written; in a container, mount one at /tmp.",
        ) from error
