"""Tables of the sandbox's AWS: Kubernetes versions, AMI types, add-on versions.

AMI types and add-ons are those of ``multiarch.facts``. Release numbers and add-on versions are the sandbox's own,
shaped like AWS's.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from multiarch.facts.addons import AddOn
from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily, ami_types
from multiarch.facts.architectures import to_ami
from multiarch.facts.kubernetes import LAST_AL2_VERSION


@dataclass(frozen=True, slots=True)
class ClusterVersion:
    """One Kubernetes minor and its patch release."""

    version: str
    patch: str


@dataclass(frozen=True, slots=True)
class AmiType:
    """One EKS amiType: its family, AWS's name of the architecture, and the SSM path of its recommended image.

    ``path`` holds ``{k}`` for the Kubernetes minor; the last part (``image_id`` …) is appended.
    ``last`` is the last minor that has such images, empty when they still appear.
    """

    name: str
    family: str
    architecture: str
    path: str
    last: str = ""


CLUSTER_VERSIONS: Final = (
    ClusterVersion("1.31", "1.31.13"),
    ClusterVersion("1.32", "1.32.9"),
    ClusterVersion("1.33", "1.33.8"),
    ClusterVersion("1.34", "1.34.6"),
    ClusterVersion("1.35", "1.35.4"),
    ClusterVersion("1.36", "1.36.2"),
)
DEFAULT_VERSION: Final = "1.35"

AMI_TYPES: Final = {
    row.name: AmiType(
        row.name,
        row.family.lower(),
        to_ami(row.architecture),
        row.ssm_parameter("{k}", "image_id").removesuffix("/image_id"),
        LAST_AL2_VERSION if row.family is AmiFamily.AL2 else "",
    )
    for row in ami_types().values()
    if row.family in NODE_FAMILIES and row.architecture
}
DEFAULT_AMI_TYPE: Final = "AL2023_x86_64_STANDARD"
BOTTLEROCKET_RELEASE: Final = "1.48.0-0d4e8a1c"

ACCESS_POLICIES: Final = (
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
)
ACCESS_ENTRY_TYPES: Final = (
    "EC2",
    "EC2_LINUX",
    "EC2_WINDOWS",
    "FARGATE_LINUX",
    "HYBRID_LINUX",
    "HYPERPOD_LINUX",
    "STANDARD",
)


def cluster_version(minor: str) -> ClusterVersion | None:
    """The row of a Kubernetes minor (``1.34``), or ``None``."""
    return next((row for row in CLUSTER_VERSIONS if row.version == minor), None)


def minor_number(minor: str) -> int:
    """``1.34`` gives 34."""
    return int(minor.split(".")[1])


def latest_release(ami_type: AmiType, minor: str) -> str:
    """The newest release of an AMI type for a minor: ``1.34.6-20261106``, for Bottlerocket ``1.48.0-0d4e8a1c``."""
    if ami_type.family == "bottlerocket":
        return BOTTLEROCKET_RELEASE
    row = cluster_version(minor)
    date = "20251120" if ami_type.family == "al2" else "20261106"
    return f"{row.patch if row else minor}-{date}"


def offered(ami_type: AmiType, minor: str) -> bool:
    """Whether images of this type exist for the minor."""
    return not ami_type.last or minor_number(minor) <= minor_number(ami_type.last)


def image_id(region: str, ami_type: AmiType, minor: str, release: str) -> str:
    """The id of an image, a hash of what it is: the same in every run."""
    key = f"{region}/{ami_type.name}/{minor}/{release}"
    return "ami-" + hashlib.sha256(key.encode()).hexdigest()[:17]


def addon_versions(row: AddOn, minor: str) -> tuple[str, str]:
    """Newest and default version of an add-on for a minor."""
    release = row.release
    if release is None:
        known = cluster_version(minor)
        release = f"v{known.patch if known else minor}"
    return f"{release}-eksbuild.2", f"{release}-eksbuild.1"
