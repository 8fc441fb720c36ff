"""Karpenter in a cluster that is there already, from the keys of a stack's ``autoscaling.karpenter``."""

import pulumi

from multiarch.schema.parts import SingleKarpenter
from multiarch.stack.parts import build_part_tags, plan_karpenter_part

from ..component import Naming
from ..iam import policies
from ..in_cluster import karpenter
from .arguments import KarpenterArgs
from .part import Part, accepting, region, settings


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
        with accepting(f"Karpenter {name}") as today:
            known = settings(SingleKarpenter, args)
            part = plan_karpenter_part(known, region=region(), today=today)
        super().__init__(name, part.warnings, opts, Naming(known.cluster.name, build_part_tags(known.tags)))
        plan = part.plan
        in_cluster = karpenter.KarpenterArgs(
            plan=plan,
            controller_group=known.controller_group,
            controller_taints=(*([part.arm64_taint] if part.arm64_taint else []), *part.controller_taints),
            security_group_id=known.cluster.security_group_id,
            subnet_ids=known.subnet_ids,
            node_policies=policies.list_cni_policies(self.account, ipv6=known.cluster.ip_family == "ipv6"),
        )
        karpenter.Karpenter(name, self, self.reach(known.cluster, name, known.charts), in_cluster)
        self.chart_version = pulumi.Output.from_input(plan.chart_version)
        self.queue_name = pulumi.Output.from_input(plan.queue)
        ordered = sorted(plan.pools, key=lambda pool: (-pool.weight, pool.name))
        self.node_pools = pulumi.Output.from_input([pool.name for pool in ordered])
        self.register_outputs({"chartVersion": self.chart_version, "nodePools": self.node_pools})
