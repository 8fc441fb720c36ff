"""The EKS add-ons."""

from __future__ import annotations

from multiarch.stack.schema.base import Words


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
