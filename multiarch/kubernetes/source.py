"""An object and where it is read, so that errors about it say where it is; without loading the client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.manifests.values import ManifestError


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Which cluster, as kubectl's options name it; without either, the one that kubectl would use."""

    kubeconfig: Path | None = None
    context: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether an option names it."""
        return bool(self.kubeconfig or self.context)


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Where an object was read. ``document``, ``line`` and ``item`` count from 1.

    ``where`` is a file as given, ``standard input`` or ``cluster NAME``. ``document`` is None in a cluster,
    ``line`` where only JSON was read, ``item`` where the object is not an element of a list of objects.
    """

    where: str
    document: int | None = None
    line: int | None = None
    item: int | None = None

    def __str__(self) -> str:
        """``pods.yaml:12, document 3, item 2``, without what is not known."""
        head = self.where if self.line is None else f"{self.where}:{self.line}"
        document = "" if self.document is None else f", document {self.document}"
        return f"{head}{document}" if self.item is None else f"{head}{document}, item {self.item}"


@dataclass(frozen=True, slots=True)
class LoadedObject:
    """One object: a mapping with ``kind``, never a list of objects. Its value is not shown: it may hold secrets."""

    value: dict[str, Any]
    source: Source

    def __repr__(self) -> str:
        """Kind and source only."""
        return f"<{self.value.get('kind')} from {self.source}>"


def add_object_source(error: ManifestError, found: Sequence[LoadedObject]) -> MultiarchError:
    """Return the error with the source of its object; ``found`` are the objects in the order of their documents."""
    source = found[error.document - 1].source
    return MultiarchError(f"{source}{error.message.removeprefix(f'document {error.document}')}", hint=error.hint)
