"""The stack: everything that a team may write, with the sections of the other modules."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field

from multiarch.schema.addons import Addons
from multiarch.schema.autoscaling import Autoscaling
from multiarch.schema.base import NAME_KEY, LaterSection, Section, TopLevelFlag, get_section_default
from multiarch.schema.charts import Charts
from multiarch.schema.cluster import Access, ExistingCluster, Logging, SecretsEncryption, Session
from multiarch.schema.fargate import FargateProfile
from multiarch.schema.iam import Iam
from multiarch.schema.kubelet import RegistryMirrors
from multiarch.schema.network import ApiEndpoint, Network
from multiarch.schema.nodes import AmiFamilyName, MultiArchitectureGroup, NodeGroup

if TYPE_CHECKING:
    from multiarch.schema.admission_webhook import AdmissionWebhook
    from multiarch.schema.rebalance import Rebalance

    OptionalWebhook = AdmissionWebhook | None
    OptionalRebalance = Rebalance | None
else:
    OptionalWebhook = LaterSection("multiarch.schema.admission_webhook", "AdmissionWebhook")
    OptionalRebalance = LaterSection("multiarch.schema.rebalance", "Rebalance")


class StackSpec(Section):
    """One stack: a cluster with its network and node groups."""

    team: str
    """The team that owns the stack; the first part of the stack's name."""
    environment: str
    """The environment, such as dev or prod; the second part of the stack's name."""
    owner: str
    """Whom to contact: a mail address or a group. Becomes the tag ``owner``."""
    cost_center: str
    """Who pays. Becomes the tag ``cost-center``."""
    tags: Annotated[dict[str, str], Field(max_length=40)] = {}
    """More tags for every resource that takes tags."""
    required_tags: list[str] = []
    """Keys that the tags of every resource must have, such as data-classification: the stack's own or those in
    ``tags``. An organisation sets this in the ``defaults`` of Pulumi.yaml.
    """
    iam: Iam = get_section_default(Iam)
    """The IAM roles of the stack: permissions boundary, path, roles that exist already."""
    cluster_name: str | None = None
    """The EKS cluster's name. Default: the stack's name."""
    kubernetes_version: str = "1.35"
    """The Kubernetes minor version, in quotes: unquoted, 1.30 is the number 1.3."""
    upgrade_policy: Literal["STANDARD", "EXTENDED"] | None = None
    """What EKS does at the end of standard support. STANDARD: upgrade the cluster to the next minor version. EXTENDED:
    keep it, at six times the price per cluster hour. Default: EKS's, which is EXTENDED.
    """
    zonal_shift: TopLevelFlag | None = None
    """Whether traffic in the cluster can be shifted away from an impaired zone. Application Recovery Controller (ARC)
    does it when you start a shift, or have autoshift on. To turn it off write false. Default: EKS's, which is off.
    """
    control_plane_tier: Literal["standard", "tier-xl", "tier-2xl", "tier-4xl", "tier-8xl"] | None = None
    """The control plane's scaling tier. Every tier but standard is provisioned, at a price per hour. Default: EKS's,
    which is standard.
    """
    node_repair: TopLevelFlag | None = None
    """Let EKS replace or reboot nodes of managed groups that stay unhealthy. Without the add-on
    eks-node-monitoring-agent it sees the kubelet's conditions only. Default: EKS's, which is off.
    """
    cluster: ExistingCluster | None = None
    """An EKS cluster that is there already. Default: a new one. The keys that describe a new cluster (clusterName,
    network, apiEndpoint, secretsEncryption, logging, access, addons, deletionProtection, storageClass, upgradePolicy,
    zonalShift, controlPlaneTier) are then rejected.
    """
    network: Network = get_section_default(Network)
    """A new or an existing VPC."""
    api_endpoint: ApiEndpoint = get_section_default(ApiEndpoint)
    """Who can reach the Kubernetes API server; private by default."""
    secrets_encryption: SecretsEncryption = get_section_default(SecretsEncryption)
    """Envelope encryption of Secrets."""
    logging: Logging = get_section_default(Logging)
    """Control plane logs."""
    access: Access = get_section_default(Access)
    """Who is admin, who reads."""
    addons: Addons = get_section_default(Addons)
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
    fargate_profiles: dict[Annotated[str, Field(pattern=NAME_KEY)], FargateProfile] = {}
    """Fargate profiles by name: pods that run on AWS Fargate, without nodes, on amd64."""
    registry_mirrors: RegistryMirrors = {}
    """Mirrors that containerd tries before a registry, on all nodes: https URLs without a path, by the registry's
    host. They are used without credentials.
    """
    session: Session = get_section_default(Session)
    """SSM Session Manager preferences."""
    autoscaling: Autoscaling = get_section_default(Autoscaling)
    """Who adds nodes, and which are wanted first."""
    admission_webhook: OptionalWebhook = None
    """The admission webhook, which adds the arm64 toleration to pods whose images support both architectures."""
    rebalance: OptionalRebalance = None
    """A CronJob that moves pods that could run on arm64 off amd64 nodes."""
    charts: Charts = get_section_default(Charts)
    """Where the Helm charts of the autoscalers, node termination handler and device plugins come from."""
    acknowledge: dict[str, Annotated[str, Field(min_length=1)]] = {}
    """Warnings that the team has decided about: a rule's name, and the reason. They are shown with it and no longer
    count (``stack check --strict``). Errors can't be acknowledged; an entry that no warning needs is a warning itself.
    """
    deletion_protection: TopLevelFlag | None = None
    """Do not delete the cluster until this is false. Default: true in production (prod, production, live), false
    elsewhere.
    """
    storage_class: TopLevelFlag | None = None
    """Declare an encrypted gp3 StorageClass as the default; needs a way to the Kubernetes API when Pulumi runs.
    Default: on where addons.ebsCsi is on and Pulumi can reach that API (a public endpoint, or an existing VPC).
    """
    node_termination_handler: TopLevelFlag | None = None
    """Drain nodes of self-managed groups before they end, with the AWS Node Termination Handler; needs a way to the
    Kubernetes API when Pulumi runs. Not on an existing cluster, where it would drain nodes of others. Default: on where
    there are such groups, Pulumi can reach that API, and nodes have a route to the registry of its image.
    """
    gpu_device_plugin: TopLevelFlag | None = None
    """Install NVIDIA's device plugin, without which nodes with GPUs give pods no ``nvidia.com/gpu``; it tolerates every
    taint. Needs a way to the Kubernetes API when Pulumi runs. Not for Bottlerocket and EKS Auto Mode, which have it.
    With false you install it yourself, alone or with NVIDIA's GPU operator. Default: off.
    """
    efa_device_plugin: TopLevelFlag | None = None
    """Install the EFA device plugin, without which nodes with EFA interfaces give pods no ``vpc.amazonaws.com/efa``; it
    tolerates every taint, and serves Karpenter's nodes too. Needs a way to the Kubernetes API when Pulumi runs. With
    false you install it yourself, or the EFA DRA driver in its place. Default: off.
    """

    @property
    def has_node_groups(self) -> bool:
        """Whether the stack has node groups of either kind; without any, an autoscaler alone adds nodes."""
        return bool(self.node_groups or self.multi_architecture_groups)

    def with_all_sections(self) -> Self:
        """Return the stack with the defaults of the sections too that are loaded only where a file has them."""
        from multiarch.schema.admission_webhook import AdmissionWebhook  # noqa: PLC0415  (most files omit both)
        from multiarch.schema.rebalance import Rebalance  # noqa: PLC0415

        webhook = self.admission_webhook or AdmissionWebhook.model_construct()
        return self.model_copy(
            update={"admission_webhook": webhook, "rebalance": self.rebalance or Rebalance.model_construct()}
        )
