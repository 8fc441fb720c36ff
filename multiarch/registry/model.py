"""What registries hold, and what the layers above ask of a client."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Protocol

from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import Reference

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
SCHEMA1 = "application/vnd.docker.distribution.manifest.v1+json"
SCHEMA1_SIGNED = "application/vnd.docker.distribution.manifest.v1+prettyjws"

MANIFEST_TYPES = (OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST, SCHEMA1_SIGNED, SCHEMA1)
"""The media types asked for. Schema 1 stands last: it is asked for only so that it can be named."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as the registry sent it, byte by byte.

    ``media_type`` is the answer's Content-Type without parameters; ``digest`` is that of ``content``, verified.
    ``source`` is what was asked for, for messages.
    """

    media_type: str
    digest: str
    content: bytes = field(repr=False)
    source: str = field(default="", compare=False)

    def json(self) -> dict[str, object]:
        """The content as a JSON object.

        Raises:
            RegistryError: MALFORMED, when it is none.
        """
        try:
            value = json.loads(self.content)
            # An escaped half of a surrogate pair is valid JSON that nothing can print.
            json.dumps(value, ensure_ascii=False).encode()
        except RecursionError as error:
            raise self._malformed("the manifest is nested too deeply") from error
        except ValueError as error:
            raise self._malformed(f"the manifest is no JSON ({error})") from error
        if not isinstance(value, dict):
            raise self._malformed("the manifest is no JSON object")
        return value

    def _malformed(self, detail: str) -> RegistryError:
        reference = self.source or self.digest
        registry = self.source.partition("/")[0]
        return RegistryError(RegistryReason.MALFORMED, detail, registry=registry, reference=reference)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A pointer to content: its media type, its digest, its size in bytes.

    Source: https://github.com/opencontainers/image-spec/blob/main/descriptor.md
    """

    media_type: str
    digest: str
    size: int


class Registry(Protocol):
    """What can be fetched. All of it raises RegistryError, and nothing else, when it can't be had."""

    async def manifest(self, reference: Reference) -> Manifest:
        """The manifest that a tag or digest names, of whatever kind, verified against its digest."""
        ...

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        """A blob of the reference's repository, whole and verified; TOO_LARGE above ``limit`` bytes."""
        ...

    def stream(self, reference: Reference, descriptor: Descriptor) -> AsyncGenerator[bytes, None]:
        """A blob in pieces, nothing kept. WRONG_DIGEST is raised at the end: trust nothing before it."""
        ...

    async def tags(self, reference: Reference) -> tuple[str, ...]:
        """The tags of the reference's repository, sorted."""
        ...
