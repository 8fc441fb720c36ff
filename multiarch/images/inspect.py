"""Read what a reference points at: an index with its entries, a single image, or something else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from multiarch.images.manifests import (
    IMAGE_CONFIGS,
    describe_artifact,
    identify_kind,
    list_objects,
    read_annotations,
    read_descriptor,
)
from multiarch.images.model import EntryKind, ImageKind, Inspected, Platform, PlatformEntry, read_platform
from multiarch.registry.errors import RegistryError
from multiarch.registry.model import Manifest, Registry, make_malformed_error, read_object
from multiarch.registry.reference import Reference, check_digest

__all__ = ["inspect_image"]

SECONDS = 60.0
"""The time limit of reading one image for a command that reads no other."""
DEEPEST = 4
"""Levels of nested indexes that are read. Builders make two at most."""
MOST_ENTRIES = 4096
"""Entries that are read of an index and those in it. The size limit of manifests allows more."""
_MARK = "vnd.docker.reference.type"
"""The annotation of attestations."""
CONFIG_LIMIT = 4 * 1024 * 1024
"""The most bytes of a config; containerd has this limit for manifests, and configs are smaller."""


async def inspect_image(registry: Registry, reference: Reference) -> Inspected:
    """Read a reference. Entries of an index that declare their platform need no request; others are read.

    Raises:
        RegistryError: the manifest, or a single image's config, can't be read or is malformed. What can't be read
            below an index is an entry of kind ``unreadable`` with the reason as its note.
    """
    return await inspect_manifest(registry, reference, await registry.manifest(reference))


async def inspect_manifest(registry: Registry, reference: Reference, manifest: Manifest) -> Inspected:
    """Read what a fetched manifest points at. Raises as :func:`inspect_image` does."""
    content = read_object(manifest.content, reference)
    kind, note = identify_kind(manifest.media_type, content)
    if kind is ImageKind.INDEX:
        entries = await _IndexReader(registry, reference).entries(content, depth=1)
    elif kind is ImageKind.IMAGE:
        platform, fault = await _config_platform(registry, reference, content)
        size = len(manifest.content)
        entries = (
            PlatformEntry(
                EntryKind.IMAGE, platform, manifest.digest, size, manifest.media_type, note=fault, declared=False
            ),
        )
    else:
        entries = ()
    return Inspected(
        reference,
        kind,
        manifest.media_type,
        manifest.digest,
        len(manifest.content),
        entries,
        read_annotations(content),
        note,
    )


async def fetch_config(registry: Registry, reference: Reference, content: Mapping[str, object]) -> dict[str, object]:
    """Fetch the config of an image's manifest. Raises RegistryError, MALFORMED if it is missing or not JSON."""
    descriptor = read_descriptor(content.get("config"))
    if descriptor is None:
        raise make_malformed_error(reference, "the manifest has no valid config")
    blob = await registry.blob(reference, descriptor, limit=CONFIG_LIMIT)
    return read_object(blob, reference, f"the config {descriptor.digest}")


async def _config_platform(
    registry: Registry, reference: Reference, content: Mapping[str, object]
) -> tuple[Platform | None, str]:
    """Return the platform in the config, or None and the reason."""
    platform = read_platform(await fetch_config(registry, reference, content))
    if platform.architecture and not platform.is_unknown:
        return platform, ""
    return None, "its config has no architecture"


@dataclass(slots=True)
class _IndexReader:
    """Reads one index; ``room`` is the number of entries that may still be read. The client bounds the requests."""

    registry: Registry
    reference: Reference
    room: int = field(default=MOST_ENTRIES)

    async def entries(self, content: Mapping[str, object], *, depth: int) -> tuple[PlatformEntry, ...]:
        """Return the entries of one index, in its order; those that must be read are read concurrently."""
        rows = list_objects(content.get("manifests"))
        kept = rows[: self.room]
        self.room -= len(kept)
        found = [_entry(row, at) for at, row in enumerate(kept)]
        behind = await asyncio.gather(*(self._read(entry, depth) for entry in found if entry.kind is EntryKind.INDEX))
        read = iter(behind)
        whole = [next(read) if entry.kind is EntryKind.INDEX else entry for entry in found]
        if len(rows) > len(found):
            note = f"the index has {len(rows)} entries; only the first {len(found)} are read"
            whole.append(PlatformEntry(EntryKind.UNREADABLE, None, "", 0, "", note=note))
        return tuple(whole)

    async def _read(self, entry: PlatformEntry, depth: int) -> PlatformEntry:
        """Fetch an entry's manifest and tell what it is. One that can't be read becomes ``unreadable``."""
        try:
            return await self._behind(entry, depth)
        except RegistryError as error:
            return replace(entry, kind=EntryKind.UNREADABLE, note=str(error))

    async def _behind(self, entry: PlatformEntry, depth: int) -> PlatformEntry:
        at = self.reference.at(entry.digest)
        content = read_object((await self.registry.manifest(at)).content, at)
        kind, note = identify_kind(entry.media_type, content)
        if kind is ImageKind.INDEX:
            if depth >= DEEPEST:
                note = f"more than {DEEPEST} levels of nested indexes"
                return replace(entry, kind=EntryKind.UNREADABLE, note=note)
            return replace(entry, children=await self.entries(content, depth=depth + 1))
        if kind is not ImageKind.IMAGE:
            if _MARK in entry.annotations:
                return replace(entry, kind=EntryKind.ATTESTATION)
            return replace(entry, kind=EntryKind.ARTIFACT, note=note)
        platform, fault = await _config_platform(self.registry, at, content)
        kind_found = EntryKind.UNREADABLE if platform is None else EntryKind.IMAGE
        return replace(entry, kind=kind_found, platform=platform, note=fault)


def _entry(row: Mapping[str, object], at: int) -> PlatformEntry:
    """Return one row of an index, as declared. Kind ``index`` means that its manifest must be read."""
    declared = row.get("platform")
    platform = read_platform(declared) if isinstance(declared, Mapping) else None
    descriptor = read_descriptor(row)
    annotations = read_annotations(row)
    if descriptor is None or check_digest(descriptor.digest):
        note = f"entry {at + 1} of the index has no valid mediaType, digest or size"
        return PlatformEntry(
            EntryKind.UNREADABLE, platform, "", 0, "", annotations, note, declared=platform is not None
        )
    kind, note = identify_kind(descriptor.media_type, {})
    artifact = row.get("artifactType")
    # Like containerd, without a look at annotations: a marked entry may have a platform, and then it is selected by it.
    if platform is not None and platform.is_unknown:
        found, note = EntryKind.ATTESTATION, ""
    elif isinstance(artifact, str) and artifact and artifact not in IMAGE_CONFIGS:
        found, note = EntryKind.ARTIFACT, describe_artifact(artifact)
    elif kind not in (ImageKind.IMAGE, ImageKind.INDEX):
        found = EntryKind.ARTIFACT
    else:
        found = EntryKind.IMAGE if kind is ImageKind.IMAGE and platform is not None else EntryKind.INDEX
    size, media_type = descriptor.size, descriptor.media_type
    return PlatformEntry(
        found, platform, descriptor.digest, size, media_type, annotations, note, declared=platform is not None
    )
