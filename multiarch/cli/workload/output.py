"""What ``multiarch workload patch`` gives back: manifests, differences, written files, or patches."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from multiarch.cli.output import Output, counted, print_json, say
from multiarch.cli.workload.report import STDIN, Judged, outcomes
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.cli.workload.patch import Format
    from multiarch.patching.edits import Outcome
    from multiarch.patching.transform import SchedulingChange


@dataclass(frozen=True, slots=True)
class Modes:
    """What happens with manifests; without any they are printed."""

    in_place: bool
    diff: bool
    check: bool
    output: Output

    def refuse_nonsense(self, form: Format, paths: Sequence[str]) -> None:
        """Raise MultiarchError for options that do not go together."""
        if self.in_place and (self.diff or self.check):
            other = "--diff" if self.diff else "--check"
            raise MultiarchError(f"--in-place writes, {other} does not.", hint="Leave one out.")
        if self.in_place and STDIN in paths:
            raise MultiarchError("Standard input can't be written in place.", hint="Leave --in-place out.")
        if form != "manifest" and (self.in_place or self.diff or self.check or self.output is Output.JSON):
            raise MultiarchError(
                f"--format {form} prints patches.", hint="Leave --in-place, --diff, --check and --output out."
            )
        if self.output is Output.JSON and (self.diff or not (self.in_place or self.check)):
            raise MultiarchError(
                "--output json tells what is done, in place of the manifests.",
                hint="Give --check or --in-place with it.",
            )


def finish(judged: Sequence[Judged], modes: Modes) -> None:
    """Print or write; with ``--check`` exit with 1 when something would change."""
    changed = [each for each in judged if each.edited.changed]
    if modes.in_place:
        _write(changed)
    if modes.output is Output.JSON:
        print_json("workload-patch", _as_json(judged, written=modes.in_place))
    elif modes.diff:
        for each in changed:
            typer.echo(_difference(each), nl=False)
    elif not (modes.in_place or modes.check):
        typer.echo(_joined([each.edited.text for each in judged]), nl=False)
    if modes.check and changed:
        raise typer.Exit(1)


def print_patches(judged: Sequence[Judged], change: SchedulingChange, form: Format) -> None:
    """Print one patch for each object that would change. Raises MultiarchError for an object that can't have one."""
    from multiarch.patching.patches import json_patch, kustomize_component, strategic_merge_patch, target_of
    from multiarch.yaml_text.dump import dump

    changed = [outcome for _, outcome in outcomes(judged) if outcome.transformed.changed]
    if form == "json-patch":
        rows = [
            {
                "target": target_of(each.template.written),
                "patch": json_patch(each.transformed.additions, each.template.path),
            }
            for each in changed
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    objects = {id(each.template.written): each.template.written for each in changed}
    patches = [(written, strategic_merge_patch(written, change)) for written in objects.values()]
    if form == "kustomize":
        typer.echo(dump(kustomize_component((written, dump(patch)) for written, patch in patches)), nl=False)
        return
    typer.echo(_joined([dump(patch) for _, patch in patches]), nl=False)


def _write(changed: Sequence[Judged]) -> None:
    from multiarch.cli.files import write_atomically

    for each in changed:
        if each.path is not None:
            write_atomically(each.path, each.edited.text)
    say(f"Wrote {counted(len(changed), 'file')}." if changed else "Wrote nothing.")


def _difference(each: Judged) -> str:
    before, after = (text.splitlines(keepends=True) for text in (each.text, each.edited.text))
    lines = difflib.unified_diff(before, after, f"a/{each.name}", f"b/{each.name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _joined(texts: Sequence[str]) -> str:
    """One stream of documents; a single text as it is."""
    whole = ""
    for text in texts:
        if whole and not whole.endswith("\n"):
            whole += "\n"
        whole += text if not whole or text.startswith("---") else f"---\n{text}"
    return whole


def _as_json(judged: Sequence[Judged], *, written: bool) -> dict[str, object]:
    return {
        "files": [
            {"file": each.name, "changed": each.edited.changed, "written": written and each.edited.changed}
            for each in judged
        ],
        "templates": [_template_as_json(each, outcome) for each, outcome in outcomes(judged)],
    }


def _template_as_json(each: Judged, outcome: Outcome) -> dict[str, object]:
    template, transformed = outcome.template, outcome.transformed
    return {
        "file": each.name,
        "line": outcome.line,
        "object": template.kind,
        "namespace": template.namespace,
        "name": template.name,
        "path": template.spec.path,
        "changed": transformed.changed,
        "done": list(transformed.done),
        "notes": list(transformed.notes),
    }
