"""The rules about nodes that are replaced or removed, of node groups and of Karpenter alike."""

from __future__ import annotations

from multiarch.rules import Risk, review_rule

ROLL = review_rule(
    "roll-nodes",
    Risk.MEDIUM,
    "nodes that are replaced, how many, and at what pace",
    "Do the PodDisruptionBudgets allow evictions, and do pods keep nothing on their nodes that must not be lost?",
)
REMOVE = review_rule(
    "remove-nodes",
    Risk.HIGH,
    "nodes that end without a replacement in the same group",
    "Do other groups have nodes, or room to grow, for the pods on these nodes?",
)
KEEP = review_rule(
    "keep-old-nodes",
    Risk.LOW,
    "a new configuration or version that running nodes do not get",
    "Should the running nodes be replaced by hand?",
)
