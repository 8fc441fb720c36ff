"""The arguments of each component, as dictionaries with the keys of a stack file.

``arguments.pyi`` has their keys, for editors and type checkers; at run time the models of ``multiarch/schema`` check
them.
"""

from typing import TypedDict

__all__ = ["ClusterAutoscalerArgs", "KarpenterArgs", "NodeGroupArgs", "PatchedWorkloadsArgs", "PlatformArgs"]


class PlatformArgs(TypedDict):
    """Arguments of a Platform."""


class NodeGroupArgs(TypedDict):
    """Arguments of a NodeGroup."""


class KarpenterArgs(TypedDict):
    """Arguments of a Karpenter."""


class ClusterAutoscalerArgs(TypedDict):
    """Arguments of a ClusterAutoscaler."""


class PatchedWorkloadsArgs(TypedDict):
    """Arguments of PatchedWorkloads."""
