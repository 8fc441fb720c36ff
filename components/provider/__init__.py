"""The components for programs of one's own, in Python and, as a Pulumi plugin, in any other language.

Their arguments are values, with the keys of a stack file: no plan, and no other component. The plan is made here, by
the rules of ``multiarch stack check``, before anything is declared.
"""

from .cluster_autoscaler import ClusterAutoscaler
from .karpenter import Karpenter
from .node_group import NodeGroup
from .patched_workloads import PatchedWorkloads
from .platform import Platform

__all__ = ["ClusterAutoscaler", "Karpenter", "NodeGroup", "PatchedWorkloads", "Platform"]
