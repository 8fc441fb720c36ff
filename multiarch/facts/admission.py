"""Names that the admission webhook reads in a cluster: a namespace's label, a pod's annotations, the modes."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from multiarch.facts.architectures import Architecture

MODE_LABEL = "multiarch-eks/webhook"
"""On a namespace: one of :class:`AdmissionMode`, or :data:`OFF`. Without it, the mode of the configuration."""
OFF = "off"
"""As the value of the label or of the annotation: the webhook leaves the namespace, or the pod, alone."""
OPT_OUT_ANNOTATION = "multiarch-eks/webhook"
"""On a pod: :data:`OFF`."""
DECISION_ANNOTATION = "multiarch-eks/decision"
"""On a pod, written on request: the decision and its reason."""
READY_LABEL = "multiarch-eks/arm64-ready"
"""On a namespace, ``true``: its owners declare that all of its images support every architecture.

Only the MutatingAdmissionPolicy reads it, which can't look at images.
"""
INSTALLATION_NAME = "multiarch-webhook"
"""The default name of the Helm release, of the webhook's namespace and of most of its objects."""


class AdmissionMode(StrEnum):
    """What the webhook does to the pods of a namespace."""

    TOLERATE = "tolerate"
    """Add the tolerations if every image supports every required architecture."""
    PREFER = "prefer"
    """As ``tolerate``, and let such pods prefer arm64 nodes."""
    PIN = "pin"
    """As ``tolerate``, and require the one architecture that all of a pod's images support, where it is only one."""
    OBSERVE = "observe"
    """Decide and record, and change nothing."""


def get_tainted_architecture(architectures: Collection[str]) -> Architecture:
    """Return the required architecture whose nodes are tainted: arm64, unless amd64 is required alone."""
    return Architecture.ARM64 if Architecture.ARM64 in architectures else Architecture.AMD64
