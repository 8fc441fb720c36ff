"""Taints of Nodes: how they are read, and which of them stand for an architecture."""

from __future__ import annotations

from collections.abc import Collection

from multiarch.facts.architectures import names_architecture
from multiarch.facts.taints import Effect, Taint
from multiarch.manifests.selectors import ARCHITECTURE_LABELS
from multiarch.manifests.values import Value


def taint_from(value: Value) -> Taint:
    """One of a Node's taints. Raises ManifestError for what the API server refuses."""
    effect = value["effect"].text()
    if effect not in set(Effect):
        raise value["effect"].error(f"{effect!r} is not a taint effect.", hint=f"Effects are {', '.join(Effect)}.")
    return Taint(value["key"].required_text(), value["value"].text(), Effect(effect))


def of_architecture(taint: Taint, known: Collection[Taint] = ()) -> bool:
    """Whether a taint stands for an architecture: it is a ``known`` one, or its key or its value names one.

    ``arch=arm64``, ``kubernetes.io/arch=amd64`` and ``example.com/graviton`` do.
    """
    if taint.key in ARCHITECTURE_LABELS or any(taint.key == each.key for each in known):
        return True
    return any(names_architecture(text) for text in (taint.key.rpartition("/")[2], taint.value))
