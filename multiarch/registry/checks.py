"""Checks of what a registry sends: blobs, manifests and lists of tags."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

import aiohttp

from multiarch.registry.answers import get_host, read_chunks
from multiarch.registry.decoding import decode_json
from multiarch.registry.errors import RegistryReason
from multiarch.registry.model import MANIFEST_TYPES, Descriptor, Manifest, compute_digest
from multiarch.registry.operation import ReadOperation
from multiarch.registry.reference import check_digest, is_tag

_SIGNED = "application/vnd.docker.distribution.manifest.v1+prettyjws"
"""Docker's schema 1 with signatures."""


async def read_blob(
    operation: ReadOperation, descriptor: Descriptor, response: aiohttp.ClientResponse
) -> AsyncGenerator[bytes, None]:
    """Yield a blob in chunks; its digest must be a valid one.

    Raises RegistryError: TOO_LARGE as soon as there are too many bytes, and at the end TRUNCATED or WRONG_DIGEST if
    this was not the blob.
    """
    algorithm, size = descriptor.digest.partition(":")[0], 0
    digest = hashlib.new(algorithm)
    async for chunk in read_chunks(operation, response):
        size += len(chunk)
        digest.update(chunk)
        if size > descriptor.size:
            detail = f"the response is longer than the blob's {descriptor.size} bytes"
            raise operation.error(RegistryReason.TOO_LARGE, detail)
        yield chunk
    if size < descriptor.size:
        raise operation.error(RegistryReason.TRUNCATED, f"received {size} of the blob's {descriptor.size} bytes")
    found = f"{algorithm}:{digest.hexdigest()}"
    if found != descriptor.digest:
        raise operation.error(RegistryReason.WRONG_DIGEST, f"the content's digest is {found}")


def check_manifest(operation: ReadOperation, response: aiohttp.ClientResponse, body: bytes) -> Manifest:
    """Return the manifest that was requested. Raises RegistryError (MALFORMED, WRONG_DIGEST)."""
    host = get_host(response.url)
    media_type = _media_type(response, body)
    if not body.lstrip()[:1] == b"{":
        raise operation.error(
            RegistryReason.MALFORMED, f"{host} sent {media_type or 'an unknown media type'} instead of a manifest"
        )
    expected = operation.reference.digest or response.headers.get("Docker-Content-Digest")
    if not expected:
        return Manifest(media_type, compute_digest(body), body)
    if (fault := check_digest(expected)) is not None:
        raise operation.error(RegistryReason.MALFORMED, f"the digest {expected!r}: {fault}")
    found = compute_digest(body, expected)
    if media_type == _SIGNED:
        return Manifest(media_type, found, body)  # its digest is that of a part of it; nothing but its type is read
    if found != expected:
        raise operation.error(RegistryReason.WRONG_DIGEST, f"{host} sent {found} for {expected}")
    return Manifest(media_type, expected, body)


def _media_type(response: aiohttp.ClientResponse, body: bytes) -> str:
    """Return the Content-Type; the manifest's own mediaType if the server sends a general type or none."""
    given = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    # Bytes of a header that are not UTF-8 become characters that no encoding can write.
    given = given.encode("ascii", errors="backslashreplace").decode()
    if given in MANIFEST_TYPES:
        return given
    try:
        content = decode_json(body)
    except ValueError:
        return given
    own = content.get("mediaType") if isinstance(content, dict) else None
    return own if isinstance(own, str) and own.isprintable() else given


def read_tag_names(operation: ReadOperation, body: bytes) -> set[str]:
    """Return the tags of one page, without those that no image reference can name. Raises RegistryError (MALFORMED)."""
    try:
        page = decode_json(body)
    except ValueError as error:
        raise operation.error(RegistryReason.MALFORMED, "the tag list is not JSON") from error
    tags = page.get("tags") or [] if isinstance(page, dict) else None
    if not isinstance(tags, list):
        raise operation.error(RegistryReason.MALFORMED, "the tag list is not a JSON object with a list of tags")
    return {tag for tag in tags if isinstance(tag, str) and is_tag(tag)}


def find_next_page(operation: ReadOperation, response: aiohttp.ClientResponse) -> str | None:
    """Return the path of the next page of tags below the repository, or None.

    Only the query of the Link header (RFC 8288) is used: the next page is on the same server.
    """
    malformed = operation.error(
        RegistryReason.MALFORMED, f"{get_host(response.url)} sent an invalid link to the next page of tags"
    )
    try:
        link = response.links.get("next")
        query = "" if link is None else urlsplit(str(link.get("url", ""))).query
    except ValueError as error:
        raise malformed from error
    if link is None:
        return None
    if not query or not query.isascii() or not query.isprintable() or " " in query:
        raise malformed
    return f"tags/list?{query}"
