"""The plan: what one stack is, in frozen values without any AWS or Pulumi type."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.errors import Problem
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.frozen import dataclass
from multiarch.nodes.model import NodeGroupPlan, Tags

if TYPE_CHECKING:  # they load the schema of stack files
    from multiarch.schema.cluster import Access, Logging, SecretsEncryption, Session
    from multiarch.schema.iam import Iam
    from multiarch.schema.network import ApiEndpoint, FlowLogs
    from multiarch.schema.rebalance import RebalancePlan
    from multiarch.schema.webhook_installation import InstallationValues
    from multiarch.stack.identity import AwsIdentity

__all__ = [
    "AddonPlan",
    "AdmissionWebhookPlan",
    "ClusterPlan",
    "ExistingClusterPlan",
    "ExistingNetwork",
    "Nat",
    "NewNetwork",
    "Plan",
    "SessionPlan",
    "SubnetPlan",
]


class Nat(StrEnum):
    """How private subnets reach the internet."""

    NONE = "none"
    SINGLE = "single"
    PER_ZONE = "per-zone"


@dataclass(frozen=True, slots=True)
class SubnetPlan:
    """One subnet of a new VPC. ``zone`` is the index of the zone (0-based), ``name`` such as ``private-0``."""

    name: str
    public: bool
    cidr: str
    zone: int


@dataclass(frozen=True, slots=True)
class NewNetwork:
    """A VPC that the stack makes. ``zones`` holds names, or is empty: then the region's first ``zone_count`` are taken.

    ``endpoints`` are short service names (``ecr`` stands for ``ecr.api`` and ``ecr.dkr``), sorted.
    """

    cidr: str
    zone_count: int
    zones: tuple[str, ...]
    subnets: tuple[SubnetPlan, ...]
    nat: Nat
    endpoints: tuple[str, ...]
    flow_logs: FlowLogs | None = None

    @property
    def interface_endpoints(self) -> int:
        """How many of its endpoints have network interfaces, one in each zone: ``ecr`` is two, ``s3`` is a gateway."""
        return len(self.endpoints) + ("ecr" in self.endpoints) - ("s3" in self.endpoints)


@dataclass(frozen=True, slots=True)
class ExistingNetwork:
    """A VPC that is there already.

    ``subnets_by_zone`` are IDs by the name of their zone, empty where the stack names no zones. ``vpc_id`` is empty
    where the VPC follows from an existing cluster. ``control_plane_subnet_ids`` are empty where the control plane uses
    the subnets of nodes.
    """

    vpc_id: str
    private_subnet_ids: tuple[str, ...]
    subnets_by_zone: tuple[tuple[str, tuple[str, ...]], ...] = ()
    control_plane_subnet_ids: tuple[str, ...] = ()

    @property
    def zones(self) -> tuple[str, ...]:
        """The names of the zones, empty where the stack names none."""
        return tuple(zone for zone, _ in self.subnets_by_zone)

    @property
    def zone_count(self) -> int:
        """How many zones; one for each subnet where the stack names none."""
        return len(self.subnets_by_zone) or len(self.private_subnet_ids)

    def choose_subnets(self, zones: Sequence[str]) -> frozenset[str]:
        """Return the subnets in some zones; all of them without zones."""
        named = {each for zone, subnets in self.subnets_by_zone if zone in zones for each in subnets}
        return frozenset(named if zones else self.private_subnet_ids)


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """The control plane. An encryption without a key of its own takes one that is created for the stack.

    ``upgrade_policy`` is EKS's word; None is not sent, so that EKS's setting stays.
    """

    name: str
    version: str
    service_cidr: str
    deletion_protection: bool
    endpoint: ApiEndpoint
    encryption: SecretsEncryption
    logging: Logging
    access: Access
    upgrade_policy: str | None = None

    @property
    def log_group_name(self) -> str:
        """The log group that EKS writes to. Source: EKS user guide, "Send control plane logs to CloudWatch Logs"."""
        return f"/aws/eks/{self.name}/cluster"


@dataclass(frozen=True, slots=True)
class ExistingClusterPlan:
    """A cluster that the stack does not manage. ``authentication_mode`` is EKS's word, such as API_AND_CONFIG_MAP.

    ``security_groups`` are those of nodes, empty for the one that EKS made for the cluster.
    """

    name: str
    version: str
    authentication_mode: str
    pod_identity_agent: bool
    prefix_delegation: bool
    security_groups: tuple[str, ...] = ()

    @property
    def takes_access_entries(self) -> bool:
        """Whether roles can have access entries; otherwise nodes join by lines in the ConfigMap ``aws-auth``."""
        return self.authentication_mode != "CONFIG_MAP"


@dataclass(frozen=True, slots=True)
class AddonPlan:
    """One EKS add-on. ``configuration`` is JSON (sorted keys) or empty. ``extra``: by its name in ``addons.extra``.

    ``before_nodes``: nodes need it to become ready.
    ``service_account`` in ``namespace`` is set when its pods need an IAM role through Pod Identity. The role gets
    ``policies``, each an ARN or what AWS manages (path and name without the partition's ARN), and ``policy``, a
    document of its own (JSON) or empty. ``namespace`` is empty where it is unknown.
    """

    name: str
    version: str | None
    configuration: str
    before_nodes: bool
    service_account: str | None
    policies: tuple[str, ...] = ()
    policy: str = ""
    namespace: str = "kube-system"
    extra: bool = False


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """SSM Session Manager preferences, and the names of their document and log group; None: sessions are not logged."""

    settings: Session
    document_name: str
    log_group_name: str | None

    @property
    def needs_key(self) -> bool:
        """Whether a KMS key encrypts sessions or their log."""
        return self.settings.encrypt or self.log_group_name is not None


@dataclass(frozen=True, slots=True)
class AdmissionWebhookPlan:
    """The admission webhook.

    ``values.configuration`` has the stack's taints and architectures where the file names none. ``ecr_repositories``
    are names or ARNs, possibly with ``*``, sorted; empty where the webhook needs no IAM role.
    """

    values: InstallationValues
    ecr_repositories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one stack's components declare.

    ``stack`` is ``TEAM-ENV``; ``region`` may be None where neither file nor engine says it; ``identity`` is that which
    Pulumi uses for AWS; ``tags`` go onto every taggable resource; ``arm64_taint`` is None when there is none;
    ``chart_registry`` has copies of others' charts, None where the publishers' are taken; ``acknowledged`` are rules of
    warnings that the team has decided about, each with its reason; ``warnings`` did not reject the stack.
    """

    stack: str
    team: str
    environment: str
    region: str | None
    identity: AwsIdentity
    tags: Tags
    cluster: ClusterPlan | ExistingClusterPlan
    network: NewNetwork | ExistingNetwork
    arm64_taint: Taint | None
    node_groups: tuple[NodeGroupPlan, ...]
    addons: tuple[AddonPlan, ...]
    session: SessionPlan
    autoscaling: AutoscalingPlan
    storage_class: bool
    termination_handler: bool
    admission_webhook: AdmissionWebhookPlan | None
    rebalance: RebalancePlan | None
    chart_registry: str | None
    iam: Iam
    acknowledged: tuple[tuple[str, str], ...]
    warnings: tuple[Problem, ...]

    @property
    def security_groups(self) -> tuple[str, ...]:
        """The security groups of nodes in an existing cluster, by ID; empty for the one that EKS made for a cluster."""
        return self.cluster.security_groups if isinstance(self.cluster, ExistingClusterPlan) else ()

    @property
    def architectures(self) -> frozenset[Architecture]:
        """The architectures of its node groups and NodePools."""
        found = {group.architecture for group in self.node_groups}
        return frozenset(found | {each.architecture for pool in self.autoscaling.pools for each in pool.capacities})

    @property
    def own_cluster(self) -> ClusterPlan:
        """The cluster that the stack manages. Raises TypeError for one that was there before."""
        if isinstance(self.cluster, ExistingClusterPlan):
            raise TypeError(f"{self.cluster.name} is not managed by {self.stack}")
        return self.cluster
