"""The former name of :mod:`multiarch_eks.aws.node_group`."""

from .aws.node_group import NodeGroup, NodeGroupArgs, required

__all__ = ["NodeGroup", "NodeGroupArgs", "required"]
