"""The folder of patches that ``multiarch audit workloads --patch`` writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from multiarch.audit.workloads import WorkloadAudit, WorkloadRow
from multiarch.errors import MultiarchError
from multiarch.escaping import escape_terminal
from multiarch.files import write_atomically
from multiarch.patching.patches import build_kustomize_component
from multiarch.yaml_text.dump import dump_yaml

KUSTOMIZATION = "kustomization.yaml"
_MARK = "# Written by `multiarch audit workloads --patch`"


def check_target(folder: Path, *, force: bool) -> None:
    """Raise MultiarchError unless ``folder`` is new or empty; with ``force``, it may have files of an earlier run."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise MultiarchError(f"{folder} is not a folder.", hint="Name a new folder.")
    for each in sorted(folder.iterdir()):
        if not force:
            hint = "Name a new folder, or replace the patches with --force."
            raise MultiarchError(f"{folder} is not empty.", hint=hint)
        if not each.is_file() or each.is_symlink() or not each.read_bytes().startswith(_MARK.encode()):
            fault = f"{folder} has {each.name}, which this command did not write."
            raise MultiarchError(fault, hint="Name a new folder.")


def write_patches(folder: Path, audit: WorkloadAudit, *, kustomize: bool, force: bool) -> int:
    """Write a patch for each ready workload that can have one, and return their number.

    With ``kustomize`` also write a Component that applies them. Raises MultiarchError as :func:`check_target` does, and
    if the folder can't be written.
    """
    check_target(folder, force=force)
    files = _files(audit, kustomize=kustomize)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, text in files.items():
            write_atomically(folder / name, text)
    except OSError as error:
        raise MultiarchError(f"{folder} can't be written: {error.strerror or error}.") from error
    return len(files) - kustomize


def _files(audit: WorkloadAudit, *, kustomize: bool) -> dict[str, str]:
    files: dict[str, str] = {}
    objects: list[tuple[Mapping[str, object], str]] = []
    for row in audit.rows:
        if row.patch is None or row.patch.body is None or row.patch.written is None:
            continue
        name = get_file_name(row)
        objects.append((row.patch.written, name))
        files[name] = f"{_MARK}: lets {escape_terminal(str(row.workload))} tolerate {audit.taint}.\n"
        files[name] += dump_yaml(row.patch.body)
    if kustomize:
        component = dump_yaml(build_kustomize_component(objects, in_files=True))
        files[KUSTOMIZATION] = f"{_MARK}: name this folder under `components:`.\n{component}"
    return files


def get_file_name(row: WorkloadRow) -> str:
    """Return ``NAMESPACE_KIND_NAME.yaml``; what no name in Kubernetes has, such as a slash, is percent-encoded."""
    key = row.workload
    parts = (quote(part, safe="").replace("_", "%5F") for part in (key.namespace, key.kind.lower(), key.name))
    return f"{'_'.join(parts)}.yaml"
