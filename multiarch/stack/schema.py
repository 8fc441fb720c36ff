"""What a team may write in ``config/stacks/Pulumi.TEAM-ENV.yaml``.

The models are strict: a key that is not named here is an error, a string is not a number. They hold the
team's words and nothing derived; ``multiarch.stack.plan`` derives the rest. ``config/stack.schema.json`` is
generated from them, so every field's description is what an editor shows.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Words(BaseModel):
    """Base of all models: camelCase keys, strict types, unknown keys refused, frozen."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
        validate_by_alias=True,
    )


def _flag(value: object) -> object:
    """Pulumi hands top-level configuration over as strings; ``"true"`` and ``"false"`` are what it makes of a flag."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


TopLevelFlag = Annotated[bool, BeforeValidator(_flag)]
TaintText = Annotated[str, Field(examples=["arch=arm64:NoSchedule"])]
AmiFamilyName = Literal["AL2", "AL2023", "Bottlerocket"]
LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]
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


class Network(Words):
    """A new VPC (``cidr``, ``zones``, ``nat``, ``endpoints``) or an existing one (``vpcId`` with its subnets)."""

    cidr: str | None = None
    """IPv4 range of the new VPC, between /16 and /22. Default: 10.0.0.0/16."""
    zones: Annotated[int, Field(ge=2, le=6)] | list[str] | None = None
    """How many availability zones (2 to 6), or their names. Default: 2. EKS needs two."""
    nat: Literal["none", "single", "per-zone"] | None = None
    """NAT gateways for the private subnets: one per zone survives the loss of a zone, one costs less. Default:
    single.
    """
    endpoints: list[Endpoint] | None = None
    """VPC endpoints. With ``nat: none`` nodes need ec2, ecr, eks, s3, ssm, ssmmessages, ec2messages and sts, and with
    the defaults also eks-auth (Pod Identity) and logs (session logs).
    """
    vpc_id: str | None = None
    """An existing VPC. Then ``privateSubnetIds`` is needed too, and cidr, zones, nat and endpoints are not allowed."""
    private_subnet_ids: list[str] | None = None
    """The existing subnets that nodes and the control plane's network interfaces use; two zones at least."""
    service_cidr: str | None = None
    """IPv4 range of Kubernetes Services, /12 to /24 of a private range, apart from the VPC's. Default:
    172.20.0.0/16.
    """


class ApiEndpoint(Words):
    """Who can reach the Kubernetes API server."""

    private: bool = True
    """Reachable from within the VPC."""
    public: bool = False
    """Reachable from the internet, limited to ``publicCidrs``."""
    public_cidrs: list[str] = []
    """Source ranges for the public endpoint, for example the office's address. Needed when public is true."""


class SecretsEncryption(Words):
    """Envelope encryption of Kubernetes Secrets with a KMS key."""

    enabled: bool = True
    """EKS can't take encryption back: once on, it stays on for the cluster's life."""
    kms_key_arn: str | None = None
    """An existing key. Default: a key of this stack's own, rotated every year."""


class Logging(Words):
    """Control plane logs in CloudWatch."""

    types: list[LogType] = ["api", "audit", "authenticator"]
    """Which logs are sent."""
    retention_days: Literal[
        1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
    ] = 90
    """How long CloudWatch keeps them."""


class Access(Words):
    """Access entries: which IAM principals may use the Kubernetes API.

    EKS makes whoever creates the cluster an admin by itself, and refuses a second entry: do not name that role here.
    """

    admins: list[str] = []
    """ARNs of IAM roles or users with AmazonEKSClusterAdminPolicy."""
    readers: list[str] = []
    """ARNs of IAM roles or users with AmazonEKSViewPolicy; it does not show Secrets."""


class Addon(Words):
    """One EKS add-on."""

    enabled: bool = True
    """Install it."""
    version: str | None = None
    """An exact version such as ``v1.12.4-eksbuild.1``. ``multiarch stack pin`` writes it. Default: EKS's default
    for the cluster's version.
    """


class VpcCniAddon(Addon):
    """The VPC CNI add-on."""

    prefix_delegation: bool = False
    """Give nodes /28 prefixes instead of single addresses: more pods per node, more addresses per subnet."""


class Addons(Words):
    """The add-ons that a cluster needs; all are on by default."""

    vpc_cni: VpcCniAddon = VpcCniAddon()
    """Pod networking (vpc-cni)."""
    coredns: Addon = Addon()
    """Cluster DNS; made to tolerate the arm64 taint."""
    kube_proxy: Addon = Addon()
    """Service networking (kube-proxy)."""
    ebs_csi: Addon = Addon()
    """EBS volumes (aws-ebs-csi-driver) with an encrypted gp3 StorageClass as the default; its controller tolerates
    the arm64 taint.
    """
    pod_identity_agent: Addon = Addon()
    """IAM roles for pods (eks-pod-identity-agent); the EBS CSI driver's role needs it."""


