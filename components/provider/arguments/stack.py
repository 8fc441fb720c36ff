"""Generated from multiarch/schema/stack.py by ``make generate``: arguments of components."""

from typing import NotRequired, TypedDict

from .addons import AddonsSettings
from .admission_webhook import AdmissionWebhookSettings
from .autoscaling import AutoscalingSettings
from .cluster import AccessSettings, LoggingSettings, SecretsEncryptionSettings, SessionSettings
from .network import ApiEndpointSettings, NetworkSettings
from .nodes import MultiArchitectureGroupSettings, NodeGroupSettings
from .rebalance import RebalanceSettings


class PlatformArgs(TypedDict):
    """One stack: a cluster with its network and node groups."""

    team: str
    """The team that owns the stack; the first part of the stack's name."""

    environment: str
    """The environment, such as dev or prod; the second part of the stack's name."""

    owner: str
    """Whom to ask: a mail address or a group. Becomes the tag `owner`."""

    costCenter: str
    """Who pays. Becomes the tag `cost-center`."""

    tags: NotRequired[dict[str, str]]
    """More tags for every resource that takes tags."""

    clusterName: NotRequired[str]
    """The EKS cluster's name. Default: the stack's name."""

    kubernetesVersion: NotRequired[str]
    """The Kubernetes minor version, in quotes: unquoted, 1.30 is the number 1.3. Default: 1.35."""

    network: NotRequired[NetworkSettings]
    """A new or an existing VPC."""

    apiEndpoint: NotRequired[ApiEndpointSettings]
    """Who can reach the Kubernetes API server; private by default."""

    secretsEncryption: NotRequired[SecretsEncryptionSettings]
    """Envelope encryption of Secrets."""

    logging: NotRequired[LoggingSettings]
    """Control plane logs."""

    access: NotRequired[AccessSettings]
    """Who is admin, who reads."""

    addons: NotRequired[AddonsSettings]
    """EKS add-ons."""

    amiFamily: NotRequired[str]
    """The operating system of groups that do not name their own. One of AL2, AL2023, Bottlerocket. Default: AL2023."""

    arm64Taint: NotRequired[str]
    """The taint of arm64 nodes, `key=value:Effect`, or `none`. Default: arch=arm64:NoSchedule."""

    nodeGroups: NotRequired[dict[str, NodeGroupSettings]]
    """Node groups by name."""

    multiArchitectureGroups: NotRequired[dict[str, MultiArchitectureGroupSettings]]
    """Pairs of node groups whose pods may use either architecture, by name."""

    session: NotRequired[SessionSettings]
    """SSM Session Manager preferences."""

    autoscaling: NotRequired[AutoscalingSettings]
    """Who adds nodes, and which are wanted first."""

    admissionWebhook: NotRequired[AdmissionWebhookSettings]
    """The admission webhook, which adds the arm64 toleration to pods whose images support both architectures."""

    rebalance: NotRequired[RebalanceSettings]
    """A CronJob that moves pods that could run on arm64 off amd64 nodes."""

    deletionProtection: NotRequired[bool]
    """Refuse to delete the cluster until this is false. Default: true in production (prod, production, live), false
    elsewhere.
    """

    storageClass: NotRequired[bool]
    """Declare an encrypted gp3 StorageClass as the default; needs a way to the Kubernetes API when Pulumi runs.
    Default: on where addons.ebsCsi is on and Pulumi can reach that API (a public endpoint, or an existing VPC).
    """

    nodeTerminationHandler: NotRequired[bool]
    """Drain nodes of self-managed groups before they end, with the AWS Node Termination Handler; needs a way to the
    Kubernetes API when Pulumi runs. Default: on where there are such groups, Pulumi can reach that API, and nodes
    have a route to the registry of its image.
    """
