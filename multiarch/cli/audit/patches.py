"""The folder of patches that ``multiarch audit workloads --patch`` writes, completely or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from multiarch.errors import MultiarchError
from multiarch.escaping import escaped
from multiarch.files import beside

if TYPE_CHECKING:
    from multiarch.audit.workloads import WorkloadAudit, WorkloadRow

KUSTOMIZATION = "kustomization.yaml"
_MARK = "# Written by `multiarch audit workloads --patch`"
_LONGEST_NAME = 200
_PLAIN = re.compile(r"[a-z0-9.-]+")


def check_target(folder: Path, *, force: bool) -> None:
    """Raise MultiarchError unless ``folder`` is new or empty.

    With ``force``, it may also have files that an earlier run wrote, and no others.
    """
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise MultiarchError(f"{folder} is not a folder.", hint="Name a new folder.")
    there = sorted(folder.iterdir())
    if not there:
        return
    if not force:
        raise MultiarchError(f"{folder} is not empty.", hint="Name a new folder, or replace the patches with --force.")
    for each in there:
        if not _is_ours(each):
            raise MultiarchError(
                f"{folder} has {each.name}, which this command did not write.", hint="Name a new folder."
            )


def _is_ours(file: Path) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(len(_MARK)) == _MARK.encode()


def write(folder: Path, audit: WorkloadAudit, *, kustomize: bool, force: bool) -> int:
    """Write a patch for each ready workload that can have one, and return their number.

    With ``kustomize`` also write a Component that applies them. Raises MultiarchError as :func:`check_target` does, and
    if the folder can't be written.
    """
    check_target(folder, force=force)
    files = _files(audit, kustomize=kustomize)
    try:
        place = folder.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        made = beside(place)
        made.mkdir()
        try:
            for name, text in files.items():
                (made / name).write_text(text, encoding="utf-8", newline="\n")
            _put(made, place)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise MultiarchError(f"{folder} can't be written: {error.strerror or error}.") from error
    return len(files) - kustomize


def _put(made: Path, folder: Path) -> None:
    """Rename the new folder; an old one is moved aside first, and back if that fails."""
    if not folder.is_dir():
        made.rename(folder)
        return
    aside = beside(folder)
    folder.rename(aside)
    try:
        made.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise
    shutil.rmtree(aside)


def _files(audit: WorkloadAudit, *, kustomize: bool) -> dict[str, str]:
    from multiarch.patching.patches import kustomize_component
    from multiarch.yaml_text.dump import dump

    files: dict[str, str] = {}
    objects: list[tuple[Mapping[str, object], str]] = []
    for row in audit.rows:
        if row.patch is None or row.patch.body is None or row.patch.written is None:
            continue
        name = file_name(row)
        objects.append((row.patch.written, name))
        files[name] = f"{_MARK}: lets {escaped(str(row.workload))} tolerate {audit.taint}.\n"
        files[name] += dump(row.patch.body)
    if kustomize:
        component = kustomize_component(objects)
        # Refer to the patch files instead of embedding the patches.
        component["patches"] = [_in_file(entry) for entry in _entries(component)]
        files[KUSTOMIZATION] = f"{_MARK}: name this folder under `components:`.\n{dump(component)}"
    return files


def _entries(component: Mapping[str, object]) -> list[dict[str, object]]:
    entries = component["patches"]
    return entries if isinstance(entries, list) else []


def _in_file(entry: Mapping[str, object]) -> dict[str, object]:
    return {"path": entry["patch"], "target": entry["target"]}


def file_name(row: WorkloadRow) -> str:
    """``NAMESPACE_KIND_NAME.yaml``; unique, because names in Kubernetes have no underscore.

    Invalid or very long names get a digest.
    """
    parts = (row.workload.namespace, row.workload.kind.lower(), row.workload.name)
    name = "_".join(quote(part, safe="") for part in parts)
    if len(name) > _LONGEST_NAME or not all(_PLAIN.fullmatch(part) for part in parts):
        name = f"{name[:_LONGEST_NAME]}_{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"
    return f"{name}.yaml"
