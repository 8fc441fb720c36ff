"""The control plane: encryption, logs, who may use it, or one that is there already; and sessions on its nodes."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from multiarch.errors import KeyPath
from multiarch.schema.base import AWS_ID, NAME_KEY, POLICY_KEY, RetentionDays, Section, reject_duplicates, take_form
from multiarch.schema.network import SubnetId

NEW_CLUSTER_KEYS = (
    "clusterName",
    "network",
    "apiEndpoint",
    "secretsEncryption",
    "logging",
    "access",
    "addons",
    "deletionProtection",
    "storageClass",
    "upgradePolicy",
    "zonalShift",
    "controlPlaneTier",
)
"""The keys of a stack that describe a new cluster."""
CLUSTER_ADMIN_POLICY, VIEW_POLICY = "AmazonEKSClusterAdminPolicy", "AmazonEKSViewPolicy"
SecurityGroupId = Annotated[
    str, take_form(f"^sg-{AWS_ID}$", "the ID of a security group, such as sg-0123456789abcdef0")
]
KeyArn = Annotated[
    str,
    take_form(
        "^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9_-]+$",
        "the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID, not of an alias",
    ),
]
LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]


class ExistingCluster(Section):
    """An EKS cluster that is there already. ``multiarch stack pin`` writes what is below ``existing``."""

    existing: str
    """The name of the cluster. The stack adds nodes to it, and changes nothing else of it."""
    subnets: dict[str, list[SubnetId]] = {}
    """The private subnets of new nodes: lists of IDs by zone."""
    security_groups: list[SecurityGroupId] = []
    """The security groups of new nodes: IDs. Default: the one that EKS made for the cluster. Nodes of other groups than
    the cluster's other nodes may not reach their pods.
    """
    authentication_mode: Literal["API", "API_AND_CONFIG_MAP", "CONFIG_MAP"] | None = None
    """How the cluster knows the roles of nodes: by access entries, or by lines in the ConfigMap ``aws-auth``."""
    ip_family: Literal["ipv4", "ipv6"] | None = None
    """The addresses of pods and Services."""
    prefix_delegation: bool = False
    """Whether the VPC CNI gives nodes /28 prefixes instead of single addresses."""
    custom_networking: bool = False
    """Whether pods have subnets of their own (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG); nodes then take fewer pods."""
    pod_identity_agent: bool = False
    """Whether the Pod Identity agent is installed. Pods that need an IAM role get it through the agent."""


class SecretsEncryption(Section):
    """Envelope encryption of Kubernetes Secrets with a KMS key."""

    enabled: bool = True
    """EKS can't take encryption back: once on, it stays on for the cluster's life."""
    kms_key_arn: KeyArn | None = None
    """An existing key. Default: a key of this stack's own, rotated every year."""


class Logging(Section):
    """Control plane logs in CloudWatch."""

    types: list[LogType] = ["api", "audit", "authenticator"]
    """Which logs are sent."""
    retention_days: RetentionDays = 90
    """How long CloudWatch keeps them."""


class AccessScope(Section):
    """Where an access policy applies."""

    namespaces: Annotated[list[str], AfterValidator(reject_duplicates), Field(min_length=1)] | None = None
    """Namespaces, also with wildcards, such as ``dev-*``. Default: the whole cluster."""


class AccessEntry(Section):
    """One access entry: EKS access policies, Kubernetes groups, or both."""

    principal: str
    """The ARN of an IAM role or user, with its path. ``multiarch stack access --sso NAME`` shows the ARN of a
    permission set's role.
    """
    policies: dict[Annotated[str, Field(pattern=POLICY_KEY)], AccessScope] = {}
    """EKS access policies by name, such as AmazonEKSEditPolicy, each with its scope; ``{}`` is the whole cluster."""
    groups: Annotated[list[str], AfterValidator(reject_duplicates)] = []
    """Kubernetes groups, which RoleBindings and ClusterRoleBindings of your own name."""


class Access(Section):
    """Access entries: which IAM principals may use the Kubernetes API.

    EKS makes the creator of the cluster an admin automatically, and rejects a second entry: omit that role here.
    """

    admins: Annotated[list[str], AfterValidator(reject_duplicates)] = []
    """ARNs of IAM roles or users with AmazonEKSClusterAdminPolicy."""
    readers: Annotated[list[str], AfterValidator(reject_duplicates)] = []
    """ARNs of IAM roles or users with AmazonEKSViewPolicy; it does not show Secrets."""
    entries: dict[Annotated[str, Field(pattern=NAME_KEY)], AccessEntry] = {}
    """More access entries, by a name of your choice: any access policy, for the whole cluster or some namespaces."""

    def list_principals(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the place and the ARN of each principal, in the order of the keys."""
        for key, principals in (("admins", self.admins), ("readers", self.readers)):
            for index, arn in enumerate(principals):
                yield ("access", key, index), arn
        for name, entry in self.entries.items():
            yield ("access", "entries", name, "principal"), entry.principal

    def collect_entries(self) -> Mapping[str, AccessEntry]:
        """Return the access entry of each principal by its ARN, sorted; admins and readers are entries too."""
        simple = ((self.admins, CLUSTER_ADMIN_POLICY), (self.readers, VIEW_POLICY))
        found = {
            arn: AccessEntry(principal=arn, policies={policy: AccessScope()})
            for principals, policy in simple
            for arn in principals
        }
        found |= {entry.principal: entry for entry in self.entries.values()}
        return dict(sorted(found.items()))


class Session(Section):
    """SSM Session Manager preferences; there is no SSH."""

    idle_timeout_minutes: Annotated[int, Field(ge=1, le=60)] = 20
    """End a session after this time without input."""
    max_duration_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None
    """End a session after this time at the latest. Default: no limit."""
    log_to_cloud_watch: bool = True
    """Keep what sessions print in an encrypted CloudWatch log group."""
    log_retention_days: RetentionDays = 90
    """How long CloudWatch keeps them."""
    encrypt: bool = False
    """Encrypt what a session carries with the stack's KMS key, in addition to TLS. Then people need
    ``kms:GenerateDataKey`` on that key, which the output ``sessionPolicy`` allows.
    """
    run_as_user: str | None = None
    """The Linux user of a session. Default: ssm-user."""
