"""What a manifest's JSON says it is: pure, and careful, because anybody may have pushed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multiarch.images.model import ImageKind, printable
from multiarch.registry.model import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    SCHEMA1,
    SCHEMA1_SIGNED,
    Descriptor,
)

IMAGE_CONFIGS = frozenset(
    {"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"}
)
_INDEXES = frozenset({OCI_INDEX, DOCKER_LIST})
_MANIFESTS = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
_SCHEMA1 = frozenset({SCHEMA1, SCHEMA1_SIGNED})
_OCI_ARTIFACT = "application/vnd.oci.artifact.manifest.v1+json"
_EMPTY = "application/vnd.oci.empty.v1+json"
_WELL_KNOWN = {
    "application/vnd.cncf.helm.config.v1+json": "a Helm chart",
    "application/vnd.dev.cosign.artifact.sig.v1+json": "a signature",
    "application/vnd.dev.cosign.simplesigning.v1+json": "a signature",
    "application/vnd.dev.sigstore.bundle.v0.3+json": "a signature",
    "application/vnd.cncf.notary.signature": "a signature",
    "application/vnd.in-toto+json": "an attestation",
    "application/vnd.docker.plugin.v1+json": "a Docker plugin",
    "application/vnd.wasm.config.v0+json": "a WebAssembly module",
    "application/spdx+json": "a bill of materials",
    "application/vnd.cyclonedx+json": "a bill of materials",
}
_LAYERS = (
    "application/vnd.oci.image.layer.",
    "application/vnd.docker.image.rootfs.",
)


SCHEMA1_NOTE = (
    "Docker schema 1, which has no list of platforms, and which current runtimes no longer pull; push it again"
)


def kind_of(media_type: str, content: Mapping[str, object]) -> tuple[ImageKind, str]:
    """Say what a manifest of ``media_type`` is, and a note on what is no image.

    ``content`` may be empty where only the type is known. A content that claims to be another thing than its type is
    ``unrecognised``: what it is depends on who reads it, and containerd refuses it.
    """
    said = content.get("mediaType")
    written = said if isinstance(said, str) else ""
    if media_type in _SCHEMA1 or (content.get("schemaVersion") == 1 and "fsLayers" in content):
        return ImageKind.SCHEMA1, SCHEMA1_NOTE
    if media_type in _INDEXES:
        claims_other = written in _MANIFESTS or content.get("config") or content.get("layers")
        note = f"it is served as an index ({media_type}) and says it is an image"
        return (ImageKind.UNRECOGNISED, note) if claims_other else (ImageKind.INDEX, "")
    if media_type in _MANIFESTS:
        claims_other = written in _INDEXES or content.get("manifests")
        note = f"it is served as an image ({media_type}) and says it is an index"
        return (ImageKind.UNRECOGNISED, note) if claims_other else _of_manifest(content)
    if media_type == _OCI_ARTIFACT:
        return ImageKind.ARTIFACT, what_artifact(str(content.get("artifactType") or media_type))
    return (
        ImageKind.UNRECOGNISED,
        f"neither an image nor an index: its media type is {printable(media_type) or 'not said'}",
    )


def _of_manifest(content: Mapping[str, object]) -> tuple[ImageKind, str]:
    """Tell images from what is only packed like one.

    Signatures are known by their layers: their config calls itself an image's.
    Source: https://github.com/opencontainers/image-spec/blob/main/manifest.md#guidelines-for-artifact-usage
    """
    if not content:
        return ImageKind.IMAGE, ""
    config = content.get("config")
    config_type = _text(config.get("mediaType")) if isinstance(config, Mapping) else ""
    artifact = _text(content.get("artifactType"))
    layers = [_text(layer.get("mediaType")) for layer in objects(content.get("layers"))]
    if config_type not in IMAGE_CONFIGS:
        names = [artifact, config_type if config_type != _EMPTY else "", *layers, _EMPTY]
        return ImageKind.ARTIFACT, what_artifact(next(name for name in names if name))
    if layers and not any(layer.startswith(_LAYERS) for layer in layers):
        return ImageKind.ARTIFACT, what_artifact(next((layer for layer in layers if layer), "not said"))
    return ImageKind.IMAGE, ""


def what_artifact(media_type: str) -> str:
    """Say in words that something of ``media_type`` does not run."""
    known = _WELL_KNOWN.get(media_type)
    return (
        f"no image but {known} ({media_type})" if known else f"no image but an artifact of type {printable(media_type)}"
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def objects(value: object) -> Sequence[Mapping[str, object]]:
    """The elements of a JSON list; one that is no object counts as an empty one."""
    return [each if isinstance(each, Mapping) else {} for each in value] if isinstance(value, list) else []


def descriptor_of(value: object) -> Descriptor | None:
    """Read a descriptor, or return None where a part of it is missing or of the wrong kind."""
    if not isinstance(value, Mapping):
        return None
    media_type, digest, size = value.get("mediaType"), value.get("digest"), value.get("size")
    whole = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    if isinstance(media_type, str) and isinstance(digest, str) and isinstance(size, int) and whole:
        return Descriptor(media_type, digest, size)
    return None


def annotations_of(value: Mapping[str, object]) -> dict[str, str]:
    """The annotations that are text, sorted by name."""
    found = value.get("annotations")
    if not isinstance(found, Mapping):
        return {}
    return {key: text for key, text in sorted(found.items()) if isinstance(key, str) and isinstance(text, str)}
