"""Manifests, descriptors and digests, and the interface of the client."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Protocol

from multiarch.registry.decoding import decode_json
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import Reference

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
SCHEMA1 = "application/vnd.docker.distribution.manifest.v1+json"
SCHEMA1_SIGNED = "application/vnd.docker.distribution.manifest.v1+prettyjws"

LAYER_PREFIXES = ("application/vnd.oci.image.layer.", "application/vnd.docker.image.rootfs.")
"""What the media types of image layers start with."""

MANIFEST_TYPES = (OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST, SCHEMA1_SIGNED, SCHEMA1)
"""The media types to accept. Schema 1 is only accepted so that it can be reported; its digest is not verified."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest, byte for byte as the registry sent it.

    ``media_type`` is the Content-Type without parameters; ``digest`` is the verified digest of ``content``.
    ``source`` is what was requested, for messages.
    """

    media_type: str
    digest: str
    content: bytes = field(repr=False)
    source: str = field(default="", compare=False)

    def json(self) -> dict[str, object]:
        """The content as a JSON object.

        Raises:
            RegistryError: MALFORMED, if it is not a JSON object.
        """
        try:
            value = decode_json(self.content)
        except ValueError as error:
            raise self._malformed(f"the manifest is not JSON ({error})") from error
        if not isinstance(value, dict):
            raise self._malformed("the manifest is not a JSON object")
        return value

    def _malformed(self, detail: str) -> RegistryError:
        reference = self.source or self.digest
        registry = self.source.partition("/")[0]
        return RegistryError(RegistryReason.MALFORMED, detail, registry=registry, reference=reference)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Refers to content: media type, digest, size in bytes.

    Source: https://github.com/opencontainers/image-spec/blob/main/descriptor.md
    """

    media_type: str
    digest: str
    size: int


class Registry(Protocol):
    """What can be fetched. Every method raises RegistryError, and nothing else, on failure."""

    async def manifest(self, reference: Reference) -> Manifest:
        """The manifest of a tag or digest, of any media type, verified against its digest."""
        ...

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        """A blob of the reference's repository, complete and verified; TOO_LARGE above ``limit`` bytes."""
        ...

    async def blob_of_digest(self, reference: Reference, *, limit: int) -> bytes:
        """The blob of the reference's digest, whose size is not known; otherwise as :meth:`blob`."""
        ...

    def stream(self, reference: Reference, descriptor: Descriptor) -> AsyncGenerator[bytes, None]:
        """A blob in chunks. WRONG_DIGEST is raised at the end: do not trust the content before that."""
        ...

    async def tags(self, reference: Reference) -> tuple[str, ...]:
        """The tags of the reference's repository, sorted."""
        ...


def digest_of(content: bytes, like: str = "sha256:") -> str:
    """Return the digest of ``content``, with the algorithm that ``like`` starts with."""
    algorithm = like.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
