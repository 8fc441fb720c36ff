"""Clusters as the console makes them: with a managed node group without a launch template, or with EKS Auto Mode.

Source: EKS user guide, "Create an Amazon EKS cluster", "Create a managed node group for your cluster" and "Create a
cluster with Amazon EKS Auto Mode": names of roles, defaults of the forms.
"""

from __future__ import annotations

from sandbox.existing.account import Account

ADDONS = ("coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni")
_AUTO_MODE_POLICIES = (
    *("AmazonEKSClusterPolicy", "AmazonEKSComputePolicy", "AmazonEKSBlockStoragePolicy"),
    *("AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingPolicy"),
)


def create_cluster(at: Account, name: str) -> None:
    """Make a cluster with the group ``workers``: its defaults, without a launch template or an autoscaler."""
    network = at.make_network(f"{name}-subnet-private-{{zone}}", f"{name}-subnet-public-{{zone}}", {})
    role = at.make_role(f"{name}-AmazonEKSClusterRole", "eks", ("AmazonEKSClusterPolicy",))
    at.make_cluster(name, role, network.subnets)
    at.make_addons(name, ADDONS)
    at.client("eks").create_nodegroup(
        clusterName=name,
        nodegroupName="workers",
        subnets=list(network.private),
        nodeRole=at.make_role(f"{name}-AmazonEKSNodeRole"),
        amiType="AL2023_x86_64_STANDARD",
        capacityType="ON_DEMAND",
        instanceTypes=["t3.medium"],
        diskSize=20,
        scalingConfig={"minSize": 2, "maxSize": 2, "desiredSize": 2},
        updateConfig={"maxUnavailable": 1},
    )


def create_auto_mode_cluster(at: Account, name: str) -> None:
    """Make a cluster of EKS Auto Mode with the NodePools ``general-purpose`` and ``system``, without node groups."""
    network = at.make_network(f"{name}-subnet-private-{{zone}}", f"{name}-subnet-public-{{zone}}", {})
    role = at.make_role(f"{name}-AmazonEKSAutoClusterRole", "eks", _AUTO_MODE_POLICIES)
    policies = ("AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly")
    node = at.make_role(f"{name}-AmazonEKSAutoNodeRole", policies=policies)
    at.make_cluster(
        name,
        role,
        network.private,
        accessConfig={"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
        computeConfig={"enabled": True, "nodePools": ["general-purpose", "system"], "nodeRoleArn": node},
        kubernetesNetworkConfig={"elasticLoadBalancing": {"enabled": True}},
        storageConfig={"blockStorage": {"enabled": True}},
        bootstrapSelfManagedAddons=False,
    )
