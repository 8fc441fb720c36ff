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

LAYER_PREFIXES = ("application/vnd.oci.image.layer.", "application/vnd.docker.image.rootfs.")
"""What the media types of image layers start with."""

MANIFEST_TYPES = (OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST)
"""The media types to accept."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest, or another small blob, byte for byte as the registry sent it.

    ``media_type`` is the Content-Type without parameters; ``digest`` is the verified digest of ``content``.
    """

    media_type: str
    digest: str
    content: bytes = field(repr=False)


def read_object(content: bytes, reference: Reference, what: str = "the manifest") -> dict[str, object]:
    """Read a JSON object of an image. Raises RegistryError (MALFORMED) for anything else."""
    try:
        value = decode_json(content)
    except ValueError as error:
        raise make_malformed_error(reference, f"{what} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise make_malformed_error(reference, f"{what} is not a JSON object")
    return value


def make_malformed_error(reference: Reference, detail: str) -> RegistryError:
    """Return an error for content that is not what it should be."""
    return RegistryError(RegistryReason.MALFORMED, detail, reference)


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
        """Return the manifest of a tag or digest, of any media type, verified against its digest."""
        ...

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        """Return a blob of the reference's repository, complete and verified; TOO_LARGE above ``limit`` bytes."""
        ...

    def stream(self, reference: Reference, descriptor: Descriptor) -> AsyncGenerator[bytes, None]:
        """Return a blob in chunks. WRONG_DIGEST is raised at the end: do not trust the content before that."""
        ...

    async def tags(self, reference: Reference) -> tuple[str, ...]:
        """Return the tags of the reference's repository, sorted."""
        ...


def compute_digest(content: bytes, like: str = "sha256:") -> str:
    """Return the digest of ``content``, with the algorithm that ``like`` starts with."""
    algorithm = like.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
