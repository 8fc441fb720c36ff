"""NodePools: from a team's wish for capacity to one pool per architecture and capacity type."""

from __future__ import annotations

from multiarch.autoscaling.karpenter import node_pool_manifest

__all__ = ["node_pool_manifest"]
