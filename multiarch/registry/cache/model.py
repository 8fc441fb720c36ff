"""What caches store, and their interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Content:
    """A manifest or a small blob, verified against ``digest``."""

    media_type: str
    digest: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Pointer:
    """The digest that a tag pointed at when it was last checked; ``checked`` is Unix time."""

    digest: str
    checked: float


class Cache(Protocol):
    """A cache; ``name`` is ``registry/repository``.

    Content is stored per repository: access to one repository does not imply access to another. No method raises:
    what can't be stored is fetched again.
    """

    def content(self, name: str, digest: str) -> Content | None:
        """The content with this digest, or None."""
        ...

    def keep(self, name: str, content: Content) -> None:
        """Store verified content."""
        ...

    def pointer(self, name: str, tag: str) -> Pointer | None:
        """The digest that a tag pointed at, or None."""
        ...

    def point(self, name: str, tag: str, digest: str) -> None:
        """Store the digest that the registry just gave for a tag."""
        ...

    def forget(self, name: str, tag: str) -> None:
        """Remove a tag: the registry says that it does not exist."""
        ...

    def close(self) -> None:
        """Close files."""
        ...
