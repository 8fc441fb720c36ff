"""Rules about the admission webhook."""

from __future__ import annotations

from multiarch.rules.rule import error, warning

# fmt: off
WEBHOOK = (
    error("image-missing", "`admissionWebhook` or `rebalance` without an image: there is no public one",
          "Push the project's image to a registry of yours, and name it in admissionWebhook.image or rebalance.image."),
    error("image", "an image of `admissionWebhook` or `rebalance` that is not an image reference",
          "Write REGISTRY/REPOSITORY@sha256:DIGEST."),
    warning("webhook-image-not-pinned", "an `admissionWebhook.image` without a digest: the tag may be moved",
            "Write REGISTRY/REPOSITORY@sha256:DIGEST."),
    error("image-no-way-out",
          "an image of `admissionWebhook` or `rebalance` outside of Amazon ECR with `nat: none`: nodes can't pull it",
          "Push it to a private repository of Amazon ECR, or use nat: single or per-zone."),
    warning("webhook-not-used", "settings of the admission webhook without `enabled: true`",
            "Set admissionWebhook.enabled: true, or remove them."),
    warning("webhook-architecture",
            "`architectures` without one that the stack has nodes of: a pod's images may lack it, and the pod still "
            "be scheduled there",
            "Omit architectures: they are those of the stack's groups and pools."),
    error("webhook-without-taint", "the admission webhook without a taint to tolerate",
          "Set arm64Taint, or admissionWebhook.configuration.taints."),
    warning("webhook-taint-unused", "a taint of the admission webhook that no group or pool has",
            "Write the taint of the groups, or omit taints for the stack's arm64Taint."),
    warning("webhook-unreachable",
            "the admission webhook with a private API endpoint in a new VPC: the first run can't reach the API",
            "Turn it on once a build agent or a VPN is in the VPC, or open apiEndpoint.public to your address."),
)
