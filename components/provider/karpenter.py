"""Karpenter in a cluster that is there already, from the keys of a stack's ``autoscaling.karpenter``."""

import pulumi
import pulumi_kubernetes as kubernetes

from multiarch.autoscaling.karpenter import discovery_tags
from multiarch.schema.parts import SingleKarpenter
from multiarch.stack.parts import part_tags, plan_karpenter_part

from ..account import look_up
from ..component import InCluster, Naming
from ..in_cluster import karpenter
from .arguments import KarpenterArgs
from .part import Part, accepted, region, settings


class Karpenter(Part):
    """Karpenter: CRDs, controller, roles, interruption queue, EC2NodeClass, and NodePools in order of preference.

    A Pulumi stack has one for each cluster at most.
    """

    chart_version: pulumi.Output[str]
    """The version of Karpenter's charts."""

    queue_name: pulumi.Output[str]
    """The name of the interruption queue."""

    node_pools: pulumi.Output[list[str]]
    """The names of the NodePools, the preferred ones first."""

    def __init__(self, name: str, args: KarpenterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Make the plan, and declare it. Raises ArgumentsError."""
        known, part = accepted(
            "Karpenter",
            name,
            lambda today: (
                known := settings(SingleKarpenter, args),
                plan_karpenter_part(known, region=region(), today=today),
            ),
        )
        super().__init__(name, part.warnings, opts)
        plan, cluster = part.plan, known.cluster
        child = pulumi.ResourceOptions(parent=self)
        karpenter.Karpenter(
            name,
            karpenter.KarpenterArgs(
                plan=plan,
                cluster=InCluster(
                    cluster_name=cluster.name,
                    naming=Naming(cluster.name, part_tags(known.tags)),
                    account=look_up(self),
                    provider=kubernetes.Provider(name, kubeconfig=cluster.kubeconfig, opts=child),
                    ready=(),
                ),
                arm64_taint=part.arm64_taint,
                controller_group=known.controller_group,
                controller_taints=part.controller_taints,
                security_group_id=cluster.security_group_id,
                discovery=discovery_tags(cluster.name),
                session_log_group=None,
                session_key_arn=None,
                successor=None,
                subnet_ids=known.subnet_ids,
            ),
            opts=child,
        )
        self.chart_version = pulumi.Output.from_input(plan.chart_version)
        self.queue_name = pulumi.Output.from_input(plan.queue)
        ordered = sorted(plan.pools, key=lambda pool: (-pool.weight, pool.name))
        self.node_pools = pulumi.Output.from_input([pool.name for pool in ordered])
        self.register_outputs({"chartVersion": self.chart_version, "nodePools": self.node_pools})
