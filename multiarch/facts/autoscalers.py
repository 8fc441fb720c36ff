"""Charts that a stack installs, and their images; what they need of Kubernetes is in :mod:`multiarch.facts.kubernetes`.

Source: the charts' repositories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from multiarch.errors import UnknownFactError

CLUSTER_AUTOSCALER_REPOSITORY = "https://kubernetes.github.io/autoscaler"
PUBLIC_REGISTRY = "oci://public.ecr.aws"
"""Has the charts of Karpenter and of the node termination handler."""
CLUSTER_AUTOSCALER_CHART = "9.59.0"
KARPENTER_CHART = "1.14.1"
"""Controller and CRDs have charts of the same version."""
NODE_TERMINATION_HANDLER_CHART = "0.27.6"
"""Its image is v1.25.6."""
DEVICE_PLUGIN_CHARTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "aws-efa-k8s-device-plugin": ("https://aws.github.io/eks-charts", "v0.5.30"),
        "nvidia-device-plugin": ("https://nvidia.github.io/k8s-device-plugin", "0.20.0"),
    }
)
"""Repository and version of each."""
Publisher = Literal["nvcr.io", "public.ecr.aws", "registry.k8s.io"]
IMAGES: Mapping[str, tuple[Publisher, str]] = MappingProxyType(
    {
        # The chart's own values name a private registry of us-west-2; this one has the same image.
        "aws-efa-k8s-device-plugin": ("public.ecr.aws", "eks/aws-efa-k8s-device-plugin"),
        "aws-node-termination-handler": ("public.ecr.aws", "aws-ec2/aws-node-termination-handler"),
        "cluster-autoscaler": ("registry.k8s.io", "autoscaling/cluster-autoscaler"),
        "karpenter": ("public.ecr.aws", "karpenter/controller"),
        "nvidia-device-plugin": ("nvcr.io", "nvidia/k8s-device-plugin"),
    }
)
"""Registry and repository of each chart's image, as the chart's own values name it."""

_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})(?:\.(0|[1-9][0-9]{0,5}))?", re.ASCII)


def parse_chart_version(text: str) -> tuple[int, int, int]:
    """Turn ``1.14.1`` or ``1.14`` into numbers, for comparing. Raises UnknownFactError for anything else."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise UnknownFactError("chart version", text, hint=f"Write MAJOR.MINOR.PATCH, such as {KARPENTER_CHART}.")
    return int(match[1]), int(match[2]), int(match[3] or 0)


def get_publisher(chart: str) -> Publisher:
    """Return the registry that a chart's image comes from."""
    return IMAGES[chart][0]


def find_copied_image(chart: str, registries: Mapping[Publisher, str]) -> str | None:
    """Return the repository of a chart's image in the registry that replaces its publisher's, None without one."""
    publisher, repository = IMAGES[chart]
    return f"{registries[publisher]}/{repository}" if publisher in registries else None
