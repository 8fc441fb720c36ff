"""The rules about nodes that are replaced or removed, of node groups and of Karpenter alike."""

from __future__ import annotations

from multiarch.rules import REVIEW_RULES

ROLL = REVIEW_RULES["roll-nodes"]
REMOVE = REVIEW_RULES["remove-nodes"]
KEEP = REVIEW_RULES["keep-old-nodes"]
