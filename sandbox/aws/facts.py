"""Rows that the sandbox's AWS answers from: Kubernetes versions, AMI types, add-on versions.

The AMI release numbers and add-on versions are the sandbox's own, shaped like AWS's. Support dates are those of
the EKS release calendar.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final


@dataclass(frozen=True, slots=True)
class ClusterVersion:
    """One Kubernetes minor as DescribeClusterVersions shows it; dates are ISO days, empty when not published."""

    version: str
    patch: str
    released: str
    standard_ends: str
    extended_ends: str
    status: str


@dataclass(frozen=True, slots=True)
class AmiType:
    """One EKS amiType: its family, AWS's architecture word, and the SSM path of its recommended image.

    ``path`` holds ``{k}`` for the Kubernetes minor; the last part (``image_id`` …) is appended.
    ``last`` is the last minor that has such images, empty when they still appear.
    """

    name: str
    family: str
    architecture: str
    path: str
    last: str = ""


@dataclass(frozen=True, slots=True)
class AddonVersions:
    """One EKS add-on: its namespace and its version for every Kubernetes minor, newest pattern first."""

    name: str
    namespace: str
    kind: str
    newest: str
    default: str


CLUSTER_VERSIONS: Final = (
    ClusterVersion("1.31", "1.31.13", "2024-09-26", "2025-11-26", "2026-11-26", "EXTENDED_SUPPORT"),
    ClusterVersion("1.32", "1.32.9", "2025-01-23", "2026-03-23", "2027-03-23", "EXTENDED_SUPPORT"),
    ClusterVersion("1.33", "1.33.8", "2025-05-29", "2026-07-29", "2027-07-29", "EXTENDED_SUPPORT"),
    ClusterVersion("1.34", "1.34.6", "2025-10-02", "2026-12-02", "2027-12-02", "STANDARD_SUPPORT"),
    ClusterVersion("1.35", "1.35.4", "2026-01-27", "2027-03-27", "2028-03-27", "STANDARD_SUPPORT"),
    ClusterVersion("1.36", "1.36.2", "2026-06-02", "", "", "STANDARD_SUPPORT"),
)
DEFAULT_VERSION: Final = "1.35"

_EKS = "/aws/service/eks/optimized-ami/{k}"
_BR = "/aws/service/bottlerocket/aws-k8s-{k}"
AMI_TYPES: Final = {
    row.name: row
    for row in (
        AmiType("AL2_x86_64", "al2", "x86_64", f"{_EKS}/amazon-linux-2/recommended", "1.32"),
        AmiType("AL2_x86_64_GPU", "al2", "x86_64", f"{_EKS}/amazon-linux-2-gpu/recommended", "1.32"),
        AmiType("AL2_ARM_64", "al2", "arm64", f"{_EKS}/amazon-linux-2-arm64/recommended", "1.32"),
        AmiType("AL2023_x86_64_STANDARD", "al2023", "x86_64", f"{_EKS}/amazon-linux-2023/x86_64/standard/recommended"),
        AmiType("AL2023_ARM_64_STANDARD", "al2023", "arm64", f"{_EKS}/amazon-linux-2023/arm64/standard/recommended"),
        AmiType("AL2023_x86_64_NEURON", "al2023", "x86_64", f"{_EKS}/amazon-linux-2023/x86_64/neuron/recommended"),
        AmiType("AL2023_x86_64_NVIDIA", "al2023", "x86_64", f"{_EKS}/amazon-linux-2023/x86_64/nvidia/recommended"),
        AmiType("AL2023_ARM_64_NVIDIA", "al2023", "arm64", f"{_EKS}/amazon-linux-2023/arm64/nvidia/recommended"),
        AmiType("BOTTLEROCKET_x86_64", "bottlerocket", "x86_64", f"{_BR}/x86_64/latest"),
        AmiType("BOTTLEROCKET_ARM_64", "bottlerocket", "arm64", f"{_BR}/arm64/latest"),
        AmiType("BOTTLEROCKET_x86_64_FIPS", "bottlerocket", "x86_64", f"{_BR}-fips/x86_64/latest"),
        AmiType("BOTTLEROCKET_ARM_64_FIPS", "bottlerocket", "arm64", f"{_BR}-fips/arm64/latest"),
        AmiType("BOTTLEROCKET_x86_64_NVIDIA", "bottlerocket", "x86_64", f"{_BR}-nvidia/x86_64/latest"),
        AmiType("BOTTLEROCKET_ARM_64_NVIDIA", "bottlerocket", "arm64", f"{_BR}-nvidia/arm64/latest"),
        AmiType("BOTTLEROCKET_x86_64_NVIDIA_FIPS", "bottlerocket", "x86_64", f"{_BR}-nvidia-fips/x86_64/latest"),
        AmiType("BOTTLEROCKET_ARM_64_NVIDIA_FIPS", "bottlerocket", "arm64", f"{_BR}-nvidia-fips/arm64/latest"),
    )
}
DEFAULT_AMI_TYPE: Final = "AL2023_x86_64_STANDARD"
BOTTLEROCKET_RELEASE: Final = "1.48.0-0d4e8a1c"

ADDONS: Final = (
    AddonVersions("aws-ebs-csi-driver", "kube-system", "storage", "v1.52.1-eksbuild.1", "v1.51.0-eksbuild.1"),
    AddonVersions("aws-efs-csi-driver", "kube-system", "storage", "v2.2.0-eksbuild.1", "v2.1.13-eksbuild.1"),
    AddonVersions("coredns", "kube-system", "networking", "v1.13.1-eksbuild.3", "v1.12.4-eksbuild.1"),
    AddonVersions(
        "eks-node-monitoring-agent", "kube-system", "observability", "v1.5.0-eksbuild.1", "v1.4.2-eksbuild.1"
    ),
    AddonVersions("eks-pod-identity-agent", "kube-system", "security", "v1.3.10-eksbuild.1", "v1.3.9-eksbuild.3"),
    AddonVersions("kube-proxy", "kube-system", "networking", "v{patch}-eksbuild.5", "v{patch}-eksbuild.2"),
    AddonVersions("metrics-server", "kube-system", "observability", "v0.8.0-eksbuild.6", "v0.8.0-eksbuild.2"),
    AddonVersions("snapshot-controller", "kube-system", "storage", "v8.4.0-eksbuild.1", "v8.3.0-eksbuild.1"),
    AddonVersions("vpc-cni", "kube-system", "networking", "v1.21.1-eksbuild.1", "v1.20.4-eksbuild.1"),
)

NEED_IAM: Final = frozenset({"aws-ebs-csi-driver", "aws-efs-csi-driver", "vpc-cni"})
"""Add-ons whose controllers call AWS."""

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


def day(text: str) -> datetime | None:
    """Midnight UTC of an ISO day; ``None`` for the empty text."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


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


def addon_versions(addon: AddonVersions, minor: str) -> tuple[str, str]:
    """Newest and default version of an add-on for a minor."""
    row = cluster_version(minor)
    patch = row.patch if row else minor
    return addon.newest.format(patch=patch), addon.default.format(patch=patch)
