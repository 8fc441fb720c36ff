"""The network: a VPC with its zones, and who can reach the Kubernetes API in it."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from multiarch.schema.base import AWS_ID, RetentionDays, Section, reject_duplicates, take_form

Endpoint = Literal[
    "autoscaling",
    "ec2",
    "ec2messages",
    "ecr",
    "eks",
    "eks-auth",
    "elasticloadbalancing",
    "kms",
    "logs",
    "s3",
    "sqs",
    "ssm",
    "ssmmessages",
    "sts",
]
SubnetId = Annotated[str, take_form(f"^subnet-{AWS_ID}$", "the ID of a subnet, such as subnet-0123456789abcdef0")]
VpcId = Annotated[str, take_form(f"^vpc-{AWS_ID}$", "the ID of a VPC, such as vpc-0123456789abcdef0")]
ZoneNames = Annotated[list[str], Field(min_length=2, max_length=6), AfterValidator(reject_duplicates)]


class FlowLogs(Section):
    """Flow logs of a new VPC, in an encrypted CloudWatch log group."""

    traffic: Literal["ACCEPT", "REJECT", "ALL"] = "ALL"
    """Which traffic is logged. Logs of all traffic cost the most."""
    retention_days: RetentionDays = 90
    """How long CloudWatch keeps them."""


class Network(Section):
    """A new VPC (``cidr``, ``zones``, ``nat``, ``endpoints``, ``flowLogs``) or an existing one (``vpcId``)."""

    cidr: str | None = None
    """IPv4 CIDR block of the new VPC, between /16 and /22. Default: 10.0.0.0/16."""
    pod_cidr: Annotated[str | None, Field(examples=["100.64.0.0/16"])] = None
    """A secondary IPv4 CIDR block of the new VPC, between /16 and /25, for pods alone: nodes stay in ``cidr`` (custom
    networking of the VPC CNI). A node then takes fewer pods. Default: pods have addresses of ``cidr``.
    """
    zones: Annotated[int, Field(ge=2, le=6)] | ZoneNames | None = None
    """How many availability zones (2 to 6), or their names. Default: 2. EKS needs two."""
    nat: Literal["none", "single", "per-zone"] | None = None
    """NAT gateways for the private subnets: one per zone survives the loss of a zone, one costs less. Default:
    single.
    """
    endpoints: list[Endpoint] | None = None
    """VPC endpoints. With ``nat: none`` nodes need ec2, ecr, eks, s3, ssm, ssmmessages, ec2messages and sts, and with
    the defaults also eks-auth (Pod Identity) and logs (session logs).
    """
    flow_logs: FlowLogs | None = None
    """Log the traffic of the new VPC, for example ``{traffic: REJECT}``. Default: no flow logs."""
    vpc_id: VpcId | None = None
    """An existing VPC. Then ``privateSubnets`` or ``privateSubnetIds`` is needed too, and cidr, podCidr, zones, nat,
    endpoints and flowLogs are not allowed.
    """
    private_subnets: Annotated[
        dict[str, list[SubnetId]] | None, Field(examples=[{"eu-west-1a": ["subnet-0aaaaaaaaaaaaaaa1"]}])
    ] = None
    """The existing subnets that nodes and the control plane's network interfaces use: lists of IDs by zone, two zones
    at least. Node groups may then have ``zones`` and ``onePerZone``.
    """
    private_subnet_ids: list[SubnetId] | None = None
    """The same as a list of IDs. The zones then have no names here."""
    control_plane_subnet_ids: list[SubnetId] | None = None
    """Subnets for the control plane's network interfaces alone, in two zones at least. Default: those of nodes."""
    pod_subnets: Annotated[dict[str, SubnetId] | None, Field(examples=[{"eu-west-1a": "subnet-0ccccccccccccccc1"}])] = (
        None
    )
    """Existing subnets for pods alone, one for each zone of ``privateSubnets`` (custom networking of the VPC CNI).
    Default: pods have addresses of their node's subnet.
    """
    ip_family: Literal["ipv4", "ipv6"] | None = None
    """The addresses of pods and Services. With ipv6 pods take none of ``cidr``; a new VPC gets an IPv6 CIDR block of
    Amazon's, and subnets of an existing one need theirs. It stays for the cluster's life. Default: ipv4.
    """
    service_cidr: str | None = None
    """IPv4 CIDR block of Kubernetes Services, /12 to /24 of a private CIDR block, apart from the VPC's. Default:
    172.20.0.0/16.
    """


class ApiEndpoint(Section):
    """Who can reach the Kubernetes API server."""

    private: bool = True
    """Reachable from within the VPC."""
    public: bool = False
    """Reachable from the internet, limited to ``publicCidrs``."""
    public_cidrs: list[str] = []
    """Source CIDR blocks for the public endpoint, for example the office's address. Needed when public is true."""
