"""An EKS cluster with amd64 and arm64 nodes, as a part of one's own Pulumi program."""

import pulumi
from multiarch_eks.provider import Platform

platform = Platform(
    "shop",
    {
        "team": "shop",
        "environment": "dev",
        "owner": "shop@example.com",
        "costCenter": "4711",
        "nodeGroups": {
            "general": {"instanceTypes": ["m7i.large"]},
            "graviton": {"instanceTypes": ["m7g.large"]},
        },
    },
)
pulumi.export("nodeGroups", platform.node_groups)
pulumi.export("kubeconfig", platform.kubeconfig)
