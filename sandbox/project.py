"""Pulumi's working directory: the user's project through links, with stack files that Pulumi may write to.

Pulumi writes into ``Pulumi.STACK.yaml``: ``stack init`` and ``up`` add the secrets provider, and reformat the rest of
the file. The user's files must not change, and their provider is another one. So Pulumi gets
``.sandbox/project``: links to everything in the project, and copies of ``Pulumi.yaml`` and the stack files, which are
overwritten before every command: what ``pulumi config set`` writes is lost. After ``python -m sandbox env``, ``pulumi``
by hand uses the same folder, through the ``pulumi`` in ``.sandbox/bin``, which says so.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from multiarch.files import write_atomically
from multiarch.stack import yaml_source
from sandbox import backend
from sandbox.layout import Layout, SandboxUsageError

# What Pulumi keeps in a stack file about its secrets provider: one line each, at the top level.
_SECRETS_KEYS = ("encryptionsalt", "encryptedkey", "secretsprovider")
_SECRETS_LINE = re.compile(rf"^(?:{'|'.join(_SECRETS_KEYS)}):.*$", re.MULTILINE)
_SECRET_VALUE = re.compile(r"^\s+(?:-\s+)?secure:\s", re.MULTILINE)


def sync(layout: Layout) -> None:
    """Bring the folder up to date with the user's project.

    Raises:
        SandboxUsageError: a stack file holds values encrypted for another backend.
        StackError: a stack file cannot be read.
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
    _sync_stacks(layout, layout.root / stacks, layout.project / stacks)


def make_variant(layout: Layout, folder: Path, stack: str, copied: Collection[str] = ()) -> None:
    """Make another folder for Pulumi, for a change of one stack beside the project as it is; it must not exist.

    The stack files, ``Pulumi.yaml`` and the entries of the project that ``copied`` names are copies that can be changed
    there; the others are links. Only the stack's own file has what Pulumi has added. The project's own folder must be
    up to date (:func:`sync`).
    """
    shutil.copytree(layout.project, folder, symlinks=True)
    for name in copied:
        place = folder / name
        target = place.readlink()
        place.unlink()
        if target.is_dir():
            shutil.copytree(target, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(target, place)
    stacks = layout.stacks_folder()
    for file in stacks.glob("Pulumi.*.yaml"):
        if file.name != f"Pulumi.{stack}.yaml":
            shutil.copy2(file, folder / stacks.relative_to(layout.root))


def make_empty(layout: Layout, folder: Path) -> None:
    """Make a project without stacks: links to what the project of ``layout`` is made of, and its ``Pulumi.yaml``."""
    stacks = layout.stacks_folder().relative_to(layout.root)
    (folder / stacks).mkdir(parents=True)
    _link_entries(layout.root, folder, keep=stacks.parts[:1])
    shutil.copy2(layout.root / "Pulumi.yaml", folder)


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


def _sync_stacks(layout: Layout, source: Path, target: Path) -> None:
    names = {file.name for file in source.glob("Pulumi.*.yaml")}
    # A stack that is up needs its settings to be destroyed, even if their file is gone.
    up = {f"Pulumi.{stack}.yaml" for stack in backend.stacks(layout)}
    for copy in target.glob("Pulumi.*.yaml"):
        if copy.name not in names | up:
            copy.unlink()
    for name in sorted(names):
        original, copy = source / name, target / name
        text = yaml_source.read_text(original)
        if _SECRET_VALUE.search(text):
            raise SandboxUsageError(
                f"{original} holds values encrypted for another backend; the sandbox cannot decrypt them.",
                hint="Bring up another stack, or a copy of this one without them.",
            )
        salt = ""
        if copy.is_file():
            salt = "".join(f"{line}\n" for line in _SECRETS_LINE.findall(copy.read_text(encoding="utf-8")))
        # Lines stay where they are, so that an error's line number is right for the user's own file.
        own = _SECRETS_LINE.sub("", text)
        write_atomically(copy, own + ("" if not own or own.endswith("\n") else "\n") + salt)
