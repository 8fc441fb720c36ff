"""Objects as YAML files in a folder, one each; the folder follows create, update and delete."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from multiarch.files import write_atomically
from multiarch.yaml_text.dump import dump_yaml
from sandbox.providers.kubernetes.objects import ordered
from sandbox.providers.values import Record


class Manifests:
    """A folder of manifests."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is made when the first file is written."""
        self._folder = folder

    def path(self, obj: Record) -> Path:
        """Return the file of an object: group, kind, namespace and name, in lower case."""
        metadata = obj["metadata"]
        group = obj["apiVersion"].rpartition("/")[0] or "core"
        parts = [group, obj["kind"], metadata.get("namespace") or "", metadata["name"]]
        name = "_".join(re.sub(r"[^a-z0-9.-]+", "-", part.lower()) for part in parts if part)
        return self._folder / f"{name}.yaml"

    def put(self, obj: Record) -> None:
        """Write an object, whole or not at all. Only the owner can read Secrets."""
        target = self.path(obj)
        self._folder.mkdir(parents=True, exist_ok=True)
        target.touch(mode=0o600 if obj["kind"] == "Secret" else 0o644)  # which writing keeps
        write_atomically(target, text(obj))

    def get(self, obj: Record) -> Record | None:
        """Return what is in the object's file, which users may edit as they would edit the object."""
        file = self.path(obj)
        found: Record | None = yaml.safe_load(file.read_bytes()) if file.is_file() else None
        return found

    def delete(self, obj: Record) -> None:
        """Remove the file; a missing one is fine."""
        self.path(obj).unlink(missing_ok=True)


def text(obj: Record) -> str:
    """Return an object as YAML with sorted keys: the same object gives the same bytes."""
    return dump_yaml(ordered(obj), sort_keys=True)
