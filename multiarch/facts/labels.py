"""Labels that Kubernetes, EKS and Karpenter set on nodes.

Sources: Kubernetes, "Well-Known Labels, Annotations and Taints"; EKS user guide, "Simplify node lifecycle with managed
node groups"; karpenter, ``pkg/apis/v1/labels.go``; karpenter-provider-aws, ``pkg/apis/v1/labels.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

ARCHITECTURE = "kubernetes.io/arch"
OPERATING_SYSTEM = "kubernetes.io/os"
HOSTNAME = "kubernetes.io/hostname"
WINDOWS_BUILD = "node.kubernetes.io/windows-build"
"""On Windows nodes alone."""
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"

REPLACED_BY: Mapping[str, str] = MappingProxyType(
    {
        "beta.kubernetes.io/arch": ARCHITECTURE,
        "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
        "beta.kubernetes.io/os": OPERATING_SYSTEM,
        "failure-domain.beta.kubernetes.io/region": REGION,
        "failure-domain.beta.kubernetes.io/zone": ZONE,
    }
)
"""Deprecated labels, each with the label that replaced it. Nodes still carry both, with the same value."""

EKS_NODE_GROUP = "eks.amazonaws.com/nodegroup"
"""A managed node group's name at EKS."""
EKS_CAPACITY_TYPE = "eks.amazonaws.com/capacityType"
"""``SPOT`` or ``ON_DEMAND``, on nodes of managed node groups."""
EKS_IMAGE = "eks.amazonaws.com/nodegroup-image"
EKS_LAUNCH_TEMPLATE_ID = "eks.amazonaws.com/sourceLaunchTemplateId"
EKS_LAUNCH_TEMPLATE_VERSION = "eks.amazonaws.com/sourceLaunchTemplateVersion"
EKS_ACCELERATOR = "k8s.amazonaws.com/accelerator"
"""The GPU of a node. The cluster autoscaler waits for the GPUs of a node that carries it, whatever the value, before it
adds another node for the same pods.

Source: autoscaler, ``cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go`` (``GPULabel``) and
``cluster-autoscaler/processors/customresources/gpu_processor.go``.
"""
EKS_COMPUTE_TYPE = "eks.amazonaws.com/compute-type"
"""``fargate``, ``auto`` on nodes of EKS Auto Mode, or ``hybrid``; not on nodes of node groups and of Karpenter."""

KARPENTER_DOMAINS = ("karpenter.sh", "karpenter.k8s.aws")
KARPENTER_NODE_POOL = "karpenter.sh/nodepool"
KARPENTER_CAPACITY_TYPE = "karpenter.sh/capacity-type"
"""``spot``, ``on-demand`` or ``reserved``."""
KARPENTER_GPU_MANUFACTURER = "karpenter.k8s.aws/instance-gpu-manufacturer"
"""``nvidia``, ``amd`` or ``habana``, on nodes with GPUs alone."""
KARPENTER_REGISTERED = "karpenter.sh/registered"
KARPENTER_INITIALIZED = "karpenter.sh/initialized"
KARPENTER_NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
AUTO_MODE_NODE_CLASS = "eks.amazonaws.com/nodeclass"
INSTANCE_FAMILIES = ("karpenter.k8s.aws/instance-family", "eks.amazonaws.com/instance-family")
"""``m7g`` of ``m7g.large``, as Karpenter and EKS Auto Mode write it."""
INSTANCE_CATEGORIES = ("karpenter.k8s.aws/instance-category", "eks.amazonaws.com/instance-category")
"""``m`` of ``m7g.large``, likewise."""
INSTANCE_GENERATIONS = ("karpenter.k8s.aws/instance-generation", "eks.amazonaws.com/instance-generation")
"""``7`` of ``m7g.large``, likewise."""
CPU_MANUFACTURERS = ("karpenter.k8s.aws/instance-cpu-manufacturer", "eks.amazonaws.com/instance-cpu-manufacturer")
"""``aws``, ``intel`` or ``amd``, likewise."""
KARPENTER_CPU = "karpenter.k8s.aws/instance-cpu"
"""vCPUs."""
KARPENTER_MEMORY = "karpenter.k8s.aws/instance-memory"
"""MiB."""


def is_in_domains(key: str, domains: Iterable[str]) -> bool:
    """Return whether a label's or taint's key is in one of ``domains`` or a subdomain of one."""
    own = key.rpartition("/")[0]
    return any(own == domain or own.endswith(f".{domain}") for domain in domains)


def with_deprecated(labels: Mapping[str, str]) -> dict[str, str]:
    """Return ``labels`` with the deprecated names of those that have one: what a node carries."""
    old = {old: labels[new] for old, new in REPLACED_BY.items() if new in labels}
    return old | dict(labels)
