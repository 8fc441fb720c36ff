"""The folder Pulumi works in: the user's project, seen through links, with stack files that Pulumi may write to.

Pulumi writes into ``Pulumi.STACK.yaml``: ``stack init`` and ``up`` add ``encryptionsalt``, and lay out the rest of the
file anew. The user's files must not change, and a salt of theirs belongs to another passphrase. So Pulumi gets
``.sandbox/project``: links to everything in the project, and copies of ``Pulumi.yaml`` and the stack files, which are
written anew before every command. Whoever runs ``pulumi`` by hand after ``python -m sandbox env`` gets the same
folder, through the ``pulumi`` in ``.sandbox/bin``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sandbox.layout import Layout, SandboxUsageError, read_yaml
from sandbox.state import write_atomically

# What Pulumi keeps in a stack file about its secrets provider: one line each, at the top level.
_SECRETS_KEYS = ("encryptionsalt", "encryptedkey", "secretsprovider")
_SECRETS_LINE = re.compile(rf"^(?:{'|'.join(_SECRETS_KEYS)}):.*$", re.MULTILINE)
_SECRET_VALUE = re.compile(r"^\s+(?:-\s+)?secure:\s", re.MULTILINE)


def sync(layout: Layout) -> list[str]:
    """Bring the folder up to date with the user's project; return what should be said about it.

    Raises:
        SandboxUsageError: a stack file cannot be read, or holds values encrypted for another backend.
    """
    settings = layout.settings()
    stacks = Path(str(settings.get("stackConfigDir", ".")))
    if stacks.is_absolute() or ".." in stacks.parts:
        raise SandboxUsageError(
            f"stackConfigDir of {layout.root / 'Pulumi.yaml'} lies outside of the project: {stacks}."
        )
    layout.project.mkdir(parents=True, exist_ok=True)
    _link_entries(layout.root, layout.project, keep=stacks.parts[:1])
    # Folders on the way to the stack files are real ones, everything beside that way is linked.
    here, there = layout.root, layout.project
    for depth, part in enumerate(stacks.parts):
        here, there = here / part, there / part
        if there.is_symlink():
            there.unlink()
        there.mkdir(exist_ok=True)
        _link_entries(here, there, keep=stacks.parts[depth + 1 : depth + 2])
    write_atomically(layout.project / "Pulumi.yaml", (layout.root / "Pulumi.yaml").read_text(encoding="utf-8"))
    return _sync_stacks(layout, layout.root / stacks, layout.project / stacks)


def _wanted(root: Path, keep: tuple[str, ...]) -> dict[str, Path]:
    if not root.is_dir():
        return {}
    return {
        entry.name: entry
        for entry in root.iterdir()
        if (not entry.name.startswith(".") or entry.name == ".venv")
        and entry.name not in {"build", "Pulumi.yaml", *keep}
        and not (entry.name.startswith("Pulumi.") and entry.suffix == ".yaml")
    }


def _link_entries(root: Path, folder: Path, keep: tuple[str, ...]) -> None:
    wanted = _wanted(root, keep)
    for link in folder.iterdir():
        if link.is_symlink() and (wanted.get(link.name) is None or link.readlink() != wanted[link.name]):
            link.unlink()
    for name, target in sorted(wanted.items()):
        link = folder / name
        if not link.is_symlink() and not link.exists():
            link.symlink_to(target)


def _sync_stacks(layout: Layout, source: Path, target: Path) -> list[str]:
    remarks = []
    written = layout.folder / "synced"  # the user's files as they were copied last
    names = {file.name for file in source.glob("Pulumi.*.yaml")}
    for copy in target.glob("Pulumi.*.yaml"):
        if copy.name not in names:
            copy.unlink()
    for name in sorted(names):
        original, copy, before = source / name, target / name, written / name
        text = original.read_text(encoding="utf-8")
        if _SECRET_VALUE.search(text):
            raise SandboxUsageError(
                f"{original} holds values encrypted for another backend; the sandbox cannot decrypt them.",
                hint="Bring up another stack, or a copy of this one without them.",
            )
        salt = ""
        if copy.is_file():
            remarks += _keep_changes(copy, before, original)
            salt = "".join(f"{line}\n" for line in _SECRETS_LINE.findall(copy.read_text(encoding="utf-8")))
        # Lines stay where they are, so that an error's line number is right for the user's own file.
        own = _SECRETS_LINE.sub("", text)
        write_atomically(copy, own + ("" if not own or own.endswith("\n") else "\n") + salt)
        write_atomically(before, own)
    return remarks


def _keep_changes(copy: Path, before: Path, original: Path) -> list[str]:
    """Put aside what somebody changed in a copy (``pulumi config set`` does), for it is about to be written anew."""
    if not before.is_file() or _settings(copy) == _settings(before):
        return []
    kept = copy.with_suffix(".changed")
    shutil.copyfile(copy, kept)
    remark = (
        f"The sandbox's copy of {original} was changed (`pulumi config set` and `--config` do that), but it is written "
        f"anew before every command. What it held is in {kept}: take it over into {original.name}."
    )
    return [remark]


def _settings(file: Path) -> dict[str, object]:
    return {key: value for key, value in read_yaml(file).items() if key not in _SECRETS_KEYS}
