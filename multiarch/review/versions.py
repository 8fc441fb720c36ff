"""The stack files before and after a change: from a commit of git, or from another folder, and from the project."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from multiarch.errors import MultiarchError, OutsideError, StackError
from multiarch.review.model import Version
from multiarch.stack.load import PROJECT_FILE, STACKS_FOLDER, load_file
from multiarch.stack.plan import make_plan

__all__ = ["Folder", "at_commit", "in_folder"]

_PREFIX, _SUFFIX = "Pulumi.", ".yaml"
_SHALLOW = "CI clones few commits: GIT_DEPTH: 0 on GitLab, fetch-depth: 0 for actions/checkout fetch all of them."


class Folder(NamedTuple):
    """Stack files on one side of the change. ``name`` stands for the folder in messages."""

    path: Path
    name: str

    def stacks(self) -> dict[str, str]:
        """The content of every stack file, by the stack's name."""
        return {
            file.name.removeprefix(_PREFIX).removesuffix(_SUFFIX): _text(file)
            for file in sorted((self.path / STACKS_FOLDER).glob(f"{_PREFIX}*{_SUFFIX}"))
        }

    def version(self, stack: str, today: date) -> Version | None:
        """The stack's file and plan; None where there is no file."""
        relative = STACKS_FOLDER / f"{_PREFIX}{stack}{_SUFFIX}"
        file = self.path / relative
        if not file.is_file():
            return None
        shown = relative.as_posix()
        try:
            plan = make_plan(load_file(file, project_file=self.path / PROJECT_FILE), today=today)
        except StackError as error:
            found = [f"{each.key or 'the file'}: {each.message}" for each in error.problems if each.severity == "error"]
            more = f" {len(found) - 1} more problems." if len(found) > 1 else ""
            return Version(shown, None, f"{self.name}: {found[0] if found else 'invalid'}{more}")
        except MultiarchError as error:
            return Version(shown, None, f"{self.name}: {error.message}".replace(str(self.path), self.name))
        return Version(shown, plan)


def in_folder(path: Path) -> Folder:
    """Another clone of the project. Raises MultiarchError for a folder without stack files."""
    if not (path / STACKS_FOLDER).is_dir() or not (path / PROJECT_FILE).is_file():
        raise MultiarchError(
            f"{path} has no {PROJECT_FILE} or no {STACKS_FOLDER}.",
            hint="Give a clone of the project, as it was before.",
        )
    return Folder(path, str(path))


@contextmanager
def at_commit(root: Path, ref: str) -> Iterator[Folder]:
    """The project at ``root`` as it was where the working tree left ``ref``: at their merge base, or at ``ref`` itself.

    Raises MultiarchError for a ref that the repository does not have, OutsideError if git can't be run.
    """
    commit = _commit(root, ref)
    with TemporaryDirectory(prefix="multiarch-review-") as folder:
        path = Path(folder)
        (path / STACKS_FOLDER).mkdir(parents=True)
        listed = _git(root, "ls-tree", "-r", "-z", "--name-only", commit, "--", PROJECT_FILE, STACKS_FOLDER.as_posix())
        for name in listed.decode("utf-8", "surrogateescape").split("\0"):
            # git prints names relative to the folder it runs in.
            if name == PROJECT_FILE or Path(name).parent == STACKS_FOLDER:
                (path / name).write_bytes(_git(root, "cat-file", "blob", f"{commit}:./{name}"))
        if not (path / PROJECT_FILE).is_file():
            raise MultiarchError(f"There is no {PROJECT_FILE} at {ref}.", hint="Give a commit of this project.")
        yield Folder(path, ref)


def _commit(root: Path, ref: str) -> str:
    if ref.startswith("-"):
        raise MultiarchError(f"{ref!r} is not a commit.", hint="Give a branch, a tag or a commit, such as origin/main.")
    try:
        commit = (
            _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
        )
    except _GitError as error:
        if error.says:
            raise OutsideError(
                f"git failed: {error.says}", hint="Is the project a clone of a git repository?"
            ) from None
        raise MultiarchError(f"The repository has no commit {ref!r}.", hint=_SHALLOW) from None
    try:
        return _git(root, "merge-base", commit, "HEAD").decode().strip()
    except _GitError:
        return commit


class _GitError(Exception):
    def __init__(self, says: str) -> None:
        super().__init__(says)
        self.says = says


def _git(root: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)  # noqa: S603, S607
    except OSError as error:
        raise OutsideError(
            f"git can't be run: {error.strerror or error}.", hint="--before FOLDER needs no git."
        ) from None
    if done.returncode:
        raise _GitError(" ".join(done.stderr.decode("utf-8", "replace").split()))
    return done.stdout


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise MultiarchError(f"{file} can't be read: {error.strerror or error}.") from error
