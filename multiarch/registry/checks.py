"""What a registry sends is believed only after these checks."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import aiohttp

from multiarch.registry.cache.model import Content
from multiarch.registry.digests import Verifier, digest_of, signed_part
from multiarch.registry.errors import RegistryReason
from multiarch.registry.failures import host_of
from multiarch.registry.model import MANIFEST_TYPES, Descriptor
from multiarch.registry.reference import Reference, digest_fault
from multiarch.registry.transport import Errand


class BlobCheck:
    """Follows a blob piece by piece: its size at once, its digest at the end."""

    def __init__(self, check: Verifier, size: int) -> None:
        """``size`` in bytes, as the descriptor has it."""
        self._check = check
        self._size = size

    def announced(self, errand: Errand, response: aiohttp.ClientResponse) -> None:
        """Raise TOO_LARGE or WRONG_DIGEST if the answer's length is another one already."""
        length = response.content_length
        if length is None or length == self._size:
            return
        detail = f"{host_of(response.url)} announces {length} bytes of a blob that has {self._size}"
        raise errand.error(RegistryReason.TOO_LARGE if length > self._size else RegistryReason.WRONG_DIGEST, detail)

    def take(self, errand: Errand, piece: bytes) -> None:
        """Take a piece; raise TOO_LARGE as soon as there are too many bytes."""
        self._check.update(piece)
        if self._check.size > self._size:
            raise errand.error(RegistryReason.TOO_LARGE, f"more comes than the blob's {self._size} bytes")

    def done(self, errand: Errand) -> None:
        """Raise TRUNCATED or WRONG_DIGEST if that was not the blob."""
        if self._check.size < self._size:
            detail = f"{self._check.size} of the blob's {self._size} bytes came"
            raise errand.error(RegistryReason.TRUNCATED, detail)
        if not self._check.holds:
            raise errand.error(RegistryReason.WRONG_DIGEST, f"what comes is {self._check.found}")


def verifier(errand: Errand, descriptor: Descriptor) -> BlobCheck:
    """A check of a blob. Raises MALFORMED if the descriptor itself is wrong."""
    try:
        check = Verifier(descriptor.digest)
    except ValueError as error:
        raise errand.error(RegistryReason.MALFORMED, f"{descriptor.digest!r}: {error}") from error
    if descriptor.size < 0:
        raise errand.error(RegistryReason.MALFORMED, f"the blob's size is {descriptor.size}")
    return BlobCheck(check, descriptor.size)


def checked_manifest(errand: Errand, reference: Reference, response: aiohttp.ClientResponse, body: bytes) -> Content:
    """A manifest that is what was asked for. Raises MALFORMED or WRONG_DIGEST."""
    host = host_of(response.url)
    media_type = _media_type(response, body)
    if not body.lstrip()[:1] == b"{":
        raise errand.error(RegistryReason.MALFORMED, f"{host} sends no manifest but {media_type or 'something'}")
    promised = reference.digest or response.headers.get("Docker-Content-Digest")
    signed = signed_part(media_type, body)
    if not promised:
        return Content(media_type, digest_of(signed), body)
    if (fault := digest_fault(promised)) is not None:
        raise errand.error(RegistryReason.MALFORMED, f"the digest {promised!r}: {fault}")
    found = digest_of(signed, promised)
    if found != promised:
        raise errand.error(RegistryReason.WRONG_DIGEST, f"{host} sends {found} as {promised}")
    return Content(media_type, promised, body)


def _media_type(response: aiohttp.ClientResponse, body: bytes) -> str:
    """The Content-Type; if a server only says that it is JSON, or nothing, what the manifest says of itself."""
    given = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if given in MANIFEST_TYPES:
        return given
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return given
    said = content.get("mediaType") if isinstance(content, dict) else None
    return said if isinstance(said, str) and said.isprintable() else given


def tag_names(errand: Errand, body: bytes) -> set[str]:
    """The tags of one page. Raises MALFORMED."""
    try:
        page = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errand.error(RegistryReason.MALFORMED, "the list of tags is no JSON") from error
    tags = page.get("tags") if isinstance(page, dict) else None
    if not isinstance(page, dict) or not (tags is None or isinstance(tags, list)):
        raise errand.error(RegistryReason.MALFORMED, "the list of tags is none")
    for tag in tags or []:
        if not isinstance(tag, str) or not tag.isprintable():
            raise errand.error(RegistryReason.MALFORMED, f"the list of tags holds {tag!r}")
    return set(tags or [])


def next_page(errand: Errand, response: aiohttp.ClientResponse) -> str | None:
    """The path of the next page of tags below the repository, or None.

    Only what comes after ``?`` is taken from the Link header (RFC 8288): the page is the same server's.
    """
    link = response.links.get("next")
    if link is None:
        return None
    url = str(link.get("url", ""))
    query = urlsplit(url).query
    if not query or not query.isascii() or not query.isprintable() or " " in query:
        raise errand.error(RegistryReason.MALFORMED, f"{host_of(response.url)} links to no next page of tags")
    return f"tags/list?{query}"