class Ami(Words):
    """Which image release, exactly. Without it AWS's "recommended" of the day is used, and ``stack check`` says so."""

    release: str | None = None
    """The EKS AMI release of a managed group, such as ``1.35.0-20260715``. ``multiarch stack pin`` writes it."""
    id: str | None = None
    """An AMI: your own, or the pinned EKS image of a self-managed group. The user data then owns the whole
    bootstrap.
    """


class Bootstrap(Words):
    """What happens on the node before and when the kubelet starts."""

    mode: Literal["eks", "user-data"] | None = None
    """Who starts the kubelet. Derived: ``eks`` for a managed group without ``ami.id``, else ``user-data``. Written
    down, it is checked.
    """
    pre_bootstrap: str | None = None
    """A shell script that runs before the kubelet starts (AL2, AL2023). It must not start the kubelet itself."""
    kubelet_extra_args: list[str] = []
    """More kubelet flags, such as ``--image-gc-high-threshold=70``. Labels and taints have their own keys."""


class UpdateStrategy(Words):
    """How nodes are replaced. One of the two limits; default: maxUnavailable 1."""

    max_unavailable: Annotated[int, Field(ge=1, le=100)] | None = None
    """Nodes that may be away at once."""
    max_unavailable_percentage: Annotated[int, Field(ge=1, le=100)] | None = None
    """The same in per cent of the group."""
    force: bool = False
    """Managed groups: go on when a PodDisruptionBudget does not let a pod leave."""


class NodeGroupWords(Words):
    """What single-architecture and multi-architecture groups have in common."""

    kind: Literal["managed", "self-managed"] = "managed"
    """``managed``: an EKS managed node group. ``self-managed``: an Auto Scaling Group whose user data bootstraps
    the node.
    """
    capacity_type: Literal["on-demand", "spot"] = "on-demand"
    """Spot capacity is cheaper and can be taken back within two minutes; give it several instance types."""
    min_size: Annotated[int, Field(ge=0)] = 1
    """Fewest nodes."""
    desired_size: Annotated[int, Field(ge=0)] | None = None
    """Nodes at creation; afterwards an autoscaler's business, and a change here is ignored. Default: minSize."""
    max_size: Annotated[int, Field(ge=1)] = 3
    """Most nodes."""
    ami_family: AmiFamilyName | None = None
    """Operating system. Default: the stack's ``amiFamily``."""
    disk_size: Annotated[int, Field(ge=20, le=16384)] = 50
    """Root (Bottlerocket: data) volume in GiB, at least the image's own 20; encrypted gp3."""
    labels: dict[str, str] = {}
    """Node labels."""
    taints: list[TaintText] = []
    """Taints as kubectl writes them, ``key=value:NoSchedule``; the arm64 taint comes by itself."""
    arm64_taint: bool = True
    """Carry the stack's ``arm64Taint`` (arm64 groups, and both halves of a multi-architecture group)."""
    bootstrap: Bootstrap = Bootstrap()
    """What happens before and when the kubelet starts."""
    max_pods: Annotated[int, Field(ge=4, le=737)] | None = None
    """Pods per node. Default: what the VPC CNI can address on the smallest of the group's instance types."""
    imds_hop_limit: Annotated[int, Field(ge=1, le=64)] = 1
    """Hops to the instance metadata service: 1 keeps pods away from the node's role. IMDSv2 is always required."""
    update_strategy: UpdateStrategy = UpdateStrategy()
    """How nodes are replaced."""
    zones: list[str] | None = None
    """Only these availability zones (names) of the network's. Default: all."""


class NodeGroup(NodeGroupWords):
    """A node group of one architecture, which follows from its instance types."""

    instance_types: Annotated[list[str], Field(min_length=1, max_length=20)]
    """EC2 instance types, in order of preference, all of one architecture."""
    ami_type: str | None = None
    """The EKS API's amiType, where the derived one is not wanted, such as ``BOTTLEROCKET_ARM_64_FIPS``. It is
    checked against the instance types.
    """
    ami: Ami = Ami()
    """Which image release, exactly."""


class InstanceTypesByArchitecture(Words):
    """Instance types for each half of a multi-architecture group."""

    amd64: Annotated[list[str], Field(min_length=1, max_length=20)]
    """amd64 instance types."""
    arm64: Annotated[list[str], Field(min_length=1, max_length=20)]
    """arm64 (Graviton) instance types."""


