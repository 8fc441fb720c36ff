"""Digests of content."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Protocol

from multiarch.registry.decoding import decode_json
from multiarch.registry.model import SCHEMA1_SIGNED


class Hash(Protocol):
    """A hash object of hashlib."""

    def update(self, content: bytes, /) -> None:
        """Add content."""

    def hexdigest(self) -> str:
        """The digest as hexadecimal digits."""
        ...


NEW_HASH: dict[str, Callable[[], Hash]] = {"sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}
"""Makes a hash object, by the algorithm's name in digests."""


def digest_of(content: bytes, like: str = "sha256:") -> str:
    """The digest of ``content``, with the algorithm that ``like`` starts with."""
    algorithm = like.partition(":")[0]
    made = NEW_HASH[algorithm]()
    made.update(content)
    return f"{algorithm}:{made.hexdigest()}"


def signed_part(media_type: str, content: bytes) -> bytes:
    """The bytes that a manifest's digest covers: all of them, or the payload of a signed schema 1 manifest.

    Source: https://github.com/distribution/distribution/blob/v2.8.3/docs/spec/manifest-v2-1.md (signed manifests)
    """
    if media_type != SCHEMA1_SIGNED:
        return content
    try:
        protected = decode_json(_from_url64(decode_json(content)["signatures"][0]["protected"]))
        length, tail = protected["formatLength"], _from_url64(protected["formatTail"])
    except (ValueError, KeyError, IndexError, TypeError):
        return content
    return content[:length] + tail if isinstance(length, int) and 0 <= length <= len(content) else content


def _from_url64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
