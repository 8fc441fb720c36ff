"""Every shape of image that registries hold, pushed into a real one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from multiarch.registry.model import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST, Descriptor
from tests.images.archives import packed
from tests.registry.server import Server

OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
EMPTY = "application/vnd.oci.empty.v1+json"
UNKNOWN = {"os": "unknown", "architecture": "unknown"}


def platform(text: str, **more: str) -> dict[str, str]:
    """``linux/arm64/v8`` as JSON has it."""
    return dict(zip(("os", "architecture", "variant"), text.split("/"), strict=False)) | more


def described(descriptor: Descriptor, **more: object) -> dict[str, object]:
    """A descriptor as JSON has it."""
    fields = asdict(descriptor)
    return {"mediaType": fields["media_type"], "digest": fields["digest"], "size": fields["size"], **more}


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of a real registry to push shapes into."""

    server: Server
    name: str
    made: dict[str, Descriptor] = field(default_factory=dict)

    def image(
        self,
        says: str | None,
        *layers: bytes,
        tag: str | None = None,
        docker: bool = False,
        config: Mapping[str, object] | None = None,
        layer_type: str | None = None,
        **more: object,
    ) -> Descriptor:
        """An image whose config says a platform. ``config`` is its inner part, ``more`` goes into the manifest."""
        said = platform(says) if says else {}
        body = {**said, "config": dict(config or {}), "rootfs": {"type": "layers", "diff_ids": []}}
        pushed = self.server.push_blob(self.name, json.dumps(body).encode(), DOCKER_CONFIG if docker else OCI_CONFIG)
        kind = layer_type or (DOCKER_LAYER if docker else OCI_LAYER)
        rows = [described(self.server.push_blob(self.name, layer, kind)) for layer in layers or (packed(),)]
        media_type = DOCKER_MANIFEST if docker else OCI_MANIFEST
        return self._manifest(tag, media_type, {"config": described(pushed), "layers": rows, **more})

    def artifact(self, config_type: str, *layer_types: str, tag: str | None = None, **more: object) -> Descriptor:
        """Something that is packed like an image."""
        config = self.server.push_blob(self.name, b"{}", config_type)
        rows = [described(self.server.push_blob(self.name, b"content", each)) for each in layer_types]
        return self._manifest(tag, OCI_MANIFEST, {"config": described(config), "layers": rows, **more})

    def index(
        self,
        entries: Sequence[Mapping[str, object]],
        *,
        tag: str | None = "latest",
        docker: bool = False,
        **more: object,
    ) -> Descriptor:
        """An index, or a Docker list."""
        return self._manifest(tag, DOCKER_LIST if docker else OCI_INDEX, {"manifests": list(entries), **more})

    def entry(self, says: str, *layers: bytes, declares: str | None = None, docker: bool = False) -> dict[str, object]:
        """An image pushed, as an entry of an index; ``declares`` is what the entry says instead of the truth."""
        return described(self.image(says, *layers, docker=docker), platform=platform(declares or says))

    def _manifest(self, tag: str | None, media_type: str, content: Mapping[str, object]) -> Descriptor:
        return self.server.push_manifest(
            self.name, tag, {"schemaVersion": 2, "mediaType": media_type, **content}, media_type
        )
