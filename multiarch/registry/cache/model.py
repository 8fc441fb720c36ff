"""What a cache holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Content:
    """A manifest or a small blob. ``digest`` is what it was verified against."""

    media_type: str
    digest: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Pointer:
    """What a tag pointed at when the registry was last asked: ``checked`` is Unix time."""

    digest: str
    checked: float


class Cache(Protocol):
    """A cache; ``name`` is ``registry/repository``.

    Content is kept per repository: that one repository has it does not mean that another one does. None of the
    methods raises: what can't be kept is asked for again.
    """

    def content(self, name: str, digest: str) -> Content | None:
        """What a digest names, or None."""
        ...

    def keep(self, name: str, content: Content) -> None:
        """Keep verified content."""
        ...

    def pointer(self, name: str, tag: str) -> Pointer | None:
        """What a tag pointed at, or None."""
        ...

    def point(self, name: str, tag: str, digest: str) -> None:
        """Remember that the registry has just said what a tag points at."""
        ...

    def forget(self, name: str, tag: str) -> None:
        """Forget a tag: the registry says that it is gone."""
        ...

    def close(self) -> None:
        """Let go of files."""
        ...
