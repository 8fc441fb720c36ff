"""EKS add-ons: one row each. The schema's keys, the plan, ``multiarch stack pin`` and the sandbox read these rows.

Add-on versions are not pinned here: they depend on cluster and region, and ``multiarch stack pin`` writes
them into the stack file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from multiarch.errors import look_up
from multiarch.facts.taints import Effect
from multiarch.facts.tolerations import CRITICAL_ADDONS, Toleration, TolerationOperator


@dataclass(frozen=True, slots=True)
class AddOn:
    """One EKS add-on.

    ``key`` is the stack file's, below ``addons``, and ``description`` what documents and editors say of it.
    ``before_nodes`` add-ons are installed first: nodes need them to become ready. ``kind`` is the EKS API's ``type``.
    ``release`` is a version of the software itself, which the sandbox publishes; None where it is the cluster's.

    ``toleration_path`` is the place in the add-on's ``configurationValues`` that takes a list of tolerations for its
    controller, from the outside in; ``None`` when nothing has to be set, because all of its pods run in a
    DaemonSet that tolerates every taint. The list there replaces the add-on's own, so ``default_tolerations``
    have to be repeated in it.

    ``managed_policy`` is the AWS managed policy, path included, of the role that ``service_account`` gets through Pod
    Identity; both are None for an add-on that gets no role. Where versions before a release need another policy,
    ``earlier_policy`` has that release and the policy.
    """

    name: str
    key: str
    description: str
    kind: str
    release: str | None
    before_nodes: bool = False
    toleration_path: tuple[str, ...] | None = None
    default_tolerations: tuple[Toleration, ...] = ()
    service_account: str | None = None
    managed_policy: str | None = None
    earlier_policy: tuple[tuple[int, int, int], str] | None = None

    def policy_of(self, version: str | None) -> str | None:
        """Return the managed policy for a version such as ``v1.52.1-eksbuild.1``; None is EKS's current default."""
        if self.earlier_policy is None or version is None:
            return self.managed_policy
        first, earlier = self.earlier_policy
        numbers = tuple(int(number) for number in re.findall("[0-9]+", version.partition("-")[0]))
        return earlier if numbers < first else self.managed_policy

    def configuration(self, *tolerations: Toleration) -> dict[str, object]:
        """Return configuration values that add ``tolerations`` to the defaults; empty when there is nothing to set."""
        if self.toleration_path is None or not tolerations:
            return {}
        merged = dict.fromkeys((*self.default_tolerations, *tolerations))
        value: object = [toleration.as_dict() for toleration in merged]
        for name in reversed(self.toleration_path):
            value = {name: value}
        if not isinstance(value, dict):
            raise TypeError(f"{self.name}: toleration_path is empty")
        return value


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
        toleration_path=("tolerations",),
        default_tolerations=(_CONTROL_PLANE, CRITICAL_ADDONS),
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
        toleration_path=("controller", "tolerations"),
        default_tolerations=(CRITICAL_ADDONS, _FIVE_MINUTES),
        service_account="ebs-csi-controller-sa",
        # It compares the cluster's name, a session tag of Pod Identity, with a tag that volumes have since v1.58.0.
        # Source: https://github.com/kubernetes-sigs/aws-ebs-csi-driver/issues/2918
        managed_policy="AmazonEBSCSIDriverEKSClusterScopedPolicy",
        earlier_policy=((1, 58, 0), "AmazonEBSCSIDriverPolicyV2"),
    ),
)


@cache
def add_ons() -> Mapping[str, AddOn]:
    """Return all known add-ons by name, in the order of installation."""
    return MappingProxyType({add_on.name: add_on for add_on in _ADD_ONS})


def add_on(name: str) -> AddOn:
    """Look an add-on up. Raises :class:`UnknownFactError` with the known names."""
    return look_up("EKS add-on", name, add_ons())
