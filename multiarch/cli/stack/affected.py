"""``multiarch stack affected``: the stacks that a merge request touches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.options import project
from multiarch.cli.terminal import say
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.git import ChangedFile, Repository
    from multiarch.stack.affected import FileChange

HELP = """Show which stacks a change touches, for previews of only those.

Compares the working tree with the commit that HEAD and REF last had in common. A stack is touched by the values of
its own file, by the defaults of Pulumi.yaml that reach it, and by every file that the Pulumi program may read.
Comments, documents and tests touch no stack. Stacks whose file was deleted are listed: their resources still exist.

\b
Examples:
  multiarch stack affected --since origin/main
  multiarch stack affected --since origin/main --quiet | xargs -n 1 pulumi preview --stack

Exit code: 0; 2 if REF is unknown or the clone is too shallow; 3 if Git fails."""


def affected(
    *,
    since: Annotated[str, typer.Option("--since", metavar="REF", help="The branch or commit to compare with.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only names of stacks, one per line.")] = False,
    output: OutputOption = Format.TABLE,
) -> None:
    """List affected stacks, as :data:`HELP` says."""
    from multiarch.git import Repository
    from multiarch.stack.affected import affected as find
    from multiarch.stack.affected import of_stack
    from multiarch.stack.load import stack_files
    from multiarch.stack.yaml_source import shown

    root = project.root()
    repository = Repository.of(root)
    base = repository.base(since)
    changed = repository.changed(base)
    files = {str(of_stack(path.relative_to(root).as_posix())): path for path in stack_files(root)}
    found = find(
        [_change(repository, base, each) for each in changed], {name: _text(path) for name, path in files.items()}
    )
    deleted = [
        (name, each.path) for each in changed if each.deleted and (name := of_stack(each.path)) and name not in files
    ]
    if quiet:
        for each in found:
            typer.echo(each.stack)
        for name, _ in deleted:
            say(f"warning: the file of stack {name} was deleted. {_WAY_OUT.format(name=name)}")
        return
    report = Report(
        "affected-stacks",
        data=lambda: {
            "since": since,
            "base": base,
            "stacks": [
                {"stack": each.stack, "file": shown(files[each.stack]), "reasons": list(each.reasons)} for each in found
            ],
            "deleted": [{"stack": name, "file": path} for name, path in deleted],
        },
        blocks=lambda: [
            Table(
                ("stack", "why"),
                [
                    *((each.stack, "; ".join(each.reasons)) for each in found),
                    *((name, f"{path} was deleted. {_WAY_OUT.format(name=name)}") for name, path in deleted),
                ],
            )
            if found or deleted
            else f"The change since {since} touches no stack."
        ],
    )
    show(report, output)


_WAY_OUT = "Its resources still exist: restore the file and run `pulumi destroy --stack {name}` first."


def _change(repository: Repository, base: str, changed: ChangedFile) -> FileChange:
    from multiarch.stack.affected import FileChange, of_stack
    from multiarch.stack.load import PROJECT_FILE

    if of_stack(changed.path) is None and changed.path != PROJECT_FILE:
        return FileChange(changed.path)
    before = repository.read(base, changed.path)
    after = None if changed.deleted else _text(repository.folder / changed.path)
    return FileChange(changed.path, None if before is None else before.decode("utf-8-sig", "replace"), after)


def _text(path: Path) -> str:
    from multiarch.files import read_bytes

    try:
        return read_bytes(path).decode("utf-8-sig", "replace")
    except OSError as error:
        raise MultiarchError(f"{path} can't be read: {error.strerror or error}.") from error
