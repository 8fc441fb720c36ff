"""What ``multiarch workload patch`` prints and writes: manifests, differences or patches; messages on stderr."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import typer

from multiarch.cli.formats import Format, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.terminal import print_message, show_error
from multiarch.errors import MultiarchError
from multiarch.escaping import format_json
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.files import STANDARD_INPUT, write_atomically
from multiarch.patching.edits import TemplateOutcome
from multiarch.patching.patches import (
    build_json_patch,
    build_kustomize_component,
    build_strategic_merge_patch,
    get_target,
)
from multiarch.patching.transform import SchedulingChange
from multiarch.plurals import format_count
from multiarch.runs.patches import EditedFile
from multiarch.scheduling.architectures import wrap_pod_spec
from multiarch.scheduling.tolerations import find_untolerated, read_tolerations
from multiarch.yaml_text.difference import format_patch
from multiarch.yaml_text.dump import dump_yaml


@dataclass(frozen=True, slots=True)
class OutputMode:
    """What to do with the edited manifests. Without ``in_place``, ``diff`` and ``check`` they are printed.

    ``patch_format`` prints patches instead; it is empty for manifests.
    """

    in_place: bool
    diff: bool
    check: bool
    patch_format: str
    output: Format

    def validate(self, paths: Sequence[str]) -> None:
        """Raise MultiarchError for options that are mutually exclusive."""
        if self.in_place and (self.diff or self.check):
            other = "--diff" if self.diff else "--check"
            raise MultiarchError(f"--in-place and {other} are mutually exclusive.")
        if self.in_place and STANDARD_INPUT in paths:
            raise MultiarchError("Standard input can't be written in place.", hint="Omit --in-place.")
        report = self.output is not Format.TABLE
        if self.patch_format and (self.in_place or self.diff or self.check or report):
            raise MultiarchError(
                f"--format {self.patch_format} prints patches.",
                hint="Omit --in-place, --diff, --check and --output.",
            )
        if report and (self.diff or not (self.in_place or self.check)):
            raise MultiarchError(
                f"--output {self.output} prints a report instead of the manifests.", hint="Add --check or --in-place."
            )


def finish_files(files: Sequence[EditedFile], mode: OutputMode) -> None:
    """Print or write the manifests; with ``check``, exit with 1 if any would change."""
    changed = [each for each in files if each.edited.changed]
    if mode.in_place:
        _write(changed)
    if mode.output is not Format.TABLE:
        data = partial(_data, files, written=mode.in_place)
        print_report(Report("workload-patch", data=data, blocks=lambda: [_table(files)]), mode.output)
    elif mode.diff:
        for each in changed:
            typer.echo(format_patch(each.name, each.text, each.edited.text), nl=False)
    elif not (mode.in_place or mode.check):
        typer.echo(_joined(each.edited.text for each in files), nl=False)
    if mode.check and changed:
        raise typer.Exit(1)


def print_patches(files: Sequence[EditedFile], change: SchedulingChange, patch_format: str) -> None:
    """Print one patch per object that would change. Raises MultiarchError for an object that can't have one."""
    changed = [outcome for _, outcome in _outcomes(files) if outcome.transformed.changed]
    if patch_format == "json-patch":
        rows = [
            {
                "target": get_target(each.template.written),
                "patch": build_json_patch(each.transformed.additions, each.template.path),
            }
            for each in changed
        ]
        typer.echo(format_json(rows), nl=False)
        return
    objects = {id(each.template.written): each.template.written for each in changed}
    patches = [(written, dump_yaml(build_strategic_merge_patch(written, change))) for written in objects.values()]
    text = (
        dump_yaml(build_kustomize_component(patches))
        if patch_format == "kustomize"
        else _joined(text for _, text in patches)
    )
    typer.echo(text, nl=False)


def summarise_files(files: Sequence[EditedFile], taint: Taint | None, architecture: Architecture | None) -> None:
    """Print to stderr what changes in which pod template, and what was skipped. Raises MultiarchError for faults.

    ``taint`` is that of arm64 nodes unless pods are to tolerate it: pods that are to use these nodes and don't
    tolerate it are named.
    """
    faults = [(each.name, fault) for each in files for fault in each.edited.faults]
    if faults:
        for name, fault in faults:
            show_error(MultiarchError(f"{name}:{fault.line}: {fault.message}", hint=fault.hint))
        raise MultiarchError(f"Nothing was changed: {format_count(len(faults), 'error')}.")
    for each, outcome in _outcomes(files):
        notes = [*outcome.transformed.done, *outcome.transformed.notes, *_repelled(outcome, taint, architecture)]
        print_message(f"{each.name}:{outcome.line}: {outcome.template.title}: {'; '.join(notes)}")
    for each in files:
        for unknown in each.edited.unknown:
            print_message(f"{each.name}: {unknown.title}: skipped: {unknown.path} is not in a known pod template")
        for line in each.edited.foreign:
            print_message(f"{each.name}:{line}: skipped: not a Kubernetes object")
    changes = [outcome.transformed.changed for _, outcome in _outcomes(files)]
    print_message(
        f"{format_count(len(changes), 'pod template')} in {format_count(len(files), 'file')}: {sum(changes)} to change."
    )


def _repelled(outcome: TemplateOutcome, taint: Taint | None, architecture: Architecture | None) -> Iterator[str]:
    if taint is None or architecture is not Architecture.ARM64:
        return
    tolerations = read_tolerations(wrap_pod_spec(outcome.transformed.spec)["tolerations"])
    if find_untolerated(tolerations, (taint,)):
        yield f"does not tolerate {taint}, so it can't use nodes with that taint (add --tolerate arm64)"


def _outcomes(files: Sequence[EditedFile]) -> Iterator[tuple[EditedFile, TemplateOutcome]]:
    for each in files:
        for outcome in each.edited.outcomes:
            yield each, outcome


def _write(changed: Sequence[EditedFile]) -> None:
    for each in changed:
        if each.path is not None:
            write_atomically(each.path, each.edited.text)
    print_message(f"Wrote {format_count(len(changed), 'file')}." if changed else "Nothing to write.")


def _joined(texts: Iterable[str]) -> str:
    """Return one stream of documents; a single text is not changed."""
    stream = ""
    for text in texts:
        if stream and not stream.endswith("\n"):
            stream += "\n"
        stream += text if not stream or text.startswith("---") else f"---\n{text}"
    return stream


def _data(files: Sequence[EditedFile], *, written: bool) -> dict[str, object]:
    return {
        "files": [
            {"file": each.name, "changed": each.edited.changed, "written": written and each.edited.changed}
            for each in files
        ],
        "templates": [
            {
                "file": each.name,
                "line": outcome.line,
                "object": outcome.template.kind,
                "namespace": outcome.template.namespace,
                "name": outcome.template.name,
                "path": outcome.template.spec.path,
                "changed": outcome.transformed.changed,
                "done": outcome.transformed.done,
                "notes": outcome.transformed.notes,
            }
            for each, outcome in _outcomes(files)
        ],
    }


def _table(files: Sequence[EditedFile]) -> Table:
    rows = [
        (f"{each.name}:{outcome.line}", outcome.template.title, "; ".join(outcome.transformed.done))
        for each, outcome in _outcomes(files)
    ]
    return Table(("file", "object", "change"), rows)
