"""What an image is, in values: its platforms, the entries of its index, and the verdict per architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture, image_platform
from multiarch.registry.reference import Reference

__all__ = ["Entry", "EntryKind", "ImageKind", "Inspected", "Judgement", "Platform", "Verdict", "parse_platform"]

LINUX = "linux"
_OTHER_SYSTEMS: Mapping[str, str] = {"macos": "darwin"}


def printable(text: str, limit: int = 200) -> str:
    """A text that somebody else wrote, for a terminal: other than printable characters escaped, cut if long."""
    shown = text if len(text) <= limit else f"{text[:limit]}…"
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)


class Verdict(StrEnum):
    """Whether an image runs on an architecture's nodes, as far as it can be told."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


class ImageKind(StrEnum):
    """What a reference leads to."""

    INDEX = "index"
    IMAGE = "image"
    ARTIFACT = "artifact"
    SCHEMA1 = "schema1"
    UNRECOGNISED = "unrecognised"


class EntryKind(StrEnum):
    """What an entry of an index is. ``UNREADABLE`` is one that had to be read and could not be: its note says why."""

    IMAGE = "image"
    INDEX = "index"
    ATTESTATION = "attestation"
    ARTIFACT = "artifact"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Platform:
    """Operating system, architecture and variant, each in one spelling; ``raw`` keeps how it was written.

    ``arm64`` has no variant ``v8`` and ``amd64`` none ``v1``, because they mean nothing more; 32-bit ``arm`` always
    has one. Empty texts are what was not said. Make one with :func:`platform_of` or :func:`parse_platform`.
    """

    os: str
    architecture: str
    variant: str = ""
    os_version: str = ""
    raw: str = field(default="", compare=False)

    def __str__(self) -> str:
        """``linux/arm64``, ``linux/arm/v7``, ``windows/amd64``; a part that was not said is ``?``."""
        parts = [self.os or "?", self.architecture or "?", *([self.variant] if self.variant else [])]
        return "/".join(parts)

    @property
    def is_unknown(self) -> bool:
        """Whether it says ``unknown``, as attestations do: a mark, not a platform."""
        return "unknown" in (self.os, self.architecture)

    def runs_on(self, architecture: Architecture) -> bool:
        """Whether every Linux node of ``architecture`` is meant. Without an ``os``, the node's own is."""
        return self.os in (LINUX, "") and self.architecture == architecture.value and not self.variant

    def needs_more_than(self, architecture: Architecture) -> bool:
        """Whether it is ``architecture``'s, but for processors with more than its base: ``amd64/v3``, ``arm64/v9``."""
        return self.os in (LINUX, "") and self.architecture == architecture.value and bool(self.variant)


def platform_of(content: Mapping[str, object]) -> Platform:
    """Read a platform as descriptors and image configs have it: ``os``, ``architecture``, ``variant``, ``os.version``.

    What is no text counts as not said. The spellings that mean the same are those that containerd takes for the same:
    https://github.com/containerd/platforms/blob/main/database.go
    """
    system, name, variant, version = (
        printable(value) if isinstance(value := content.get(key), str) else ""
        for key in ("os", "architecture", "variant", "os.version")
    )
    raw = "/".join(part for part in (system, name, variant) if part)
    name, variant = image_platform(name, variant)
    system = system.lower()
    return Platform(_OTHER_SYSTEMS.get(system, system), name, variant, version, raw)


def parse_platform(text: str) -> Platform:
    """Read ``OS/ARCHITECTURE`` or ``OS/ARCHITECTURE/VARIANT``, or the architecture alone, which is then Linux's.

    Raises MultiarchError for anything else.
    """
    parts = text.split("/")
    if len(parts) == 1:
        parts = [LINUX, *parts]
    if len(parts) not in (2, 3) or not all(part and part.isprintable() and " " not in part for part in parts):
        raise MultiarchError(f"{text!r} is no platform.", hint="Write linux/arm64 or linux/amd64.")
    return platform_of(dict(zip(("os", "architecture", "variant"), parts, strict=False)))


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an index, or the manifest itself where there is no index.

    ``platform`` is what the entry declares (``declared``), or else what the config of its manifest says; ``None``
    where neither says one. ``size`` is the manifest's, in bytes. ``children`` are a nested index's own entries.
    ``note`` says in words what is particular.
    """

    kind: EntryKind
    platform: Platform | None
    digest: str
    size: int
    media_type: str
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    note: str = ""
    declared: bool = True
    children: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a reference leads to. ``size`` is the manifest's or index's own, in bytes; ``note`` as with entries.

    An image without an index has one entry, itself; what is not an image or index has none.
    """

    reference: Reference
    kind: ImageKind
    media_type: str
    digest: str
    size: int
    entries: tuple[Entry, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict for one architecture, why, and the digest of the manifest that its nodes run, if one is known."""

    architecture: Architecture
    verdict: Verdict
    reason: str
    digest: str | None
