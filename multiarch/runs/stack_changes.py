"""Which stacks a change touches, and what pinning a stack changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from multiarch.aws_errors import REGION_HINT, open_clients, translate_failures
from multiarch.files import write_atomically
from multiarch.git import ChangedFile, Repository
from multiarch.runs.stacks import find_root
from multiarch.stack.addon_pins import find_addon_answers
from multiarch.stack.affected import FileChange, find_stack_name, list_affected, read_values
from multiarch.stack.cluster_pins import pin_cluster
from multiarch.stack.load import PROJECT_FILE, list_stack_files, load_file
from multiarch.stack.pin import Kept, Pin, PinClients, Pins, find_pins, remove_releases, write_pins
from multiarch.stack.plan import make_plan
from multiarch.stack.yaml_source import format_path
from multiarch.today import get_today


class DeletedStack(NamedTuple):
    """A stack whose file was deleted."""

    stack: str
    file: str


class TouchedStack(NamedTuple):
    """A stack that a change touches, and why."""

    stack: str
    file: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AffectedStacks:
    """The stacks that the change since ``since`` touches; ``base`` is the commit that it is compared with."""

    since: str
    base: str
    stacks: tuple[TouchedStack, ...]
    deleted: tuple[DeletedStack, ...]


def find_affected_stacks(since: str, project: Path | None = None) -> AffectedStacks:
    """Compare the working tree with the commit that HEAD and ``since`` last had in common. Raises MultiarchError."""
    root = find_root(project)
    repository = Repository.of(root)
    base = repository.base(since)
    changed = repository.changed(base)
    files = {str(find_stack_name(path.relative_to(root).as_posix())): path for path in list_stack_files(root)}
    found = list_affected([_change(repository, base, each) for each in changed], files)
    return AffectedStacks(
        since,
        base,
        tuple(TouchedStack(name, format_path(files[name]), reasons) for name, reasons in found.items()),
        tuple(
            DeletedStack(name, each.path)
            for each in changed
            if each.deleted and (name := find_stack_name(each.path)) and name not in files
        ),
    )


def _change(repository: Repository, base: str, changed: ChangedFile) -> FileChange:
    if find_stack_name(changed.path) is None and changed.path != PROJECT_FILE:
        return FileChange(changed.path)
    before = repository.read(base, changed.path)
    after = None if changed.deleted else read_values(repository.folder / changed.path)
    return FileChange(changed.path, None if before is None else before.decode("utf-8-sig", "replace"), after)


@dataclass(frozen=True, slots=True)
class PinnedStack:
    """What pinning a stack file changes. ``written``: the file has the changes.

    ``schemas`` are files with AWS's schemas of add-ons' configuration values, which are there too unless it was a dry
    run.
    """

    file: str
    written: bool
    changes: tuple[Pin, ...]
    kept: tuple[Kept, ...]
    schemas: tuple[str, ...] = ()


def pin_stack(path: Path, region: str | None, *, upgrade: bool, dry_run: bool) -> PinnedStack:
    """Pin a stack file to what AWS recommends today. Raises MultiarchError and OutsideError."""
    stack, of_cluster = load_file(path), Pins((), ())
    open_one = open_clients(region or stack.region, region_hint=REGION_HINT.format("aws:region in the stack file"))
    clients = PinClients(open_one("ssm"), open_one("eks"), open_one("ec2"))
    if stack.spec.cluster is not None:
        with translate_failures():
            of_cluster, stack = pin_cluster(stack, stack.spec.cluster, clients)
    # An outdated pin makes a stack invalid, so an upgrade ignores pins.
    plan = make_plan(remove_releases(stack) if upgrade else stack, today=get_today(), pinning=True)
    with translate_failures():
        found = find_pins(stack, plan, clients, upgrade=upgrade)
        answers = find_addon_answers(stack, found, path.parent, clients.eks)
    changes = (*of_cluster.changes, *found.changes, *(each for each in answers.pins if isinstance(each, Pin)))
    kept = (*of_cluster.kept, *found.kept, *(each for each in answers.pins if isinstance(each, Kept)))
    text = write_pins(path.read_bytes().decode("utf-8"), changes) if changes else None
    if not dry_run:
        # First: without them, a stack file with new versions is not checked.
        for file, schema in answers.schemas.items():
            write_atomically(file, schema)
        if text is not None:
            write_atomically(path, text)
    written = text is not None and not dry_run
    return PinnedStack(format_path(path), written, changes, kept, tuple(map(format_path, answers.schemas)))
