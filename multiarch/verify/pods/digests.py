"""What an imageID's digest is the digest of, found by querying the registry for it.

A digest names the same content for ever, so the cache answers all later questions about it; tags are not requested.

containerd reports ``REPOSITORY@DIGEST``: what was pulled, which is an index's digest if a tag of one was pulled. Only
for an image that was imported or lost its name it reports a digest alone, the config's, which is not looked up.
Source: https://github.com/containerd/containerd/blob/main/internal/cri/server/container_status.go (ContainerStatus)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from multiarch.images.inspect import inspect_image
from multiarch.images.model import ImageKind, escape_printable
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import Registry
from multiarch.registry.operation import share_deadline
from multiarch.registry.reference import InvalidReferenceError, Reference, check_digest, parse_reference
from multiarch.threads import map_concurrently
from multiarch.verify.pods.model import DigestKind, RegistryDigest

_AT_ONCE = 128
"""Digests that are looked up at the same time. What goes to one registry at a time is the client's to bound."""


def parse_image_id(text: str) -> Reference | str:
    """Read an imageID; why it names nothing in a registry if it does not."""
    if check_digest(text) is None:
        return "its node has no name for the image: it was imported or built there"
    try:
        found = parse_reference(text)
    except InvalidReferenceError as error:
        return f"imageID {escape_printable(text)} can't be read: {error.fault}"
    return found if found.digest else f"imageID {escape_printable(text)} has no digest"


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
                return await _manifest(registry, place)
        except RegistryError as error:
            errors.append(error)
    return _not_found(places, errors)


def _places(image_id: Reference, images: Iterable[str]) -> tuple[Reference, ...]:
    """The repositories to query, each at the digest: that of the imageID, which a mirror or a second name may have."""
    found = [image_id]
    for image in images:
        try:
            found.append(parse_reference(image))
        except InvalidReferenceError:
            continue
    return tuple(dict.fromkeys(each.at(image_id.digest or "") for each in found))


async def _manifest(registry: Registry, place: Reference) -> RegistryDigest:
    inspected = await inspect_image(registry, place)
    digest = inspected.digest
    if inspected.kind is ImageKind.INDEX:
        return RegistryDigest(DigestKind.INDEX, digest, inspected)
    if inspected.kind is not ImageKind.IMAGE or inspected.note:
        return RegistryDigest(DigestKind.UNKNOWN, digest, inspected, reason=inspected.note)
    entry = inspected.entries[0]
    return RegistryDigest(DigestKind.MANIFEST, digest, inspected, entry.platform, entry.note)


def _not_found(places: tuple[Reference, ...], errors: list[RegistryError]) -> RegistryDigest:
    """Return why no registry has the digest; of several errors the one that can be mended."""
    digest = places[0].digest or ""
    error = next((each for each in errors if each.reason is not RegistryReason.NOT_FOUND), None)
    if error is not None:
        text = f"{error.reason}: {error.detail}" if error.detail else str(error.reason)
        reason = f"{error.reference.registry}: {text}"
        return RegistryDigest(DigestKind.UNKNOWN, digest, reason=reason, settled_by=error.hint.rstrip("."))
    names = " and ".join(each.name for each in places)
    have = "have" if len(places) > 1 else "has"
    why = "the tag has moved since and the image was deleted, or it was imported"
    return RegistryDigest(DigestKind.UNKNOWN, digest, reason=f"{names} no longer {have} {digest}: {why}")
