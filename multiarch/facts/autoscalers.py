"""Versions of the autoscalers: which charts are installed, and what they need of the Kubernetes version.

Sources: the charts' repositories, the releases of kubernetes/autoscaler as of August 2026,
https://karpenter.sh/v1.14/upgrading/compatibility/.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from multiarch.errors import UnknownFactError, look_up

CLUSTER_AUTOSCALER_CHART = "9.59.0"
KARPENTER_CHART = "1.14.1"
"""Controller and CRDs have charts of the same version."""
NODE_TERMINATION_HANDLER_CHART = "0.27.6"
"""Its image is v1.25.6."""

# The newest patch that was seen as a published image; each minor of the autoscaler is built for one of Kubernetes.
_CLUSTER_AUTOSCALER_IMAGES: Mapping[str, str] = MappingProxyType(
    {
        "1.29": "v1.29.5",
        "1.30": "v1.30.7",
        "1.31": "v1.31.5",
        "1.32": "v1.32.7",
        "1.33": "v1.33.6",
        "1.34": "v1.34.5",
        "1.35": "v1.35.2",
        "1.36": "v1.36.1",
    }
)
# The objects are of karpenter.sh/v1, which 1.0 brought; Kubernetes 1.29 and 1.30 would take older ones still.
_KARPENTER_MINIMUM: Mapping[str, str] = MappingProxyType(
    {
        "1.29": "1.0",
        "1.30": "1.0",
        "1.31": "1.0.5",
        "1.32": "1.2",
        "1.33": "1.5",
        "1.34": "1.6",
        "1.35": "1.9",
        "1.36": "1.13",
    }
)
_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})(?:\.(0|[1-9][0-9]{0,5}))?", re.ASCII)


def cluster_autoscaler_image(version: str) -> str:
    """Return the image tag for a Kubernetes minor. Raises UnknownFactError for one without."""
    return look_up("Kubernetes version of a cluster autoscaler", version, _CLUSTER_AUTOSCALER_IMAGES)


def karpenter_minimum(version: str) -> str:
    """Return the oldest Karpenter that works with a Kubernetes minor. Raises UnknownFactError for an unknown one."""
    return look_up("Kubernetes version for Karpenter", version, _KARPENTER_MINIMUM)


def parse_chart_version(text: str) -> tuple[int, int, int]:
    """Turn ``1.14.1`` or ``1.14`` into numbers, for comparing. Raises UnknownFactError for anything else."""
    match = _VERSION.fullmatch(text)
    if match is None:
        bare = text.removeprefix("v")
        hint = (
            f"Drop the v: {bare}."
            if _VERSION.fullmatch(bare)
            else f"Write MAJOR.MINOR.PATCH, such as {KARPENTER_CHART}."
        )
        raise UnknownFactError("chart version", text, hint=hint)
    return int(match[1]), int(match[2]), int(match[3] or 0)
