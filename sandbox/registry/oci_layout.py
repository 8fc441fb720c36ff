"""An image in an OCI layout, as a repository that a registry serves.

Upstream: https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.registry.images import Content, Repository


def repository(folder: Path, name: str, tag: str) -> Repository:
    """The image that the layout has under ``tag``, with all that belongs to it, in memory."""
    made = Repository(name=name)
    rows = json.loads((folder / "index.json").read_text(encoding="utf-8"))["manifests"]
    top = next(row for row in rows if row["annotations"]["org.opencontainers.image.ref.name"] == tag)
    made.tags[tag] = _take(folder, made, top)
    return made


def _take(folder: Path, made: Repository, row: Mapping[str, Any]) -> Content:
    """Add what a descriptor names, and what that names."""
    content = made.add(row["mediaType"], (folder / "blobs" / row["digest"].replace(":", "/")).read_bytes())
    if row["mediaType"].endswith(("index.v1+json", "manifest.v1+json")):
        parts = json.loads(content.body)
        for each in (*parts.get("manifests", ()), *parts.get("layers", ()), *filter(None, (parts.get("config"),))):
            _take(folder, made, each)
    return content
