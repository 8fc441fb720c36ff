"""What a manifest is, by its JSON: pure. The content is untrusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multiarch.images.model import ImageKind, escape_printable
from multiarch.registry.model import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    LAYER_PREFIXES,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
)

LARGEST = 2**63 - 1
"""The largest whole number that Go's decoders read: 64 bits with a sign."""
IMAGE_CONFIGS = frozenset(
    {"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"}
)
_INDEXES = frozenset({OCI_INDEX, DOCKER_LIST})
_MANIFESTS = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
_EMPTY = "application/vnd.oci.empty.v1+json"


def identify_kind(media_type: str, content: Mapping[str, object]) -> tuple[ImageKind, str]:
    """Tell what a manifest of ``media_type`` is, with a note if it is not an image.

    ``content`` may be empty if only the type is known. A content that contradicts its type is ``unrecognised``: clients
    would read it differently, and containerd rejects it, also if the other kind's key is null or empty. Source:
    ``validateMediaType`` in https://github.com/containerd/containerd/blob/main/core/images/image.go
    """
    written = _text(content.get("mediaType"))
    keys = content.keys()
    if media_type in _INDEXES:
        claims_other = written in _MANIFESTS or keys & {"config", "layers", "fsLayers"}
        note = f"served as an index ({media_type}), but its content is an image"
        return (ImageKind.UNRECOGNISED, note) if claims_other else (ImageKind.INDEX, "")
    if media_type in _MANIFESTS:
        claims_other = written in _INDEXES or keys & {"manifests", "fsLayers"}
        note = f"served as an image ({media_type}), but its content is an index"
        return (ImageKind.UNRECOGNISED, note) if claims_other else _of_manifest(content)
    return (
        ImageKind.UNRECOGNISED,
        f"neither an image nor an index: media type {escape_printable(media_type) or 'missing'}",
    )


def _of_manifest(content: Mapping[str, object]) -> tuple[ImageKind, str]:
    """Tell images from other artifacts.

    Signatures are recognised by their layers: their config has an image's media type.
    Source: https://github.com/opencontainers/image-spec/blob/main/manifest.md#guidelines-for-artifact-usage
    """
    if not content:
        return ImageKind.IMAGE, ""
    config = content.get("config")
    config_type = _text(config.get("mediaType")) if isinstance(config, Mapping) else ""
    artifact = _text(content.get("artifactType"))
    layers = [_text(layer.get("mediaType")) for layer in list_objects(content.get("layers"))]
    if config_type not in IMAGE_CONFIGS:
        names = [artifact, config_type if config_type != _EMPTY else "", *layers, _EMPTY]
        return ImageKind.ARTIFACT, describe_artifact(next(name for name in names if name))
    if layers and not any(layer.startswith(LAYER_PREFIXES) for layer in layers):
        return ImageKind.ARTIFACT, describe_artifact(next((layer for layer in layers if layer), "missing"))
    return ImageKind.IMAGE, ""


def describe_artifact(media_type: str) -> str:
    """Describe an artifact of ``media_type``."""
    return f"not an image: an artifact of type {escape_printable(media_type)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def list_objects(value: object) -> Sequence[Mapping[str, object]]:
    """Return the objects in a JSON list; other elements count as empty objects."""
    return [each if isinstance(each, Mapping) else {} for each in value] if isinstance(value, list) else []


def read_descriptor(value: object) -> Descriptor | None:
    """Read a descriptor, or return None if a part is missing or has the wrong type."""
    if not isinstance(value, Mapping):
        return None
    media_type, digest, size = value.get("mediaType"), value.get("digest"), value.get("size")
    whole = isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= LARGEST
    if isinstance(media_type, str) and isinstance(digest, str) and isinstance(size, int) and whole:
        return Descriptor(media_type, digest, size)
    return None


def read_annotations(value: Mapping[str, object]) -> dict[str, str]:
    """Return the annotations with string values, sorted by name."""
    found = value.get("annotations")
    if not isinstance(found, Mapping):
        return {}
    return {key: text for key, text in sorted(found.items()) if isinstance(key, str) and isinstance(text, str)}
