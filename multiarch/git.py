"""What Git knows of the clone: since when it differs, in which files, and what they were before.

Git's own program answers, so that every repository that it can read is read as it does.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from multiarch.errors import MultiarchError, OutsideError

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs. ``path`` is relative to the repository's folder, with ``/``.

    ``deleted``: it is not there any more.
    """

    path: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder in a Git repository. Paths are relative to ``folder``, not to the top of the repository."""

    folder: Path

    @classmethod
    def of(cls, folder: Path) -> Repository:
        """Return the repository that holds ``folder``. Raises MultiarchError if there is none, or no Git."""
        found = cls(folder.absolute())
        inside = found._git("rev-parse", "--is-inside-work-tree")
        if inside.stdout.strip() != b"true":
            said = _said(inside)
            hint = "Run this in a clone of the project."
            raise MultiarchError(f"Git reads no repository in {folder}: {said}.", hint=hint)
        return found

    def base(self, ref: str) -> str:
        """Return the last common commit of HEAD and ``ref``: what a merge request into ``ref`` is compared with.

        Raises MultiarchError for an unknown ref, and where the clone is too shallow to know.
        """
        shallow = self._git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        deepen = "This clone is shallow: fetch all history (GitHub: fetch-depth: 0; GitLab: GIT_DEPTH: 0)."
        commit = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if commit.returncode:
            hint = (
                deepen if shallow else f"Fetch it first, for instance: git fetch origin {ref.removeprefix('origin/')}."
            )
            raise MultiarchError(f"Git knows no commit {ref!r} in {self.folder}.", hint=hint)
        found = self._git("merge-base", commit.stdout.decode().strip(), "HEAD")
        if found.returncode or not found.stdout.strip():
            hint = deepen if shallow else "Name a ref that this branch began from."
            raise MultiarchError(f"HEAD and {ref} have no common commit in {self.folder}.", hint=hint)
        return found.stdout.decode().strip()

    def changed(self, commit: str) -> list[ChangedFile]:
        """List files that differ between ``commit`` and the working tree, new ones too, ignored ones not; sorted.

        A renamed file is a deleted and a new one.
        """
        listed = self._answer("diff", "--raw", "-z", "--no-renames", "--no-ext-diff", "--relative", commit, "--", ".")
        parts = listed.decode("utf-8", "surrogateescape").split("\0")
        found = {
            path: ChangedFile(path, deleted=described.split(" ")[4].startswith("D"))
            for described, path in zip(parts[0:-1:2], parts[1::2], strict=True)
        }
        new = self._answer("ls-files", "-z", "--others", "--exclude-standard", "--", ".")
        for path in new.decode("utf-8", "surrogateescape").split("\0"):
            if path:
                found[path] = ChangedFile(path)
        return [found[path] for path in sorted(found)]

    def read(self, commit: str, path: str) -> bytes | None:
        """Read a file in ``commit``; None if it is not in it. Raises OutsideError for a folder or a submodule."""
        if not self._answer("ls-tree", "-z", commit, "--", path):
            return None
        return self._answer("cat-file", "blob", f"{commit}:./{path}")

    def names(self, commit: str, folder: str) -> list[str]:
        """Return the names of the files in ``folder`` in ``commit``, sorted; none if there is no such folder."""
        listed = self._answer("ls-tree", "-z", "--name-only", commit, "--", f"{folder}/")
        paths = listed.decode("utf-8", "surrogateescape").split("\0")
        return sorted(Path(path).name for path in paths if path)

    def _answer(self, *arguments: str) -> bytes:
        finished = self._git(*arguments)
        if finished.returncode:
            raise OutsideError(f"git {arguments[0]} failed in {self.folder}: {_said(finished)}.")
        return finished.stdout

    def _git(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        # Messages are compared and shown; a pager or an editor must never be started.
        environment = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
        command = ["git", "--no-pager", "--literal-pathspecs", "-C", str(self.folder), *arguments]
        try:
            return subprocess.run(  # noqa: S603 (git; every caller gives constant options)
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise OutsideError(f"git {arguments[0]} took longer than {_SECONDS:.0f} s in {self.folder}.") from error
        except OSError as error:
            hint = "Install Git, or put it on PATH."
            raise OutsideError(f"git can't be run: {error.strerror}.", hint=hint) from error


def _said(finished: subprocess.CompletedProcess[bytes]) -> str:
    """Return why Git failed, in its own words, on one line."""
    lines = finished.stderr.decode("utf-8", "replace").split("\n")
    said = "; ".join(line.strip() for line in lines if line.strip())
    return said.removeprefix("fatal: ").rstrip(".") or f"exit code {finished.returncode}"
