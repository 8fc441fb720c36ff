"""EKS Auto Mode: which instance types it launches, what its nodes are, and what it does not let a cluster's owner set.

Sources: EKS user guide, "Learn about Amazon EKS Auto Mode Managed instances" (supported instances, as of September
2026), "Create a Node Pool for EKS Auto Mode" and "Create a Node Class for Amazon EKS".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from multiarch.facts.instance_types import POD_CEILING_SMALL, InstanceType, compute_max_pods

DISK_GIB = 80
"""The default of ``ephemeralStorage.size``."""
LONGEST_LIFE_HOURS = 21 * 24
"""The most that ``expireAfter`` and ``terminationGracePeriod`` may be together.

Its validation: "the sum of expireAfter and terminationGracePeriod (defaulted to 24h) may not exceed 21 days"
(https://github.com/aws-controllers-k8s/test-infra/pull/1000).
"""
DEFAULT_GRACE_PERIOD = "24h"
STORAGE_PROVISIONER = "ebs.csi.eks.amazonaws.com"
"""The CSI driver on nodes of Auto Mode, and on no others. Source: EKS user guide, "Create a storage class"."""
CLUSTER_POLICIES = (
    "AmazonEKSBlockStoragePolicy",
    "AmazonEKSComputePolicy",
    "AmazonEKSLoadBalancingPolicy",
    "AmazonEKSNetworkingPolicy",
)
"""What the cluster's role needs beside AmazonEKSClusterPolicy. Source: EKS user guide, "Amazon EKS Auto Mode cluster
IAM role".
"""
NODE_POLICIES = ("AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly")
"""Source: EKS user guide, "Amazon EKS Auto Mode node IAM role"."""
NODE_ACCESS_POLICY = "AmazonEKSAutoNodePolicy"
"""The access policy of the nodes' access entry, whose type is EC2. Source: "Create node class access entry"."""

# The last two lines: storage optimized, accelerated, HPC.
_FAMILY_NAMES = """
c8id c8i c8i-flex c8gd c8gn c8g c8a c8gb c7a c7g c7gn c7gd c7i c7i-flex c6a c6g c6i c6gn c6id c6in c6gd c5 c5a c5d c5ad
c5n c4 m8id m8i m8i-flex m8a m8azn m8gn m8gb m8gd m8g m7i m7a m7g m7gd m7i-flex m6a m6i m6in m6g m6idn m6id m6gd m5 m5a
m5ad m5n m5dn m5d m5zn m4 r8id r8i r8i-flex r8gn r8gb r8gd r8g r8a r7a r7iz r7gd r7i r7g r6a r6i r6id r6in r6idn r6g
r6gd r5 r5n r5a r5dn r5b r5ad r5d r4 t4g t3 t3a t2 z1d x8aedz x8g x8i x2gd
i8ge i7i i8g i7ie i4g i4i i3 i3en is4gen d3 d3en im4gn p6-b200 p6-b300 p5 p5e p5en p4d p4de p3dn g7e g6 gr6 g6e g5g g5
g4dn g4ad inf2 inf1 trn1 trn1n trn2 hpc8a x2iezn x2iedn x2idn
"""
_FAMILIES = frozenset(_FAMILY_NAMES.split())
_SMALL = frozenset(("nano", "micro", "small"))

_IMAGE = "AWS chooses the image of Auto Mode's nodes and replaces it about once a week"
NOT_GIVEN: Mapping[str, str] = MappingProxyType(
    {
        "amiAlias": f"{_IMAGE}.",
        "ami": f"{_IMAGE}.",
        "amiFamily": f"{_IMAGE}.",
        "userData": "Auto Mode's nodes take no user data: AWS bootstraps them.",
        "instanceStorePolicy": "AWS configures the disks of Auto Mode's nodes.",
        "kubelet": "Auto Mode's nodes take no kubelet settings: AWS configures them.",
        "controllerGroup": "AWS runs the controller of Auto Mode, outside the cluster's nodes.",
        "imdsHopLimit": "Auto Mode enforces IMDSv2 with a hop limit of 1.",
        "serviceMonitor": "AWS runs the controller of Auto Mode, whose metrics Prometheus can't reach.",
        "spotToSpotConsolidation": "AWS sets the feature gates of Auto Mode's controller.",
        "version": "AWS runs the controller of Auto Mode and upgrades it.",
    }
)
"""Why keys of Karpenter and of node groups are not keys of Auto Mode."""


def explain_not_launched(instance: InstanceType) -> str | None:
    """Return why Auto Mode does not launch an instance type, or None."""
    if instance.family not in _FAMILIES:
        return f"EKS Auto Mode does not launch the family of {instance.name}"
    if instance.size in _SMALL or instance.vcpus == 1:
        return f"EKS Auto Mode launches no type as small as {instance.name}: none of one vCPU, nano, micro or small"
    return None


def compute_auto_mode_pods(instance: InstanceType) -> int:
    """Return the max pods of a node: as many as its interfaces have addresses for, and at most 110.

    Source: EKS user guide, "Create a Node Class for Amazon EKS", considerations.
    """
    return min(compute_max_pods(instance), POD_CEILING_SMALL)
