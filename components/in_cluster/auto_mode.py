"""EKS Auto Mode: the role of its nodes, its NodeClass and NodePools; AWS runs the controller."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from multiarch.autoscaling.karpenter import build_auto_mode_class, build_node_pool
from multiarch.autoscaling.model import AutoModePlan
from multiarch.facts.auto_mode import NODE_ACCESS_POLICY, NODE_POLICIES
from multiarch.nodes.model import CLUSTER_TAG

from ..component import After, Component
from ..iam import policies, roles
from ..iam.node_role import attach_node_policies
from ..kubernetes_api import DRAIN_WITHIN, ChildInCluster, InCluster


class AutoMode(ChildInCluster):
    """What EKS Auto Mode may launch. ``ready`` are the NodePools.

    The pools are deleted first: the NodeClass waits until it has no nodes, and these need their role's access entry.
    """

    ready: After

    def __init__(
        self,
        name: str,
        owner: Component,
        cluster: InCluster,
        plan: AutoModePlan,
        subnet_ids: Sequence[pulumi.Input[str]],
        security_group_ids: Sequence[pulumi.Input[str]],
    ) -> None:
        """Declare everything. Nodes start in ``subnet_ids``, with ``security_group_ids``."""
        super().__init__(name, owner, cluster)
        role, before = (plan.node_class.role, ()) if plan.node_class.role else self._role(cluster)
        # EKS adds further tags: cluster, NodeClass, NodePool.
        tags = tuple(sorted((*self.naming.tags, (CLUSTER_TAG, self.naming.cluster))))
        manifest = build_auto_mode_class(
            plan.node_class,
            role=role,
            subnet_ids=[{"id": each} for each in subnet_ids],
            security_groups=security_group_ids,
            tags=tags if plan.tagged else (),
        )
        node_class = self.declare_object(plan.node_class.name, manifest, (*cluster.ready, *before), DRAIN_WITHIN)
        self.ready = tuple(
            self.declare_object(pool.name, build_node_pool(pool), [node_class], DRAIN_WITHIN) for pool in plan.pools
        )
        self.register_outputs({"nodePools": [pool.name for pool in plan.pools]})

    def _role(self, cluster: InCluster) -> tuple[pulumi.Output[str], Sequence[pulumi.Resource]]:
        """Declare the role of the nodes with its access entry; return its name, and what nodes need of it."""
        name = "auto-mode-nodes"
        trust = policies.assumed_by_service(pulumi.Output.concat("ec2.", self.account.dns_suffix), "Nodes")
        role = roles.declare_role(self, name, f"Nodes of EKS Auto Mode in {self.naming.cluster}", trust)
        attached = attach_node_policies(self, name, role, NODE_POLICIES)
        association = roles.give_access(self, name, cluster.cluster_name, role, "EC2", NODE_ACCESS_POLICY)
        return pulumi.Output.from_input(role.name), [*attached, association]
