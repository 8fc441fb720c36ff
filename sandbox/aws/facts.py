"""Tables of the sandbox's AWS: Kubernetes versions, AMI types, add-on versions.

AMI types and add-ons are those of ``multiarch.facts``. Release numbers and add-on versions are the sandbox's own,
shaped like AWS's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from multiarch.facts.addons import AddOn
from multiarch.facts.ami_families import NODE_FAMILIES, AmiType, get_family, list_ami_types
from multiarch.facts.architectures import format_ami_architecture

CLUSTER_VERSIONS: Final[Mapping[str, str]] = {
    "1.31": "1.31.13",
    "1.32": "1.32.9",
    "1.33": "1.33.8",
    "1.34": "1.34.6",
    "1.35": "1.35.4",
    "1.36": "1.36.2",
}
"""The patch release of each Kubernetes minor."""
DEFAULT_VERSION: Final = "1.35"

AMI_TYPES: Final = {row.name: row for row in list_ami_types().values() if row.family in NODE_FAMILIES}
DEFAULT_AMI_TYPE: Final = "AL2023_x86_64_STANDARD"


def minor_number(minor: str) -> int:
    """Return ``1.34`` gives 34."""
    return int(minor.split(".")[1])


def latest_release(ami_type: AmiType, minor: str) -> str:
    """Return the newest release of an AMI type for a minor: ``1.34.6-20261106``, ``1.52.0-ae0b4a82`` (Bottlerocket)."""
    facts = get_family(ami_type.family)
    if "{k}" not in facts.release_example:
        return facts.release_example
    return f"{CLUSTER_VERSIONS.get(minor, minor)}-{'20251120' if facts.last_version else '20261106'}"


def earlier_release(ami_type: AmiType, minor: str) -> str:
    """Return a release before the newest: ``1.34.6-20251001``, ``1.51.0-0d4e8a1c`` (Bottlerocket)."""
    newest = latest_release(ami_type, minor)
    dated = "{k}" in get_family(ami_type.family).release_example
    return f"{newest.partition('-')[0]}-20251001" if dated else "1.51.0-0d4e8a1c"


def offered(ami_type: AmiType, minor: str) -> bool:
    """Return whether images of this type exist for the minor."""
    last = get_family(ami_type.family).last_version
    return not last or minor_number(minor) <= minor_number(last)


def architecture_of(ami_type: AmiType) -> str:
    """Return AWS's name of an image's architecture."""
    return format_ami_architecture(ami_type.architecture) if ami_type.architecture else ""


def image_id(region: str, ami_type: AmiType, minor: str, release: str) -> str:
    """Return the id of an image, a hash of what it is: the same in every run."""
    key = f"{region}/{ami_type.name}/{minor}/{release}"
    return "ami-" + hashlib.sha256(key.encode()).hexdigest()[:17]


def addon_versions(row: AddOn, minor: str) -> tuple[str, str]:
    """Return newest and default version of an add-on for a minor."""
    release = row.release or f"v{CLUSTER_VERSIONS.get(minor, minor)}"
    return f"{release}-eksbuild.2", f"{release}-eksbuild.1"
