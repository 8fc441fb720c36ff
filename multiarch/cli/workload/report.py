"""Manifests read and judged for ``multiarch workload``, and what is said about them on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from multiarch.cli.output import counted, say, show_error
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.facts.architectures import Architecture
    from multiarch.facts.taints import Taint
    from multiarch.manifests.templates import Selection
    from multiarch.patching.edits import Edited, Outcome
    from multiarch.patching.transform import SchedulingChange

STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Judged:
    """One file. ``name`` is what a person calls it, ``path`` is ``None`` for standard input, ``text`` as it was."""

    name: str
    path: Path | None
    text: str
    edited: Edited


def judge(paths: Sequence[str], change: SchedulingChange, selection: Selection, *, judge_only: bool) -> list[Judged]:
    """Read and change all files, in their order, folders' by name.

    Raises MultiarchError for a file that can't be read, for one that was named and holds no Kubernetes object, and
    where the selection selects nothing.
    """
    from multiarch.patching.edits import edit

    judged = []
    for name, path, named in _files(paths):
        text = _read(name, path)
        edited = edit(text, change, selection, judge_only=judge_only)
        if named and not edited.objects and not edited.faults:
            raise MultiarchError(f"{name} holds no Kubernetes object.", hint="One has apiVersion and kind.")
        judged.append(Judged(name, path, text, edited))
    if not judged:
        raise MultiarchError(f"There is no {', '.join(_SUFFIXES)} file in {', '.join(paths)}.")
    nothing = not any(each.edited.outcomes or each.edited.faults for each in judged)
    if nothing and not selection.everything:
        raise MultiarchError("No pod template is selected.", hint="See --kind, --name, --namespace and --selector.")
    return judged


def outcomes(judged: Sequence[Judged]) -> Iterator[tuple[Judged, Outcome]]:
    """All templates, with their files."""
    for each in judged:
        for outcome in each.edited.outcomes:
            yield each, outcome


def say_all(judged: Sequence[Judged], taint: Taint | None, architecture: Architecture | None) -> None:
    """Say what was done to which template, and what was left alone; errors are shown, and end the command.

    ``taint`` is that of arm64 nodes if nobody asked to tolerate it: pods that are to be there and do not are named.
    """
    faults = [(each.name, fault) for each in judged for fault in each.edited.faults]
    if faults:
        for name, fault in faults:
            show_error(MultiarchError(f"{name}:{fault.line}: {fault.message}", hint=fault.hint))
        raise MultiarchError(f"Nothing was changed: {counted(len(faults), 'fault')}.")
    for each, outcome in outcomes(judged):
        said = [*outcome.transformed.done, *outcome.transformed.notes, *_repelled(outcome, taint, architecture)]
        say(f"{each.name}:{outcome.line}: {outcome.template.title}: {'; '.join(said)}")
    for each in judged:
        for unknown in each.edited.unknown:
            say(f"{each.name}: {unknown.title}: left alone: {unknown.path} is in no pod template that is known here")
        for line in each.edited.foreign:
            say(f"{each.name}:{line}: left alone: no Kubernetes object")
    changed = sum(outcome.transformed.changed for _, outcome in outcomes(judged))
    total = sum(1 for _ in outcomes(judged))
    say(f"{counted(total, 'pod template')} in {counted(len(judged), 'file')}: {changed} to change.")


def _repelled(outcome: Outcome, taint: Taint | None, architecture: Architecture | None) -> Iterator[str]:
    from multiarch.facts.architectures import Architecture
    from multiarch.scheduling.architectures import as_pod_spec
    from multiarch.scheduling.tolerations import first_untolerated, tolerations_from

    if taint is None or architecture is not Architecture.ARM64:
        return
    borne = tolerations_from(as_pod_spec(outcome.transformed.spec)["tolerations"])
    if first_untolerated(borne, (taint,)):
        yield f"does not tolerate {taint}, so it stays off nodes with that taint (--tolerate arm64)"


def _files(paths: Sequence[str]) -> Iterator[tuple[str, Path | None, bool]]:
    """Name, path, and whether it was named itself; each once."""
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
            raise MultiarchError(f"{written} is neither a file nor a folder.")
        for each in found:
            if each.resolve() not in seen:
                seen.add(each.resolve())
                yield each.as_posix(), each, not path.is_dir()


def _manifests(folder: Path) -> Iterator[Path]:
    """Manifests at any depth; what is hidden is not looked into."""
    for each in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in each.relative_to(folder).parts)
        if each.suffix in _SUFFIXES and each.is_file() and not hidden:
            yield each


def _read(name: str, path: Path | None) -> str:
    """The text with its line ends as they are."""
    try:
        content = sys.stdin.buffer.read() if path is None else path.read_bytes()
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MultiarchError(f"{name} can't be read: {getattr(error, 'strerror', None) or error}.") from error
