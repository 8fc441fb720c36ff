"""`workload patch`: manifests, edited so that their pods may use other nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.files import MANIFESTS, STANDARD_INPUT, read_input
from multiarch.images.model import Verdict
from multiarch.kubernetes.manifests import find_files
from multiarch.manifests.owners import WorkloadKey
from multiarch.manifests.templates import Selection
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress, look_up
from multiarch.observed.verdicts import ImageRow
from multiarch.observed.workloads import ImageUse, list_pod_spec_uses
from multiarch.patching.edits import Edited, TemplateFault, TemplateOutcome, edit_templates
from multiarch.patching.transform import SchedulingChange


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
    """Read and edit all files in their order, each once; those of a folder by name. Nothing is written.

    Raises MultiarchError for a file that can't be read, for a named file without Kubernetes objects, and if nothing is
    selected.
    """
    files = []
    for name, path, named in _list_files(paths):
        text = read_input(path or STANDARD_INPUT, MANIFESTS)
        edited = edit_templates(text, change, selection, judge_only=judge_only)
        if named and not edited.objects and not edited.faults:
            raise MultiarchError(f"{name} has no Kubernetes objects.", hint="An object has apiVersion and kind.")
        files.append(EditedFile(name, path, text, edited))
    nothing = not any(each.edited.outcomes or each.edited.faults for each in files)
    if nothing and not selection.everything:
        raise MultiarchError("No pod template is selected.", hint="See --kind, --name, --namespace and --selector.")
    return files


def _list_files(paths: Sequence[str]) -> Iterator[tuple[str, Path | None, bool]]:
    """Yield name, path, and whether the file itself was named."""
    seen: set[Path] = set()
    for written in paths:
        if written == STANDARD_INPUT:
            yield "stdin", None, True
            continue
        path = Path(written)
        if not path.exists():
            raise MultiarchError(f"{written} does not exist.")
        for each in find_files(path):
            if each.resolve() not in seen:
                seen.add(each.resolve())
                yield each.as_posix(), each, not path.is_dir()


def check_images(
    files: Sequence[EditedFile],
    architectures: Sequence[Architecture],
    access: RegistryAccess,
    *,
    progress: Progress = ignore_progress,
) -> list[EditedFile]:
    """Return the files with a fault for an image that lacks an architecture, and a note for one that can't be read."""
    uses = [use for each in files for outcome in each.edited.outcomes for use in _list_uses(outcome)]
    judged = look_up(uses, architectures, access, progress=progress).by_use()
    return [_check_file(each, judged) for each in files]


def _check_file(file: EditedFile, judged: dict[tuple[str, str, bool], ImageRow]) -> EditedFile:
    faults, outcomes = list(file.edited.faults), []
    for outcome in file.edited.outcomes:
        notes = list(outcome.transformed.notes)
        for use, found in ((each, found) for each in _list_uses(outcome) for found in judged[each.question].judgements):
            image = f"image {use.image or '(none)'} ({use.role} {use.container})"
            if found.verdict is Verdict.UNSUPPORTED:
                message = f"{outcome.template.title}: {image} does not support {found.architecture}: {found.reason}."
                hint = f"Build it for {found.architecture}, or omit this workload."
                faults.append(TemplateFault(outcome.line, message, hint))
            elif found.verdict is Verdict.UNKNOWN:
                notes.append(f"{image}: support for {found.architecture} is unknown: {found.reason.rstrip('.')}")
        outcomes.append(replace(outcome, transformed=replace(outcome.transformed, notes=tuple(notes))))
    return replace(file, edited=replace(file.edited, outcomes=tuple(outcomes), faults=tuple(faults)))


def _list_uses(outcome: TemplateOutcome) -> list[ImageUse]:
    template = outcome.template
    key = WorkloadKey(template.namespace, template.kind, template.name)
    return list(list_pod_spec_uses(template.spec.mapping(), key))
