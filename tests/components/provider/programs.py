"""Programs that use the components, and what they declare; no engine is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pulumi.runtime.config import set_all_config

from components.rendering import record
from tests.components.declared import Found

PLATFORM: Any = {
    "team": "shop",
    "environment": "dev",
    "owner": "shop@example.com",
    "costCenter": "4711",
    "kubernetesVersion": "1.35",
    "nodeGroups": {
        "general": {"instanceTypes": ["m7i.large"], "minSize": 2},
        "graviton": {"instanceTypes": ["m7g.large"]},
    },
}
CLUSTER = {"name": "mine", "kubernetesVersion": "1.35"}
KUBECONFIG = {"kubeconfig": "apiVersion: v1"}
SECURITY_GROUP = {"securityGroupId": "sg-1"}
NODES: Any = {
    **CLUSTER,
    **SECURITY_GROUP,
    "endpoint": "https://1.eks.amazonaws.com",
    "certificateAuthority": "QUJD",
    "serviceCidr": "172.20.0.0/16",
}
NODE_GROUP: Any = {"cluster": NODES, "subnetIds": ["subnet-1", "subnet-2"], "instanceTypes": ["m7g.large"]}
KARPENTER: Any = {
    "cluster": {**CLUSTER, **KUBECONFIG, **SECURITY_GROUP},
    "subnetIds": ["subnet-1", "subnet-2"],
    "controllerGroup": "general-2026",
    "controllerTaints": ["tier=system:NoSchedule"],
    "nodePools": {"general": {"cpuLimit": 100}},
}
CLUSTER_AUTOSCALER: Any = {
    "cluster": {**CLUSTER, **KUBECONFIG},
    "nodeGroups": {"general": {"instanceTypes": ["m7i.large"]}, "graviton": {"instanceTypes": ["m7g.large"]}},
}
POD: Any = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "api"},
    "spec": {"containers": [{"name": "api", "image": "registry.example.com/api:1"}]},
}
WORKLOADS: Any = {"objects": [POD], "tolerate": ["arch=arm64:NoSchedule"], "prefer": "arm64"}


def run(program: Callable[[], None], **config: str) -> Found:
    """What ``program`` declares in a stack with this configuration, beside ``aws:region``."""

    async def configured() -> None:
        set_all_config({"aws:region": "eu-west-1", **config})
        program()

    found = record(configured, stack="dev", region="eu-west-1")
    return Found(found.resources, found.outputs)
