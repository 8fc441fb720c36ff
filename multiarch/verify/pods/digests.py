"""What an imageID's digest is the digest of, found by querying the registry for it.

A digest names the same content for ever, so the cache answers all later questions about it; tags are not requested.

containerd and CRI-O up to 1.27 report ``REPOSITORY@DIGEST``: what was pulled, which is an index's digest if a tag of
one was pulled. A config's digest, ``sha256:…``, is there if containerd has no name with a digest for the image (it was
imported or untagged), and always for image volumes. CRI-O from 1.28 on reports a config's digest without ``sha256:``.
Sources: ``ContainerStatus`` in
https://github.com/containerd/containerd/blob/main/internal/cri/server/container_status.go,
https://github.com/cri-o/cri-o/pull/7149
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from multiarch.images.inspect import CONFIG_LIMIT, inspect_image
from multiarch.images.model import ImageKind, escape_printable, read_platform
from multiarch.registry.decoding import decode_json
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import Descriptor, Registry
from multiarch.registry.operation import share_deadline
from multiarch.registry.reference import InvalidReferenceError, Reference, check_digest, parse_reference
from multiarch.threads import map_concurrently
from multiarch.verify.pods.model import DigestKind, RegistryDigest

_AT_ONCE = 128
"""Digests that are looked up at the same time. What goes to one registry at a time is the client's to bound."""
_BARE = re.compile(r"[0-9a-f]{64}")
_IMPORTED = re.compile(r"library/import-\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class ImageId:
    """A digest, and the repository under whose name the runtime has it: None if it only has the digest.

    ``imported``: the name is one that ``ctr images import`` makes, so no registry has it.
    """

    digest: str
    repository: Reference | None = None
    imported: bool = False


def parse_image_id(text: str) -> ImageId | str:
    """Read an imageID; what is wrong with it if it has no digest."""
    plain = f"sha256:{text}" if _BARE.fullmatch(text) else text
    if check_digest(plain) is None:
        return ImageId(plain)
    try:
        found = parse_reference(plain)
    except InvalidReferenceError as error:
        return f"imageID {escape_printable(text)} can't be read: {error.fault}"
    if found.digest is None:
        return f"imageID {escape_printable(text)} has no digest"
    if found.registry == "docker.io" and _IMPORTED.fullmatch(found.repository):
        return ImageId(found.digest, imported=True)
    return ImageId(found.digest, found)


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
) -> Mapping[Question, RegistryDigest]:
    """Query the registries for every distinct question once. What can't be told is a kind ``unknown`` with its reason.

    ``looked_up(done, all)`` is called after each, in this event loop.
    """
    return await map_concurrently(questions, lambda each: _looked_up(registry, each), _AT_ONCE, looked_up)


async def _looked_up(registry: Registry, question: Question) -> RegistryDigest:
    parsed = parse_image_id(question.image_id)
    if isinstance(parsed, str):
        return RegistryDigest(DigestKind.UNKNOWN, reason=parsed)
    places = _places(parsed, question.images)
    errors: list[RegistryError] = []
    for place in places:
        try:
            with share_deadline():
                # A repository's name with a digest is never a config's.
                if parsed.repository is None and not parsed.imported:
                    return await _config(registry, place)
                return await _manifest(registry, place)
        except RegistryError as error:
            errors.append(error)
    return _not_found(parsed, places, errors)


def _places(parsed: ImageId, images: Iterable[str]) -> tuple[Reference, ...]:
    """The repositories to query, each at the digest: that of the imageID, which a mirror or a second name may have."""
    found = [] if parsed.repository is None else [parsed.repository]
    for image in images:
        try:
            found.append(parse_reference(image))
        except InvalidReferenceError:
            continue
    return tuple(dict.fromkeys(each.at(parsed.digest) for each in found))


async def _manifest(registry: Registry, place: Reference) -> RegistryDigest:
    inspected = await inspect_image(registry, place)
    digest = inspected.digest
    if inspected.kind is ImageKind.INDEX:
        return RegistryDigest(DigestKind.INDEX, digest, inspected)
    if inspected.kind is not ImageKind.IMAGE or inspected.note:
        return RegistryDigest(DigestKind.UNKNOWN, digest, inspected, reason=inspected.note)
    entry = inspected.entries[0]
    return RegistryDigest(DigestKind.MANIFEST, digest, inspected, entry.platform, entry.note)


async def _config(registry: Registry, place: Reference) -> RegistryDigest:
    """Return a digest alone is a config's."""
    digest = place.digest or ""
    try:
        content = decode_json(await registry.blob(place, Descriptor("", digest, -1), limit=CONFIG_LIMIT))
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return RegistryDigest(DigestKind.UNKNOWN, digest, reason=f"{digest} is not a config")
    platform = read_platform(content)
    if not platform.architecture or platform.is_unknown:
        return RegistryDigest(DigestKind.CONFIG, digest, reason="its config has no architecture")
    return RegistryDigest(DigestKind.CONFIG, digest, platform=platform)


def _not_found(parsed: ImageId, places: tuple[Reference, ...], errors: list[RegistryError]) -> RegistryDigest:
    """Return why no registry could be queried, or none has the digest; of several errors the one that can be mended."""
    if not places:
        reason = (
            "imported from an archive" if parsed.imported else "its image has no valid name to query a registry for"
        )
        return RegistryDigest(DigestKind.UNKNOWN, parsed.digest, reason=reason)
    error = next((each for each in errors if each.reason is not RegistryReason.NOT_FOUND), None)
    if error is not None:
        text = f"{error.reason}: {error.detail}" if error.detail else str(error.reason)
        where = error.registry
        return RegistryDigest(
            DigestKind.UNKNOWN, parsed.digest, reason=f"{where}: {text}", settled_by=error.hint.rstrip(".")
        )
    names = " and ".join(each.name for each in places)
    have = "have" if len(places) > 1 else "has"
    if parsed.imported:
        why = "the image was imported from an archive"
    elif parsed.repository is None:
        why = "the image was imported or built on the node, or deleted from the registry"
    else:
        why = "the tag has moved since and the image was deleted, or it was imported"
    return RegistryDigest(DigestKind.UNKNOWN, parsed.digest, reason=f"{names} no longer {have} {parsed.digest}: {why}")
