"""What Karpenter may launch: one EC2NodeClass, and the NodePools of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from multiarch.autoscaling.karpenter import node_class_manifest, node_pool_manifest
from multiarch.autoscaling.model import NodeClassPlan, NodePoolPlan
from multiarch.nodes.model import CLUSTER_TAG

from . import kubernetes_api
from .component import Component, Naming

# A node is deleted once its pods are evicted, and they may have disruption budgets.
DRAIN_WITHIN = "30m"


@dataclass(frozen=True, slots=True)
class NodePoolsArgs:
    """``role`` is the name of the role that nodes run under.

    ``ready`` must exist before the first node is launched and until the last one is gone: controller, permissions, and
    the tags by which Karpenter finds subnets and the security group. ``closed_after`` must exist before a migration
    closes the pools, so that one autoscaler can always add nodes. ``subnet_ids`` replace the node class's subnets.
    """

    node_class: NodeClassPlan
    pools: Sequence[NodePoolPlan]
    naming: Naming
    role: pulumi.Output[str]
    provider: pulumi.ProviderResource
    ready: Sequence[pulumi.Resource]
    closed_after: Sequence[pulumi.Resource]
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None


class NodePools(Component):
    """An EC2NodeClass and its NodePools. The pools are deleted first: the class waits until it has no nodes."""

    def __init__(self, name: str, args: NodePoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare class and pools."""
        super().__init__("NodePools", name, args.naming, opts)
        # Karpenter adds further tags: NodePool, NodeClaim, and the node's name as ``Name``.
        manifest = node_class_manifest(
            args.node_class,
            cluster=self.naming.cluster,
            role=args.role,
            tags=tuple(sorted((*self.naming.tags, (CLUSTER_TAG, self.naming.cluster)))),
        )
        node_class = kubernetes_api.declare_object(
            args.node_class.name,
            manifest if args.subnet_ids is None else _in_subnets(manifest, args.subnet_ids),
            self.child(args.node_class.name, depends_on=args.ready, provider=args.provider, delete_within=DRAIN_WITHIN),
        )
        for pool in args.pools:
            kubernetes_api.declare_object(
                pool.name,
                node_pool_manifest(pool),
                self.child(
                    pool.name,
                    depends_on=[node_class, *args.closed_after],
                    provider=args.provider,
                    delete_within=DRAIN_WITHIN,
                ),
            )
        self.register_outputs({"nodePools": [pool.name for pool in args.pools]})


def _in_subnets(node_class: dict[str, Any], subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]) -> dict[str, Any]:
    """The EC2NodeClass with these subnets."""
    terms = pulumi.Output.from_input(subnet_ids).apply(lambda ids: [{"id": each} for each in ids])
    return {**node_class, "spec": {**node_class["spec"], "subnetSelectorTerms": terms}}
