"""Generated from multiarch/schema/addons.py by ``make generate``: arguments of components."""

from typing import NotRequired, TypedDict


class AddonSettings(TypedDict):
    """One EKS add-on."""

    enabled: NotRequired[bool]
    """Install it. Default: true."""

    version: NotRequired[str]
    """An exact version such as `v1.12.4-eksbuild.1`. `multiarch stack pin` writes it. Default: EKS's default for the
    cluster's version.
    """


class VpcCniAddonSettings(TypedDict):
    """The VPC CNI add-on."""

    enabled: NotRequired[bool]
    """Install it. Default: true."""

    version: NotRequired[str]
    """An exact version such as `v1.12.4-eksbuild.1`. `multiarch stack pin` writes it. Default: EKS's default for the
    cluster's version.
    """

    networkPolicy: NotRequired[bool]
    """Enforce NetworkPolicies. Without it, and without another network policy engine, they have no effect. Default:
    true.
    """

    prefixDelegation: NotRequired[bool]
    """Give nodes /28 prefixes instead of single addresses: more pods per node, more addresses per subnet. Default:
    false.
    """


class AddonsSettings(TypedDict):
    """The add-ons that a cluster needs; all are on by default."""

    vpcCni: NotRequired[VpcCniAddonSettings]
    """Pod networking (vpc-cni)."""

    kubeProxy: NotRequired[AddonSettings]
    """Service networking (kube-proxy)."""

    podIdentityAgent: NotRequired[AddonSettings]
    """IAM roles for pods (eks-pod-identity-agent); the EBS CSI driver's role needs it."""

    coredns: NotRequired[AddonSettings]
    """Cluster DNS; made to tolerate the arm64 taint."""

    ebsCsi: NotRequired[AddonSettings]
    """EBS volumes (aws-ebs-csi-driver) with an encrypted gp3 StorageClass as the default; its controller tolerates the
    arm64 taint.
    """
