"""A registry in memory, for what no real one would take: any bytes as manifest, config or layer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field

from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST, Descriptor, Manifest, compute_digest
from multiarch.registry.reference import Reference, parse_reference
from tests.images.shapes import OCI_CONFIG, OCI_LAYER, described, platform

REFERENCE = parse_reference("example.com/team/image:1")
_PIECE = 128 * 1024


@dataclass(slots=True)
class Held:
    """What is pushed here is there by its digest; ``top`` is behind every tag. Nothing is checked."""

    contents: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    top: str = ""

    def push(self, content: bytes, media_type: str) -> dict[str, object]:
        """Add content, and return its descriptor as JSON has it."""
        digest = compute_digest(content)
        self.contents[digest] = media_type, content
        self.top = digest
        return described(Descriptor(media_type, digest, len(content)))

    def image(self, config: Mapping[str, object] | bytes, *layers: bytes, **more: object) -> dict[str, object]:
        """Add an image, and return its descriptor. ``more`` goes into the manifest."""
        body = config if isinstance(config, bytes) else json.dumps(config).encode()
        rows = [self.push(layer, OCI_LAYER) for layer in layers]
        manifest = {"schemaVersion": 2, "config": self.push(body, OCI_CONFIG), "layers": rows, **more}
        return self.push(json.dumps(manifest).encode(), OCI_MANIFEST)

    def index(self, entries: Sequence[object], **more: object) -> dict[str, object]:
        """Add an index, and return its descriptor."""
        return self.push(json.dumps({"schemaVersion": 2, "manifests": entries, **more}).encode(), OCI_INDEX)

    def starting(self, *layers: bytes, **config: object) -> None:
        """Add an index with an arm64 image whose config has ``config`` as its inner part."""
        made = self.image({**platform("linux/arm64"), "config": config}, *layers)
        self.index([made | {"platform": platform("linux/arm64")}])

    async def manifest(self, reference: Reference) -> Manifest:
        digest = reference.digest or self.top
        media_type, content = self._found(reference, digest)
        return Manifest(media_type, digest, content)

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        content = self._found(reference, descriptor.digest)[1]
        assert len(content) <= limit
        return content

    async def stream(self, reference: Reference, descriptor: Descriptor) -> AsyncGenerator[bytes, None]:
        content = self._found(reference, descriptor.digest)[1]
        for at in range(0, len(content), _PIECE):
            yield content[at : at + _PIECE]

    async def tags(self, reference: Reference) -> tuple[str, ...]:
        raise NotImplementedError(reference)

    def _found(self, reference: Reference, digest: str) -> tuple[str, bytes]:
        if digest not in self.contents:
            raise RegistryError(RegistryReason.NOT_FOUND, digest, reference)
        return self.contents[digest]
