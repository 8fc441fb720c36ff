"""The platform of a stack, from the stack's keys."""

import pulumi

from multiarch.aws_cli import require_aws_cli
from multiarch.schema.stack import StackSpec
from multiarch.stack.load import load_from_program
from multiarch.stack.plan import make_plan

from .. import platform
from ..iam.access import reject_creator_in_access
from ..outputs import NodeGroupOutput
from .arguments import PlatformArgs
from .part import Part, accepting, engine_config, plain


class Platform(Part):
    """A network, an EKS cluster with amd64 and arm64 node groups and add-ons, and access to both.

    A Pulumi stack has one at most: what it consists of is named after its place in the platform.
    """

    cluster_name: pulumi.Output[str]
    """The EKS cluster's name, known once the cluster exists."""

    kubernetes_version: pulumi.Output[str]
    """The cluster's Kubernetes minor version."""

    endpoint: pulumi.Output[str]
    """The URL of the Kubernetes API server."""

    certificate_authority: pulumi.Output[str]
    """The cluster's certificate authority, PEM in base64."""

    service_cidr: pulumi.Output[str]
    """The IPv4 CIDR block of Kubernetes Services."""

    vpc_id: pulumi.Output[str]
    """The VPC."""

    private_subnet_ids: pulumi.Output[list[str]]
    """The subnets of the nodes."""

    security_group_id: pulumi.Output[str]
    """The security group that EKS makes for the cluster and its nodes."""

    kubeconfig: pulumi.Output[str]
    """A kubeconfig without a token: it runs `aws eks get-token`."""

    node_groups: pulumi.Output[dict[str, NodeGroupOutput]]
    """The node groups, by name."""

    sessions: pulumi.Output[dict[str, str]]
    """A shell command that opens a session on a node, for each node group."""

    session_policy: pulumi.Output[str]
    """An IAM policy with which people can open these sessions, and no others."""

    def __init__(self, name: str, args: PlatformArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Make the plan, and declare it. Raises ArgumentsError."""
        component = f"Platform {name}"
        with accepting(component) as today:
            stack = load_from_program(plain(StackSpec, args), engine_config())
            plan = make_plan(stack, today=today)
            require_aws_cli()
        super().__init__(name, plan.warnings, opts)
        with accepting(component):
            reject_creator_in_access(stack, plan.cluster.name, pulumi.InvokeOptions(parent=self))
        made = platform.Platform(name, platform.PlatformArgs(plan, look_ahead=True), self.child())
        self.cluster_name = made.control_plane.name
        self.kubernetes_version = made.control_plane.version
        self.endpoint = made.control_plane.endpoint
        self.certificate_authority = made.control_plane.facts.apply(lambda facts: facts.certificate_authority)
        self.service_cidr = made.control_plane.facts.apply(lambda facts: facts.service_cidr)
        self.vpc_id = made.network.vpc_id
        self.private_subnet_ids = pulumi.Output.all(*made.network.private_subnet_ids)
        self.security_group_id = made.control_plane.security_group_id
        self.kubeconfig = made.kubeconfig
        self.node_groups = pulumi.Output.from_input(made.node_groups)
        self.sessions = pulumi.Output.all(**made.sessions)
        self.session_policy = made.session_policy
        self.register_outputs({"clusterName": self.cluster_name, "kubeconfig": self.kubeconfig})
