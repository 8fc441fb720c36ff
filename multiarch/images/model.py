"""Platforms, entries of an index, and the verdict per architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from multiarch.errors import MultiarchError
from multiarch.escaping import escape_terminal
from multiarch.facts.architectures import Architecture, normalise_platform
from multiarch.registry.reference import Reference

__all__ = ["EntryKind", "ImageKind", "Inspected", "Judgement", "Platform", "PlatformEntry", "Verdict", "parse_platform"]

LINUX = "linux"
_OTHER_SYSTEMS: Mapping[str, str] = {"macos": "darwin"}


def escape_printable(text: str, limit: int = 200) -> str:
    """Return text from outside, safe for a terminal: unprintable characters escaped, cut if long."""
    return escape_terminal(text if len(text) <= limit else f"{text[:limit]}…")


class Verdict(StrEnum):
    """Whether an image runs on an architecture's nodes."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


class ImageKind(StrEnum):
    """What a reference points at."""

    INDEX = "index"
    IMAGE = "image"
    ARTIFACT = "artifact"
    UNRECOGNISED = "unrecognised"


class EntryKind(StrEnum):
    """What an entry of an index is. ``UNREADABLE``: its manifest could not be read; its note says why."""

    IMAGE = "image"
    INDEX = "index"
    ATTESTATION = "attestation"
    ARTIFACT = "artifact"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Platform:
    """Operating system, architecture and variant, normalised; ``raw`` keeps the original.

    ``arm64`` has no variant ``v8`` and ``amd64`` no ``v1``, because these are the defaults; 32-bit ``arm`` always has
    one. Unset parts are empty. ``os_features``, sorted, are what a node must have besides. Make one with
    :func:`read_platform` or :func:`parse_platform`.
    """

    os: str
    architecture: str
    variant: str = ""
    os_version: str = ""
    raw: str = field(default="", compare=False)
    os_features: tuple[str, ...] = ()

    def __str__(self) -> str:
        """``linux/arm64``, ``linux/arm/v7``, ``linux(+erofs)/amd64``; an unset part is ``?``."""
        return f"{self.base}/{self.variant}" if self.variant else self.base

    @property
    def base(self) -> str:
        """The text without the variant."""
        features = f"(+{'+'.join(self.os_features)})" if self.os_features else ""
        return f"{self.os or '?'}{features}/{self.architecture or '?'}"

    @property
    def is_unknown(self) -> bool:
        """Whether it is ``unknown``, the marker of attestations."""
        return "unknown" in (self.os, self.architecture)

    def runs_on(self, architecture: Architecture) -> bool:
        """Return whether every Linux node of ``architecture`` can run it. Without an ``os``, the node's own counts."""
        return self._is_for(architecture) and not self.variant and not self.os_features

    def needs_more_than(self, architecture: Architecture) -> bool:
        """Return whether it needs more than the base of ``architecture``: ``amd64/v3``, ``linux(+erofs)/arm64``."""
        return self._is_for(architecture) and bool(self.variant or self.os_features)

    def _is_for(self, architecture: Architecture) -> bool:
        return self.os in (LINUX, "") and self.architecture == architecture.value


def read_platform(content: Mapping[str, object]) -> Platform:
    """Read a platform as descriptors and image configs have it.

    Keys: ``os``, ``architecture``, ``variant``, ``os.version``, ``os.features``. Values that are not strings count as
    unset. Names are normalised as in containerd:
    https://github.com/containerd/platforms/blob/main/database.go
    """
    system, name, variant, version = (
        escape_printable(value) if isinstance(value := content.get(key), str) else ""
        for key in ("os", "architecture", "variant", "os.version")
    )
    raw = "/".join(part for part in (system, name, variant) if part)
    name, variant = normalise_platform(name, variant)
    system = system.lower()
    listed = content.get("os.features")
    features = (
        {escape_printable(each) for each in listed if isinstance(each, str)} if isinstance(listed, list) else set()
    )
    return Platform(_OTHER_SYSTEMS.get(system, system), name, variant, version, raw, tuple(sorted(features)))


def parse_platform(text: str) -> Platform:
    """Parse ``OS/ARCHITECTURE``, ``OS/ARCHITECTURE/VARIANT`` or ``ARCHITECTURE`` (with Linux).

    Raises MultiarchError for anything else.
    """
    parts = text.split("/")
    if len(parts) == 1:
        parts = [LINUX, *parts]
    if len(parts) not in (2, 3) or not all(part and part.isprintable() and " " not in part for part in parts):
        raise MultiarchError(f"Invalid platform {text!r}.", hint="Write linux/arm64 or linux/amd64.")
    return read_platform(dict(zip(("os", "architecture", "variant"), parts, strict=False)))


@dataclass(frozen=True, slots=True)
class PlatformEntry:
    """One entry of an index, or the manifest itself if there is no index.

    ``platform`` is what the entry declares (``declared``), or else what the config of its manifest says; None if
    neither does. ``size`` is the manifest's, in bytes. ``children`` are a nested index's own entries. ``note`` is an
    explanation.
    """

    kind: EntryKind
    platform: Platform | None
    digest: str
    size: int
    media_type: str
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    note: str = ""
    declared: bool = True
    children: tuple[PlatformEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a reference points at. ``size`` is the manifest's or index's own, in bytes.

    ``note`` says why nothing runs it.

    An image without an index has one entry, itself; an artifact has none.
    """

    reference: Reference
    kind: ImageKind
    media_type: str
    digest: str
    size: int
    entries: tuple[PlatformEntry, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict for one architecture, its reason, and the digest of the manifest that its nodes run, if known."""

    architecture: Architecture
    verdict: Verdict
    reason: str
    digest: str | None
