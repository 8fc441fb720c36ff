"""EKS add-ons with a key of their own: one row each.

The schema's keys, the plan, ``multiarch stack pin`` and the sandbox read these rows.
:mod:`multiarch.facts.extra_addons` has those that a stack may add.

Add-on versions are not pinned here: they depend on cluster and region, and ``multiarch stack pin`` writes
them into the stack file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from multiarch.errors import look_up
from multiarch.facts.taints import Effect
from multiarch.facts.tolerations import CRITICAL_ADDONS, Toleration, TolerationOperator
from multiarch.frozen import dataclass

Release = tuple[int, int, int]
VERSION = r"v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+"
"""How EKS writes the version of an add-on."""


@dataclass(frozen=True, slots=True)
class Component:
    """A workload of an add-on that does not tolerate every taint.

    ``path`` is where ``configurationValues`` take its tolerations, from the outside in. A list there replaces
    ``default_tolerations``, so that these have to be repeated in it. ``daemon``: it is a DaemonSet; the
    add-on is healthy although nodes have none of its pods. ``by_hand``: AWS's schema may not have ``path``. The plan
    writes nothing there.
    """

    path: tuple[str, ...]
    default_tolerations: tuple[Toleration, ...] = ()
    daemon: bool = False
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class AddOn:
    """One EKS add-on.

    ``key`` is the stack file's, below ``addons``, and ``description`` what documents and editors say of it.
    ``before_nodes`` add-ons are installed first: nodes need them to become ready. ``kind`` is the EKS API's ``type``.
    ``release`` is a version of the software itself, which the sandbox publishes; None where it is the cluster's.

    ``components`` are the workloads that a taint may keep off nodes; other pods of the add-on run in DaemonSets that
    tolerate every taint. ``namespace`` is where EKS installs it, empty where that is unknown.

    ``managed_policies`` are AWS managed policies, path included, of the role that ``service_account`` gets through Pod
    Identity, which the add-on supports from ``pod_identity_since``. Where versions before a release need another
    policy, ``earlier_policy`` has that release and the policy.
    """

    name: str
    key: str
    description: str
    kind: str
    release: str | None
    before_nodes: bool = False
    components: tuple[Component, ...] = ()
    namespace: str = "kube-system"
    service_account: str | None = None
    managed_policies: tuple[str, ...] = ()
    earlier_policy: tuple[Release, str] | None = None
    pod_identity_since: Release | None = None

    @property
    def is_known(self) -> bool:
        """Whether more than its name is known here."""
        return bool(self.namespace)

    def policies_of(self, version: str | None) -> tuple[str, ...]:
        """Return the managed policies for a version such as ``v1.52.1-eksbuild.1``; None is EKS's current default."""
        if self.earlier_policy and is_before(version, self.earlier_policy[0]):
            return (self.earlier_policy[1],)
        return self.managed_policies

    def configuration(self, *tolerations: Toleration) -> dict[str, object]:
        """Return configuration values that add ``tolerations`` to the defaults; empty when there is nothing to set."""
        values: dict[str, object] = {}
        for component in self.components if tolerations else ():
            merged = dict.fromkeys((*component.default_tolerations, *tolerations))
            values = set_value(values, component.path, [each.as_dict() for each in merged])
        return values


def is_version(text: str) -> bool:
    """Return whether ``text`` is written as EKS writes an add-on's version, such as ``v1.12.4-eksbuild.1``."""
    return re.fullmatch(VERSION, text) is not None


def is_before(version: str | None, release: Release) -> bool:
    """Return whether an add-on's version is older than ``release``; None is EKS's default, which is current."""
    return version is not None and tuple(map(int, re.findall("[0-9]+", version.partition("-")[0]))) < release


def set_value(values: Mapping[str, object], path: Sequence[str], value: object) -> dict[str, object]:
    """Return configuration values with ``value`` at ``path``.

    Raises TypeError where something else than a mapping is on the way.
    """
    key, *rest = path
    if not rest:
        return {**values, key: value}
    inner = values.get(key, {})
    if not isinstance(inner, Mapping):
        raise TypeError(f"{key} is not a mapping")
    return {**values, key: set_value(inner, rest, value)}


_CONTROL_PLANE = Toleration(
    "node-role.kubernetes.io/control-plane", TolerationOperator.EXISTS, effect=Effect.NO_SCHEDULE
)
_FIVE_MINUTES = Toleration(operator=TolerationOperator.EXISTS, effect=Effect.NO_EXECUTE, seconds=300)

_ADD_ONS = (
    AddOn("vpc-cni", "vpcCni", "Pod networking (vpc-cni).", "networking", "v1.21.1", before_nodes=True),
    AddOn("kube-proxy", "kubeProxy", "Service networking (kube-proxy).", "networking", None, before_nodes=True),
    AddOn(
        "eks-pod-identity-agent",
        "podIdentityAgent",
        "IAM roles for pods (eks-pod-identity-agent); the EBS CSI driver's role needs it.",
        "security",
        "v1.3.10",
        before_nodes=True,
    ),
    AddOn(
        "coredns",
        "coredns",
        "Cluster DNS; made to tolerate the arm64 taint.",
        "networking",
        "v1.13.1",
        components=(Component(("tolerations",), (_CONTROL_PLANE, CRITICAL_ADDONS)),),
    ),
    # The node DaemonSet of the driver tolerates everything; its controller does not.
    # Sources: the driver's chart, values.yaml, controller.tolerations; EKS user guide, "Store Kubernetes volumes with
    # Amazon EBS".
    AddOn(
        "aws-ebs-csi-driver",
        "ebsCsi",
        "EBS volumes (aws-ebs-csi-driver) with an encrypted gp3 StorageClass as the default; its controller tolerates "
        "the arm64 taint.",
        "storage",
        "v1.63.1",
        components=(Component(("controller", "tolerations"), (CRITICAL_ADDONS, _FIVE_MINUTES)),),
        service_account="ebs-csi-controller-sa",
        # It compares the cluster's name, a session tag of Pod Identity, with a tag that volumes have since v1.58.0.
        # Source: https://github.com/kubernetes-sigs/aws-ebs-csi-driver/issues/2918
        managed_policies=("AmazonEBSCSIDriverEKSClusterScopedPolicy",),
        earlier_policy=((1, 58, 0), "AmazonEBSCSIDriverPolicyV2"),
    ),
)


@cache
def add_ons() -> Mapping[str, AddOn]:
    """Return the add-ons with a key of their own by name, in the order of installation."""
    return MappingProxyType({add_on.name: add_on for add_on in _ADD_ONS})


def add_on(name: str) -> AddOn:
    """Look an add-on up. Raises :class:`UnknownFactError` with the known names."""
    return look_up("EKS add-on", name, add_ons())
