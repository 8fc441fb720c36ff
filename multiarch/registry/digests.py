"""Checking content against its digest."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Protocol

from multiarch.registry.model import SCHEMA1_SIGNED
from multiarch.registry.reference import digest_fault


class Hash(Protocol):
    """A hash that is being made."""

    def update(self, content: bytes, /) -> None:
        """Take more content."""

    def hexdigest(self) -> str:
        """The digest of what it took, in hexadecimal digits."""
        ...


_NEW: dict[str, Callable[[], Hash]] = {"sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}


class Verifier:
    """Takes content in pieces, and says whether it is what the digest promised."""

    def __init__(self, digest: str) -> None:
        """Raise ValueError, in words, if ``digest`` is none."""
        fault = digest_fault(digest)
        if fault is not None:
            raise ValueError(fault)
        self.size = 0
        self._algorithm, _, self._promised = digest.partition(":")
        self._hash = _NEW[self._algorithm]()

    def update(self, content: bytes) -> None:
        """Take more."""
        self.size += len(content)
        self._hash.update(content)

    @property
    def found(self) -> str:
        """The digest of what was taken so far."""
        return f"{self._algorithm}:{self._hash.hexdigest()}"

    @property
    def holds(self) -> bool:
        """Whether it is the promised one."""
        return self._hash.hexdigest() == self._promised


def digest_of(content: bytes, like: str = "sha256:") -> str:
    """The digest of ``content``, by the algorithm that ``like`` begins with."""
    algorithm = like.partition(":")[0]
    made = _NEW[algorithm]()
    made.update(content)
    return f"{algorithm}:{made.hexdigest()}"


def signed_part(media_type: str, content: bytes) -> bytes:
    """What a manifest's digest is made of: all of it, but of a signed schema 1 manifest its payload alone.

    Source: https://github.com/distribution/distribution/blob/v2.8.3/docs/spec/manifest-v2-1.md (signed manifests)
    """
    if media_type != SCHEMA1_SIGNED:
        return content
    try:
        protected = json.loads(_from_url64(json.loads(content)["signatures"][0]["protected"]))
        length, tail = protected["formatLength"], _from_url64(protected["formatTail"])
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return content
    return content[:length] + tail if isinstance(length, int) and 0 <= length <= len(content) else content


def _from_url64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
