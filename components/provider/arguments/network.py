"""Generated from multiarch/schema/network.py by ``make generate``: arguments of components."""

from typing import Any, NotRequired, TypedDict


class ApiEndpointSettings(TypedDict):
    """Who can reach the Kubernetes API server."""

    private: NotRequired[bool]
    """Reachable from within the VPC. Default: true."""

    public: NotRequired[bool]
    """Reachable from the internet, limited to `publicCidrs`. Default: false."""

    publicCidrs: NotRequired[list[str]]
    """Source ranges for the public endpoint, for example the office's address. Needed when public is true."""


class FlowLogsSettings(TypedDict):
    """Flow logs of a new VPC, in an encrypted CloudWatch log group."""

    traffic: NotRequired[str]
    """Which traffic is logged. Logs of all traffic cost the most. One of ACCEPT, REJECT, ALL. Default: ALL."""

    retentionDays: NotRequired[int]
    """How long CloudWatch keeps them. One of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096,
    1827, 2192, 2557, 2922, 3288, 3653. Default: 90.
    """


class NetworkSettings(TypedDict):
    """A new VPC (`cidr`, `zones`, `nat`, `endpoints`, `flowLogs`) or an existing one (`vpcId`)."""

    cidr: NotRequired[str]
    """IPv4 range of the new VPC, between /16 and /22. Default: 10.0.0.0/16."""

    zones: NotRequired[Any]
    """How many availability zones (2 to 6), or their names. Default: 2. EKS needs two."""

    nat: NotRequired[str]
    """NAT gateways for the private subnets: one per zone survives the loss of a zone, one costs less. Default: single.
    One of none, single, per-zone.
    """

    endpoints: NotRequired[list[str]]
    """VPC endpoints. With `nat: none` nodes need ec2, ecr, eks, s3, ssm, ssmmessages, ec2messages and sts, and with
    the defaults also eks-auth (Pod Identity) and logs (session logs).
    """

    flowLogs: NotRequired[FlowLogsSettings]
    """Log the traffic of the new VPC, for example `{traffic: REJECT}`. Default: no flow logs."""

    vpcId: NotRequired[str]
    """An existing VPC. Then `privateSubnetIds` is needed too, and cidr, zones, nat, endpoints and flowLogs are not
    allowed.
    """

    privateSubnetIds: NotRequired[list[str]]
    """The existing subnets that nodes and the control plane's network interfaces use; two zones at least."""

    serviceCidr: NotRequired[str]
    """IPv4 range of Kubernetes Services, /12 to /24 of a private range, apart from the VPC's. Default: 172.20.0.0/16.
    """
