"""The spellings of an imageID in a container's status, by runtime and version.

containerd and CRI-O up to 1.27 report ``REPOSITORY@DIGEST``: what was pulled, which is an index's digest if a tag of
one was pulled. A config's digest, ``sha256:…``, is there if containerd has no name with a digest for the image (it was
imported or untagged), and always for image volumes. CRI-O from 1.28 on reports a config's digest without ``sha256:``,
and dockershim puts ``docker-pullable://`` or ``docker://`` before either. Sources: ``ContainerStatus`` in
https://github.com/containerd/containerd/blob/main/internal/cri/server/container_status.go,
https://github.com/cri-o/cri-o/pull/7149
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from multiarch.images.model import printable
from multiarch.registry.reference import InvalidReferenceError, Reference, digest_fault, parse_reference

_BARE = re.compile(r"[0-9a-f]{64}")
_IMPORTED = re.compile(r"library/import-\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class ImageId:
    """A digest, and the repository under whose name the runtime has it: None if it only has the digest.

    ``imported``: the name is one that ``ctr images import`` makes, so no registry has it.
    """

    digest: str
    repository: Reference | None = None
    imported: bool = False


def parse_image_id(text: str) -> ImageId | str:
    """Read an imageID; what is wrong with it if it has no digest."""
    plain = text.partition("://")[2] or text
    if _BARE.fullmatch(plain):
        plain = f"sha256:{plain}"
    if digest_fault(plain) is None:
        return ImageId(plain)
    try:
        found = parse_reference(plain)
    except InvalidReferenceError as error:
        return f"imageID {printable(text)} can't be read: {error.fault}"
    if found.digest is None:
        return f"imageID {printable(text)} has no digest"
    if found.registry == "docker.io" and _IMPORTED.fullmatch(found.repository):
        return ImageId(found.digest, imported=True)
    return ImageId(found.digest, found)