class AmiByArchitecture(Words):
    """Image releases for each half of a multi-architecture group."""

    amd64: Ami = Ami()
    """The amd64 half's image."""
    arm64: Ami = Ami()
    """The arm64 half's image."""


class MultiArchitectureGroup(NodeGroupWords):
    """Two node groups, ``NAME-amd64`` and ``NAME-arm64``, alike but for the architecture.

    Both carry the stack's arm64Taint, so that only pods that tolerate it, those with images for both
    architectures, land there, and those may use either half. Sizes count for each half.
    """

    instance_types: InstanceTypesByArchitecture
    """EC2 instance types for each architecture."""
    ami: AmiByArchitecture = AmiByArchitecture()
    """Which image releases, exactly."""


class Session(Words):
    """SSM Session Manager preferences; there is no SSH."""

    idle_timeout_minutes: Annotated[int, Field(ge=1, le=60)] = 20
    """End a session after this time without input."""
    max_duration_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None
    """End a session after this time at the latest. Default: no limit."""
    log_to_cloud_watch: bool = True
    """Keep what sessions print in an encrypted CloudWatch log group."""
    log_retention_days: Literal[
        1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
    ] = 90
    """How long CloudWatch keeps them."""
    run_as_user: str | None = None
    """The Linux user of a session. Default: ssm-user."""


KindName = Literal["arm64-spot", "arm64-on-demand", "amd64-spot", "amd64-on-demand"]


class ClusterAutoscaler(Words):
    """The cluster autoscaler, where ``autoscaling.use`` is ``cluster-autoscaler``."""

    priorities: dict[str, int] = {}
    """Priorities of single groups, by name, where the order of capacities is not enough. The higher wins; 1 or more."""
    scale_down_unneeded_minutes: Annotated[int, Field(ge=1, le=1440)] = 10
    """A node is taken away after this long below the utilization."""
    scale_down_delay_after_add_minutes: Annotated[int, Field(ge=0, le=1440)] = 10
    """No node is taken away for this long after one was added."""
    scale_down_utilization_percent: Annotated[int, Field(ge=1, le=99)] = 50
    """Below this share of requested CPU and memory a node counts as unneeded."""
    service_monitor: bool = False
    """Declare a ServiceMonitor for Prometheus' operator, whose CRDs must be there."""


class QuietHours(Words):
    """When Karpenter disrupts nothing by itself."""

    schedule: str
    """The beginning, as cron in UTC: ``0 8 * * mon-fri``."""
    duration: str
    """How long, such as ``10h`` or ``8h30m``."""


class NodePoolWords(Words):
    """A wish for capacity, which becomes one NodePool per architecture and capacity type, or a single one for both."""

    architectures: Annotated[list[Literal["amd64", "arm64"]], Field(min_length=1)] = ["arm64", "amd64"]
    """Which architectures."""
    capacity_types: Annotated[list[Literal["on-demand", "spot"]], Field(min_length=1)] = ["spot", "on-demand"]
    """How capacity may be bought."""
    multi_architecture: bool = False
    """One NodePool per capacity type for both architectures, with the arm64 taint on all of its nodes."""
    categories: Annotated[list[str], Field(min_length=1)] = ["c", "m", "r"]
    """Instance categories, the letters before the generation."""
    families: list[str] = []
    """Only these families, such as m7g; in place of categories and generation."""
    instance_types: list[str] = []
    """Only these types; in place of categories, generation, families and sizes."""
    min_generation: Annotated[int, Field(ge=1, le=20)] = 6
    """The oldest generation."""
    sizes: list[str] = []
    """Only these sizes, such as large and xlarge. Default: any but bare metal."""
    zones: list[str] = []
    """Only these zones. Default: those of the private subnets."""
    labels: dict[str, str] = {}
    """Node labels."""
    taints: list[TaintText] = []
    """Taints as kubectl writes them; the arm64 taint comes by itself."""
    arm64_taint: bool = True
    """Carry the stack's arm64Taint on arm64 nodes."""
    weight: Annotated[int, Field(ge=1, le=100)] | None = None
    """The weight, where the order of capacities is not enough; only for one architecture and one capacity type."""
    replicas: Annotated[int, Field(ge=0)] | None = None
    """A static number of nodes: refused, because Karpenter allows no weight beside it, and so no preferred order."""
    cpu_limit: Annotated[int, Field(ge=1)] | None = None
    """The most vCPUs of each NodePool."""
    memory_limit: str | None = None
    """The most memory of each NodePool, such as 512Gi."""
    budget: str = "10%"
    """Nodes that may be disrupted at once, a number or per cent."""
    quiet_hours: QuietHours | None = None
    """When nothing is disrupted."""
    consolidation: Literal["WhenEmpty", "WhenEmptyOrUnderutilized"] = "WhenEmptyOrUnderutilized"
    """When Karpenter takes nodes away or replaces them by cheaper ones."""
    consolidate_after: str = "1m"
    """How long a node is left alone after its pods changed; ``Never`` turns consolidation off."""
    expire_after: str = "720h"
    """The age at which a node is replaced; ``Never`` keeps it."""


