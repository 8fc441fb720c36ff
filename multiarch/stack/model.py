"""The plan: what one stack is, in frozen values without any AWS or Pulumi type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.errors import Problem
from multiarch.facts.addon_daemon_sets import TERMINATION_HANDLER, AddOnDaemon
from multiarch.facts.architectures import Architecture
from multiarch.facts.autoscalers import Publisher
from multiarch.facts.taints import Taint
from multiarch.frozen import dataclass
from multiarch.nodes.model import NodeGroupPlan, Tags

if TYPE_CHECKING:  # they load the schema of stack files
    from multiarch.schema.cluster import Access, Logging, SecretsEncryption, Session
    from multiarch.schema.fargate import FargateProfile
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


def list_services(endpoints: Iterable[str]) -> list[str]:
    """Return what AWS calls the services of endpoints in a stack file: ``ecr`` stands for two."""
    return sorted(name for each in endpoints for name in (("ecr.api", "ecr.dkr") if each == "ecr" else (each,)))


@dataclass(frozen=True, slots=True)
class NewNetwork:
    """A VPC that the stack makes. ``zones`` holds names, or is empty: then the region's first ``zone_count`` are taken.

    ``endpoints`` are short service names as in :func:`list_services`, sorted. ``pod_subnets``, one for each zone in
    ``pod_cidr``, are for pods alone; without them pods are in the nodes' subnets. ``ipv6``: pods and Services have IPv6
    addresses.
    """

    cidr: str
    zone_count: int
    zones: tuple[str, ...]
    subnets: tuple[SubnetPlan, ...]
    nat: Nat
    endpoints: tuple[str, ...]
    flow_logs: FlowLogs | None = None
    pod_cidr: str | None = None
    pod_subnets: tuple[SubnetPlan, ...] = ()
    ipv6: bool = False

    @property
    def cidrs(self) -> tuple[str, ...]:
        """The CIDR blocks of the VPC."""
        return (self.cidr, self.pod_cidr) if self.pod_cidr else (self.cidr,)

    @property
    def interface_endpoints(self) -> int:
        """How many of its endpoints have network interfaces, one in each zone: ``s3`` is a gateway."""
        return len(list_services(self.endpoints)) - ("s3" in self.endpoints)


@dataclass(frozen=True, slots=True)
class ExistingNetwork:
    """A VPC that is there already.

    ``subnets_by_zone`` are IDs by the name of their zone, empty where the stack names no zones. ``vpc_id`` is empty
    where the VPC follows from an existing cluster. ``control_plane_subnet_ids`` are empty where the control plane uses
    the subnets of nodes. ``pod_subnets`` are for pods alone, one for each zone: zone and ID. ``ipv6``: pods and
    Services have IPv6 addresses.
    """

    vpc_id: str
    private_subnet_ids: tuple[str, ...]
    subnets_by_zone: tuple[tuple[str, tuple[str, ...]], ...] = ()
    control_plane_subnet_ids: tuple[str, ...] = ()
    pod_subnets: tuple[tuple[str, str], ...] = ()
    ipv6: bool = False

    @property
    def every_subnet_id(self) -> tuple[str, ...]:
        """The IDs of all subnets that it names."""
        return (*self.private_subnet_ids, *self.control_plane_subnet_ids, *(each for _, each in self.pod_subnets))

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

    ``service_cidr`` is empty with IPv6, where EKS chooses it. ``upgrade_policy`` and ``tier`` are EKS's words; None is
    not sent, so that EKS's setting stays.
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
    zonal_shift: bool | None = None
    tier: str | None = None

    @property
    def later_inputs(self) -> dict[str, dict[str, object]]:
        """Inputs of ``aws.eks.Cluster``, by their wire names, for which pulumi-eks has no arguments yet."""
        found: dict[str, dict[str, object]] = {}
        if self.zonal_shift is not None:
            found["zonalShiftConfig"] = {"enabled": self.zonal_shift}
        if self.tier is not None:
            found["controlPlaneScalingConfig"] = {"tier": self.tier}
        return found

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
    custom_networking: bool = False
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
class PodRolePlan:
    """The role ``name`` of the pods of ``service_account`` in ``namespace``.

    It gets ``policies``, each an ARN, and ``policy``, a document of its own (JSON) or empty. ``irsa``: pods assume it
    by the cluster's OIDC provider instead of Pod Identity.
    """

    name: str
    namespace: str
    service_account: str
    policies: tuple[str, ...]
    policy: str
    irsa: bool


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
    ``chart_registry`` has copies of others' charts, None where the publishers' are taken; ``image_registries`` those of
    their images, by the publisher's registry; ``acknowledged`` are rules of warnings that the team has decided about,
    each with its reason; ``warnings`` did not reject the stack.
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
    pod_roles: tuple[PodRolePlan, ...]
    fargate_profiles: Mapping[str, FargateProfile]
    session: SessionPlan
    autoscaling: AutoscalingPlan
    storage_class: bool
    termination_handler: bool
    device_plugins: tuple[AddOnDaemon, ...]
    admission_webhook: AdmissionWebhookPlan | None
    rebalance: RebalancePlan | None
    chart_registry: str | None
    image_registries: Mapping[Publisher, str]
    iam: Iam
    acknowledged: tuple[tuple[str, str], ...]
    warnings: tuple[Problem, ...]

    @property
    def security_groups(self) -> tuple[str, ...]:
        """The security groups of nodes in an existing cluster, by ID; empty for the one that EKS made for a cluster."""
        return self.cluster.security_groups if isinstance(self.cluster, ExistingClusterPlan) else ()

    @property
    def own_daemons(self) -> tuple[AddOnDaemon, ...]:
        """The DaemonSets that it installs by Helm, for its nodes."""
        return (*([TERMINATION_HANDLER] if self.termination_handler else []), *self.device_plugins)

    @property
    def reserved(self) -> tuple[str, ...]:
        """The node groups and NodePools whose nodes may run in capacity reservations that the stack names."""
        groups = (each.name for each in self.node_groups if each.capacity_reservation not in {"", "none"})
        pools = (each.name for each in self.autoscaling.pools if each.reserved)
        return (*groups, *pools)

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
