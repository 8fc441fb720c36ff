"""What a node group is, derived once: the frozen values that components, simulator, audits and verifier read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from multiarch.facts.ami_families import AmiFamily, AmiType
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType
from multiarch.facts.taints import Taint
from multiarch.manifests.values import Labels

__all__ = ["BootstrapCase", "CapacityType", "NodeGroupKind", "NodeGroupPlan", "Sizes"]

Tags = tuple[tuple[str, str], ...]
"""AWS tags, sorted by key: hashable, and the same bytes every time."""


class NodeGroupKind(StrEnum):
    """Who runs the group: the EKS API, or an Auto Scaling Group of our own."""

    MANAGED = "managed"
    SELF_MANAGED = "self-managed"


class CapacityType(StrEnum):
    """How the capacity is bought, in our words; the EKS API says ``ON_DEMAND`` and ``SPOT``."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"

    @property
    def eks(self) -> str:
        """The EKS API's spelling."""
        return self.name


class BootstrapCase(StrEnum):
    """Who starts the kubelet; the user data differs in each case.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
    """

    EKS = "eks"
    """Managed without a custom AMI: EKS merges user data into its own, taints go through the API."""
    CUSTOM_AMI = "custom-ami"
    """Managed with an AMI in the launch template: the user data owns the bootstrap, taints still go through the API
    too.
    """
    SELF_MANAGED = "self-managed"
    """An Auto Scaling Group: the user data owns the bootstrap, taints and labels are kubelet flags."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of nodes, min <= desired <= max."""

    minimum: int
    desired: int
    maximum: int


@dataclass(frozen=True, slots=True)
class AmiSource:
    """Where the image comes from: an ID, a release, or, with neither, AWS's recommended image of the day.

    ``id`` and ``release`` exclude each other. ``ssm_parameter`` names the public parameter that holds the
    recommended image's ID.
    """

    id: str | None
    release: str | None
    ssm_parameter: str

    @property
    def pinned(self) -> bool:
        """Whether a preview next month gives the same image."""
        return self.id is not None or self.release is not None


@dataclass(frozen=True, slots=True)
class Update:
    """How nodes are replaced: exactly one of the two limits is set."""

    max_unavailable: int | None
    max_unavailable_percentage: int | None
    force: bool


@dataclass(frozen=True, slots=True)
class Derived:
    """One derived value of a node group for ``stack explain``: what, and by which rule from what."""

    key: str
    value: str
    rule: str


@dataclass(frozen=True, slots=True)
class NodeGroupPlan:
    """A node group of one architecture. All parts agree about it, because it is derived once, from ``instance_types``.

    ``path`` leads to it in the stack file (``nodeGroups``, ``api``), ``name`` is the group's name in the plan.
    ``name_prefix`` is how the EKS node group's (``NAME-``) or the Auto Scaling Group's (``CLUSTER-NAME-``) name
    begins, and ``launch_template_prefix`` (``CLUSTER-NAME-``) the launch template's: AWS names must differ between a
    group and its replacement, which is made before the old one goes. ``disk_size`` is in GiB. ``pre_bootstrap`` is a
    shell script or empty. ``max_pods`` is what the scheduler sees; ``max_pods_written`` tells whether the kubelet is
    told so (written by the team, or not what the node would work out by itself).
    """

    path: tuple[str, ...]
    name: str
    name_prefix: str
    launch_template_prefix: str
    kind: NodeGroupKind
    case: BootstrapCase
    architecture: Architecture
    instance_types: tuple[InstanceType, ...]
    ami_type: AmiType
    ami: AmiSource
    capacity_type: CapacityType
    sizes: Sizes
    labels: Labels
    taints: tuple[Taint, ...]
    max_pods: int
    max_pods_written: bool
    disk_size: int
    imds_hop_limit: int
    update: Update
    zones: tuple[str, ...]
    pre_bootstrap: str
    kubelet_extra_args: tuple[str, ...]
    derived: tuple[Derived, ...]

    @property
    def key(self) -> str:
        """Return the path as people read it: ``nodeGroups.api``."""
        return ".".join(self.path)

    @property
    def made_name(self) -> re.Pattern[str]:
        """Matches the names that AWS makes of ``name_prefix``, with a suffix of digits or, by a stand-in, letters."""
        return re.compile(re.escape(self.name_prefix) + "[0-9a-f]+")

    @property
    def family(self) -> AmiFamily:
        """The operating system's family."""
        return self.ami_type.family


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What user data needs of the cluster; known to the engine only once the control plane exists.

    ``certificate_authority`` is base64 PEM, as EKS gives it; ``service_cidr`` the Services' IPv4 range.
    """

    name: str
    endpoint: str
    certificate_authority: str
    service_cidr: str
