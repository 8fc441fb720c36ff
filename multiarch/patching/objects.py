"""Changing Kubernetes objects that are values already, not text."""

from __future__ import annotations

from collections.abc import Mapping

from multiarch.patching.patches import changes_in
from multiarch.patching.transform import SchedulingChange
from multiarch.yaml_text.additions import add


def changed(manifest: Mapping[str, object], change: SchedulingChange) -> Mapping[str, object]:
    """The object with every pod template changed; it is returned as it is if there is nothing to add.

    Raises ManifestError and ContradictionError like :func:`multiarch.patching.transform.transform`, MultiarchError for
    a list of objects.
    """
    for template, transformed in changes_in(manifest, change):
        manifest = add(manifest, (addition.below(template.path) for addition in transformed.additions))
    return manifest