class Karpenter(Words):
    """Karpenter, where ``autoscaling.use`` is ``karpenter``."""

    version: str | None = None
    """The version of its charts, such as 1.14.1, where the pinned one is not wanted yet."""
    controller_group: str | None = None
    """The managed node group that runs the controller. Default: the only one that it can run on."""
    ami_alias: str | None = None
    """The image release for all pools, such as ``al2023@v20260715``; ``multiarch stack pin`` writes it."""
    disk_size: Annotated[int, Field(ge=20, le=16384)] = 50
    """Volume in GiB; encrypted gp3."""
    imds_hop_limit: Annotated[int, Field(ge=1, le=64)] = 1
    """Hops to the instance metadata service."""
    node_pools: dict[str, NodePoolWords] = {}
    """Wishes for capacity by name. Default: one, ``general``, with everything's default."""


class Autoscaling(Words):
    """Who adds nodes, and which are wanted first. The same words drive both autoscalers."""

    use: Literal["none", "cluster-autoscaler", "karpenter"] = "none"
    """The autoscaler."""
    prefer: Literal["arm64", "amd64"] = "arm64"
    """The architecture that is tried first: its spot, then its on-demand capacity, then the other's."""
    order: Annotated[list[KindName], Field(min_length=1)] | None = None
    """All kinds of capacity in order, where ``prefer`` is not enough, such as [arm64-on-demand, amd64-on-demand].
    Karpenter buys no others; node groups of others come last.
    """
    migrate_from: Literal["cluster-autoscaler", "karpenter"] | None = None
    """The autoscaler that is being left: both are installed, the old one's capacity is the last to be chosen."""
    cluster_autoscaler: ClusterAutoscaler = ClusterAutoscaler()
    """The cluster autoscaler's settings."""
    karpenter: Karpenter = Karpenter()
    """Karpenter's settings."""


class StackWords(Words):
    """One stack: a cluster with its network and node groups."""

    team: str
    """The team that owns the stack; the first part of the stack's name."""
    environment: str
    """The environment, such as dev or prod; the second part of the stack's name."""
    owner: str
    """Whom to ask: a mail address or a group. Becomes the tag ``owner``."""
    cost_center: str
    """Who pays. Becomes the tag ``cost-center``."""
    tags: dict[str, str] = {}
    """More tags for every resource that takes tags."""
    cluster_name: str | None = None
    """The EKS cluster's name. Default: the stack's name."""
    kubernetes_version: str = "1.35"
    """The Kubernetes minor version, in quotes: unquoted, 1.30 is the number 1.3."""
    network: Network = Network()
    """A new or an existing VPC."""
    api_endpoint: ApiEndpoint = ApiEndpoint()
    """Who can reach the Kubernetes API server; private by default."""
    secrets_encryption: SecretsEncryption = SecretsEncryption()
    """Envelope encryption of Secrets."""
    logging: Logging = Logging()
    """Control plane logs."""
    access: Access = Access()
    """Who is admin, who reads."""
    addons: Addons = Addons()
    """EKS add-ons."""
    ami_family: AmiFamilyName = "AL2023"
    """The operating system of groups that do not name their own."""
    arm64_taint: Annotated[
        str, Field(examples=["arch=arm64:NoSchedule", "kubernetes.io/arch=arm64:NoSchedule", "none"])
    ] = "arch=arm64:NoSchedule"
    """The taint of arm64 nodes, ``key=value:Effect``, or ``none``."""
    node_groups: dict[str, NodeGroup] = {}
    """Node groups by name."""
    multi_architecture_groups: dict[str, MultiArchitectureGroup] = {}
    """Pairs of node groups whose pods may use either architecture, by name."""
    session: Session = Session()
    """SSM Session Manager preferences."""
    autoscaling: Autoscaling = Autoscaling()
    """Who adds nodes, and which are wanted first."""
    deletion_protection: TopLevelFlag | None = None
    """Refuse to delete the cluster until this is false. Default: true in production (prod, production, live), false
    elsewhere.
    """
    storage_class: TopLevelFlag | None = None
    """Declare an encrypted gp3 StorageClass as the default; needs a way to the Kubernetes API when Pulumi runs.
    Default: on where addons.ebsCsi is on and Pulumi can reach that API (a public endpoint, or an existing VPC).
    """
