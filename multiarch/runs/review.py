"""The previews and stack files of ``multiarch review``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path

from multiarch.errors import MultiarchError
from multiarch.files import MANIFESTS, STANDARD_INPUT, format_input, read_bytes
from multiarch.observed.cluster import read_object_pods
from multiarch.observed.objects import read_manifest_objects
from multiarch.rebalance.install.objects import build_objects
from multiarch.review.model import Preview, StackChange, StackVersion
from multiarch.review.previews.reading import read_previews
from multiarch.review.versions import Folder, open_commit, open_folder, read_version
from multiarch.runs.stacks import find_file, find_root, get_stack_name, load_plan
from multiarch.scheduling.pods import Pod
from multiarch.stack.affected import has_same_values
from multiarch.stack.engine_config import NAMESPACE
from multiarch.stack.load import PROJECT_FILE, STACKS_FOLDER
from multiarch.stack.yaml_source import format_path, read_text
from multiarch.today import get_today

_BOTH = "Give --since REF, or --before FOLDER."
_HOW = "`pulumi preview --json > preview.json` writes one."


def read_changes(
    paths: Sequence[str],
    since: str | None,
    before: Path | None,
    manifests: Sequence[str],
    project: Path | None = None,
) -> list[StackChange]:
    """Return the changes of all stacks of the previews, and of all stack files that differ. Raises MultiarchError.

    ``manifests`` are files whose pods the change must not strand.
    """
    if since is not None and before is not None:
        raise MultiarchError("--since and --before are mutually exclusive.", hint="Give one of them.")
    if manifests and since is None and before is None:
        raise MultiarchError("--manifests needs the stack files before and after the change.", hint=_BOTH)
    if STANDARD_INPUT in paths and STANDARD_INPUT in manifests:
        raise MultiarchError("Standard input can't be both a preview and manifests.")
    if not paths and since is None and before is None:
        raise MultiarchError("No preview is given.", hint=f"{_HOW} --since REF compares the stack files alone.")
    previews = _previews(paths)
    day, pods = get_today(), _pods(manifests) if manifests else ()
    if since is None and before is None:
        return [StackChange(preview, None, None, day) for preview in previews]
    root = find_root(project)
    with ExitStack() as stack:
        old = stack.enter_context(open_commit(root, since)) if since is not None else open_folder(before or root)
        changes = _with_files(previews, old, Folder(root, ""), day)
        return [
            replace(each, pods=pods, before=_with_objects(each.before), after=_with_objects(each.after))
            for each in changes
        ]


def read_stack_change(name: str, against: str, project: Path | None = None) -> StackChange:
    """Return what the working tree changes in a stack's file since ``against``, as a change without a preview.

    ``against`` is a file or a folder (another clone of the project) where there is one of that path, and otherwise a
    ref of Git, whose last common commit with HEAD counts. A file gets the project's own defaults. Raises StackError for
    an invalid stack file, and MultiarchError as :func:`read_changes` does.
    """
    file = find_file(name, project)
    root, stack, day, other = find_root(project or file.parent), get_stack_name(file), get_today(), Path(against)
    after = read_version(file, root / PROJECT_FILE, day, format_path(file))
    if after.plan is None:
        load_plan(file)
        raise MultiarchError(after.problem)
    before: StackVersion | None
    if other.is_file():
        text = read_text(other)
        before = read_version(file, root / PROJECT_FILE, day, against, f"{against}: ", text)
    elif file.absolute().parent.resolve() != (root / STACKS_FOLDER).resolve():
        hint = "Give --against FILE."
        raise MultiarchError(f"{file} is not in {root / STACKS_FOLDER}, so {against} has no such stack.", hint=hint)
    else:
        with nullcontext(open_folder(other)) if other.is_dir() else open_commit(root, against) as old:
            before = old.version(stack, day)
    if before is not None and before.plan is None:
        hint = f"{against} has no valid stack file to compare with."
        if other.is_file():
            hint = f"--against takes another version of {format_path(file)}, for the same team and environment."
        raise MultiarchError(before.problem, hint=hint)
    preview = Preview(stack, NAMESPACE, "", (), (), (), succeeded=False)
    return StackChange(preview, _with_objects(before), _with_objects(after), day)


def _with_objects(version: StackVersion | None) -> StackVersion | None:
    plan = version.plan if version else None
    if version is None or plan is None or plan.rebalance is None:
        return version
    return replace(version, objects=tuple(build_objects(plan.rebalance, plan.stack, plan.arm64_taint)))


def _pods(manifests: Sequence[str]) -> tuple[Pod, ...]:
    pods = read_object_pods(list(read_manifest_objects(manifests)[0]))
    if not pods:
        raise MultiarchError(f"--manifests: no object in {', '.join(manifests)} creates pods.")
    return pods


def _with_files(previews: Sequence[Preview], old: Folder, new: Folder, day: date) -> Iterator[StackChange]:
    reviewed = set()
    for preview in previews:
        if preview.project != NAMESPACE:
            yield StackChange(preview, None, None, day)
            continue
        reviewed.add(preview.stack)
        yield StackChange(preview, old.version(preview.stack, day), new.version(preview.stack, day), day)
    files_before, files_after = old.stacks(), new.stacks()
    for name in sorted({*files_before, *files_after} - reviewed):
        texts = files_before.get(name), files_after.get(name)
        if None in texts or not has_same_values(texts[0] or "", texts[1] or ""):
            preview = Preview(name, NAMESPACE, "", (), (), (), succeeded=False)
            yield StackChange(preview, old.version(name, day), new.version(name, day), day)


def _previews(paths: Sequence[str]) -> list[Preview]:
    found: dict[tuple[str, str], Preview] = {}
    for path in paths:
        name = format_input(path)
        for preview in read_previews(_bytes(path), name):
            key = (preview.project, preview.stack)
            if key in found:
                raise MultiarchError(
                    f"Stack {preview.stack} is in {found[key].source} and in {name}.", hint="Give one preview of it."
                )
            found[key] = preview
    return list(found.values())


def _bytes(path: str) -> bytes:
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read()
        return read_bytes(Path(path), MANIFESTS)
    except OSError as error:
        raise MultiarchError(f"{path} can't be read: {error.strerror or error}.", hint=_HOW) from error
