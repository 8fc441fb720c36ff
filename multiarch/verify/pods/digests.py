"""What an imageID's digest is the digest of, found by asking the registry for it.

A digest names the same content for ever, so the cache answers all later questions about it; tags are not asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from multiarch.images.inspect import CONFIG_LIMIT, inspect
from multiarch.images.model import ImageKind, platform_of
from multiarch.registry.decoding import decode_json
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import Descriptor, Registry
from multiarch.registry.operation import one_image
from multiarch.registry.reference import InvalidReferenceError, Reference, parse_reference
from multiarch.verify.pods.image_id import ImageId, parse_image_id
from multiarch.verify.pods.model import Digest, DigestKind

_AT_ONCE = 128
"""Digests that are looked up at the same time. What goes to one registry at a time is the client's to bound."""
_NOT_CONFIGS = ("manifests", "layers", "fsLayers")


@dataclass(frozen=True, slots=True)
class Question:
    """An imageID, and the names of its image: as the pod's spec and as its status have it."""

    image_id: str
    images: tuple[str, ...]


async def look_up(
    registry: Registry,
    questions: Iterable[Question],
    *,
    looked_up: Callable[[int, int], None] = lambda _done, _all: None,
) -> Mapping[Question, Digest]:
    """Ask the registries for every distinct question once. What can't be told is a kind ``unknown`` with its reason.

    ``looked_up(done, all)`` is called after each, in this event loop.
    """
    distinct = list(dict.fromkeys(questions))
    found: dict[Question, Digest] = {}
    waiting = iter(distinct)

    async def work() -> None:
        for each in waiting:
            found[each] = await _looked_up(registry, each)
            looked_up(len(found), len(distinct))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(_AT_ONCE, len(distinct))):
            group.create_task(work())
    return found


async def _looked_up(registry: Registry, question: Question) -> Digest:
    parsed = parse_image_id(question.image_id)
    if isinstance(parsed, str):
        return Digest(DigestKind.UNKNOWN, reason=parsed)
    places = _places(parsed, question.images)
    errors: list[RegistryError] = []
    for place in places:
        try:
            with one_image():
                # A repository's name with a digest is never a config's.
                if parsed.repository is None and not parsed.imported:
                    return await _config_or_manifest(registry, place)
                return await _manifest(registry, place)
        except RegistryError as error:
            errors.append(error)
    return _not_found(parsed, places, errors)


def _places(parsed: ImageId, images: Iterable[str]) -> tuple[Reference, ...]:
    """The repositories to ask, each at the digest: that of the imageID, which a mirror or a second name may have."""
    found = [] if parsed.repository is None else [parsed.repository]
    for image in images:
        try:
            found.append(parse_reference(image))
        except InvalidReferenceError:
            continue
    return tuple(dict.fromkeys(each.at(parsed.digest) for each in found))


async def _manifest(registry: Registry, place: Reference) -> Digest:
    inspected = await inspect(registry, place)
    digest = inspected.digest
    if inspected.kind is ImageKind.INDEX:
        return Digest(DigestKind.INDEX, digest, inspected)
    if inspected.kind is not ImageKind.IMAGE or inspected.note:
        return Digest(DigestKind.UNKNOWN, digest, inspected, reason=inspected.note)
    entry = inspected.entries[0]
    return Digest(DigestKind.MANIFEST, digest, inspected, entry.platform, entry.note)


async def _config_or_manifest(registry: Registry, place: Reference) -> Digest:
    """A digest alone is a config's, except with Docker's containerd image store."""
    try:
        blob = await registry.blob(place, Descriptor("", place.digest or "", -1), limit=CONFIG_LIMIT)
    except RegistryError as error:
        if error.reason is not RegistryReason.NOT_FOUND:
            raise
        return await _manifest(registry, place)
    try:
        content = decode_json(blob)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return Digest(
            DigestKind.UNKNOWN, place.digest or "", reason=f"{place.digest} is neither a config nor a manifest"
        )
    if any(content.get(key) is not None for key in _NOT_CONFIGS):
        return await _manifest(registry, place)
    platform = platform_of(content)
    if not platform.architecture or platform.is_unknown:
        return Digest(DigestKind.CONFIG, place.digest or "", reason="its config has no architecture")
    return Digest(DigestKind.CONFIG, place.digest or "", platform=platform)


def _not_found(parsed: ImageId, places: tuple[Reference, ...], errors: list[RegistryError]) -> Digest:
    """Why no registry could be asked, or none has the digest; of several errors the one that can be mended."""
    if not places:
        reason = "imported from an archive" if parsed.imported else "its image has no valid name to ask a registry for"
        return Digest(DigestKind.UNKNOWN, parsed.digest, reason=reason)
    error = next((each for each in errors if each.reason is not RegistryReason.NOT_FOUND), None)
    if error is not None:
        text = f"{error.reason}: {error.detail}" if error.detail else str(error.reason)
        where = error.registry
        return Digest(DigestKind.UNKNOWN, parsed.digest, reason=f"{where}: {text}", settled_by=error.hint.rstrip("."))
    names = " and ".join(each.name for each in places)
    have = "have" if len(places) > 1 else "has"
    if parsed.imported:
        why = "the image was imported from an archive"
    elif parsed.repository is None:
        why = "the image was imported or built on the node, or deleted from the registry"
    else:
        why = "the tag has moved since and the image was deleted, or it was imported"
    return Digest(DigestKind.UNKNOWN, parsed.digest, reason=f"{names} no longer {have} {parsed.digest}: {why}")
