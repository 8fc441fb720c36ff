"""Manifest files, read and edited for ``multiarch workload patch``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from multiarch.errors import MultiarchError
from multiarch.files import MANIFESTS, read_standard_input, read_text

if TYPE_CHECKING:
    from multiarch.manifests.templates import Selection
    from multiarch.patching.edits import Edited, Outcome
    from multiarch.patching.transform import SchedulingChange

STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class EditedFile:
    """One file. ``name`` is for messages, ``path`` is ``None`` for standard input, ``text`` is the original content."""

    name: str
    path: Path | None
    text: str
    edited: Edited


def edit_files(
    paths: Sequence[str], change: SchedulingChange, selection: Selection, *, judge_only: bool
) -> list[EditedFile]:
    """Read and edit all files in their order; those of a folder by name.

    Raises MultiarchError for a file that can't be read, for a named file without Kubernetes objects, and if nothing is
    selected.
    """
    from multiarch.patching.edits import edit

    files = []
    for name, path, named in _files(paths):
        text = _read(name, path)
        edited = edit(text, change, selection, judge_only=judge_only)
        if named and not edited.objects and not edited.faults:
            raise MultiarchError(f"{name} has no Kubernetes objects.", hint="An object has apiVersion and kind.")
        files.append(EditedFile(name, path, text, edited))
    if not files:
        raise MultiarchError(f"There are no {', '.join(_SUFFIXES)} files in {', '.join(paths)}.")
    nothing = not any(each.edited.outcomes or each.edited.faults for each in files)
    if nothing and not selection.everything:
        raise MultiarchError("No pod template is selected.", hint="See --kind, --name, --namespace and --selector.")
    return files


def outcomes(files: Sequence[EditedFile]) -> Iterator[tuple[EditedFile, Outcome]]:
    """All pod templates, with their files."""
    for each in files:
        for outcome in each.edited.outcomes:
            yield each, outcome


def _files(paths: Sequence[str]) -> Iterator[tuple[str, Path | None, bool]]:
    """Name, path, and whether the file itself was named; each file once."""
    seen: set[Path] = set()
    for written in paths:
        if written == STDIN:
            yield "stdin", None, True
            continue
        path = Path(written)
        if path.is_dir():
            found = sorted(_manifests(path))
        elif path.exists():
            found = [path]
        else:
            raise MultiarchError(f"{written} does not exist.")
        for each in found:
            if each.resolve() not in seen:
                seen.add(each.resolve())
                yield each.as_posix(), each, not path.is_dir()


def _manifests(folder: Path) -> Iterator[Path]:
    """Manifests at any depth, without hidden files and folders."""
    for each in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in each.relative_to(folder).parts)
        if each.suffix in _SUFFIXES and each.is_file() and not hidden:
            yield each


def _read(name: str, path: Path | None) -> str:
    """The text, with its line ends."""
    try:
        return read_standard_input(MANIFESTS) if path is None else read_text(path, MANIFESTS)
    except (OSError, UnicodeDecodeError) as error:
        raise MultiarchError(f"{name} can't be read: {getattr(error, 'strerror', None) or error}.") from error
