"""The arguments of each component, as typed dictionaries with the keys of a stack file."""

from .parts import ClusterAutoscalerArgs, KarpenterArgs, NodeGroupArgs, PatchedWorkloadsArgs
from .stack import PlatformArgs

__all__ = [
    "ClusterAutoscalerArgs",
    "KarpenterArgs",
    "NodeGroupArgs",
    "PatchedWorkloadsArgs",
    "PlatformArgs",
]
