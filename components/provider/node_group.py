"""A node group in a cluster that is there already, from the keys of a stack's node group."""

import pulumi

from multiarch.nodes.model import ClusterFacts, NodeGroupKind
from multiarch.schema.parts import NodesCluster, SingleNodeGroup
from multiarch.stack.parts import build_part_tags, plan_node_group_part

from ..aws import node_group
from ..component import Naming
from ..iam import policies
from ..iam.node_role import NodeRole
from .arguments import NodeGroupArgs
from .part import Part, accepting, settings


class NodeGroup(Part):
    """A node group of one architecture, which follows from its instance types. The resource's name is the group's.

    It comes with the role of its nodes and, in a self-managed group, their access entry.
    """

    architecture: pulumi.Output[str]
    """amd64 or arm64."""

    ami_type: pulumi.Output[str]
    """The EKS API's amiType that fits the instance types; CUSTOM with a custom AMI."""

    taints: pulumi.Output[list[str]]
    """The nodes' taints, as kubectl writes them."""

    node_group_name: pulumi.Output[str | None]
    """The EKS name of a managed group."""

    auto_scaling_group: pulumi.Output[str | None]
    """The name of the Auto Scaling Group."""

    node_role_arn: pulumi.Output[str]
    """The IAM role of the nodes."""

    def __init__(self, name: str, args: NodeGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Make the plan, and declare it. Raises ArgumentsError."""
        with accepting(f"NodeGroup {name}") as today:
            known = settings(SingleNodeGroup, args)
            part = plan_node_group_part(name, known, today=today)
        plan, cluster = part.plan, known.cluster
        super().__init__(name, part.warnings, opts, Naming(cluster.name, build_part_tags(known.tags)))
        own = policies.list_cni_policies(self.account, ipv6=cluster.ip_family == "ipv6")
        role = NodeRole(f"{name}-nodes", self, cluster.name, plan.kind, own)
        made = node_group.NodeGroup(
            name,
            node_group.NodeGroupArgs(
                plan=plan,
                cluster_name=cluster.name,
                kubernetes_version=cluster.kubernetes_version,
                naming=self.naming,
                facts=_facts(cluster),
                security_group_id=cluster.security_group_id,
                role=role,
                subnet_ids=known.subnet_ids,
                ready=(),
                autoscaler_tags=part.autoscaler_tags,
            ),
            opts=self.child(),
        )
        output = made.output
        self.architecture = pulumi.Output.from_input(output["architecture"])
        self.ami_type = pulumi.Output.from_input(output["amiType"])
        self.taints = pulumi.Output.from_input(output["taints"])
        self.node_group_name = pulumi.Output.from_input(made.eks_name if plan.kind is NodeGroupKind.MANAGED else None)
        self.auto_scaling_group = made.auto_scaling_group
        self.node_role_arn = role.role_arn
        self.register_outputs({"architecture": self.architecture, "autoScalingGroup": self.auto_scaling_group})


def _facts(cluster: NodesCluster) -> pulumi.Output[ClusterFacts]:
    """Return what user data needs to know of the cluster."""
    known = pulumi.Output.all(cluster.endpoint, cluster.certificate_authority, cluster.service_cidr)
    return known.apply(lambda values: _check_family(ClusterFacts(cluster.name, *values), cluster.ip_family))


def _check_family(facts: ClusterFacts, family: str) -> ClusterFacts:
    """Raise RunError for Services of the other family: nodes would give pods no addresses."""
    if (":" in facts.service_cidr) != (family == "ipv6"):
        raise pulumi.RunError(f"cluster.ipFamily is {family}, and cluster.serviceCidr is {facts.service_cidr}.")
    return facts
