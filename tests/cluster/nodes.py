"""What a kubelet would write about the instance it runs on: the Node of an EC2 instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from multiarch.facts.architectures import parse_ec2_architecture
from multiarch.facts.instance_types import compute_max_pods, get_instance_type
from multiarch.facts.node_resources import EVICTION_MIB, UNUSABLE_MEMORY_PER_MILLE, compute_reserved_cpu
from sandbox.cluster.kube import Object

UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}


@dataclass(frozen=True, slots=True)
class Joining:
    """What a node is told by its user data: labels and taints to register with, root disk (GiB), max pods if set."""

    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    disk_gib: int
    max_pods: int | None = None


def for_karpenter(node_class: Mapping[str, Any]) -> Joining:
    """An instance of Karpenter's, by its EC2NodeClass's spec: the controller sets labels, and takes this taint away.

    The disk is the node class's first, 20 GiB where it names none.
    """
    mappings = node_class.get("blockDeviceMappings") or [{}]
    disk = str(mappings[0].get("ebs", {}).get("volumeSize", "20Gi"))
    return Joining({}, (UNREGISTERED,), int(disk.removesuffix("Gi")), node_class.get("kubelet", {}).get("maxPods"))


def node(instance: Mapping[str, Any], joining: Joining) -> Object:
    """The Node of an instance as its kubelet registers it. The name is the private DNS name, as on EKS.

    The status is there from the first moment, as it is with a kubelet: Karpenter keeps the least memory that it ever
    sees on a node of a type, and one look at a node without any would end that type for good.
    """
    zone, name = instance["Placement"]["AvailabilityZone"], instance["PrivateDnsName"]
    labels = {
        "beta.kubernetes.io/arch": str(_architecture(instance)),
        "kubernetes.io/arch": str(_architecture(instance)),
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": instance["InstanceType"],
        "topology.kubernetes.io/region": zone[:-1],
        "topology.kubernetes.io/zone": zone,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, **joining.labels}},
        "spec": {
            "providerID": f"aws:///{zone}/{instance['InstanceId']}",
            "taints": [dict(taint) for taint in joining.taints],
        },
        "status": status(instance, joining),
    }


def _architecture(instance: Mapping[str, Any]) -> str:
    """The architecture of the table of facts, which must be the one that EC2 says this instance has."""
    known = get_instance_type(instance["InstanceType"]).architecture
    said = parse_ec2_architecture([instance["Architecture"]])
    if known is not said:
        raise ValueError(f"{instance['InstanceType']} is {known}, but an image for {said} was started on it")
    return known


def status(instance: Mapping[str, Any], joining: Joining) -> Object:
    """The status of a ready Node: what EC2 offers, less what EKS nodes set aside.

    Set aside are the machine's own memory, kube-reserved as in amazon-eks-ami (255 MiB and 11 MiB per pod; a share of
    the processors that falls from 6 % of the first) and the eviction threshold.
    """
    kind = get_instance_type(instance["InstanceType"])
    pods = joining.max_pods or compute_max_pods(kind)
    memory = kind.memory_mib * (1000 - UNUSABLE_MEMORY_PER_MILLE) // 1000
    disk = joining.disk_gib * 1024
    capacity = {
        "cpu": str(kind.vcpus),
        "memory": f"{memory}Mi",
        "pods": str(pods),
        "ephemeral-storage": f"{disk}Mi",
    }
    allocatable = {
        "cpu": f"{kind.vcpus * 1000 - compute_reserved_cpu(kind.vcpus)}m",
        "memory": f"{memory - 255 - 11 * pods - EVICTION_MIB}Mi",
        "pods": str(pods),
        "ephemeral-storage": f"{disk - 1024 - disk // 10}Mi",
    }
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "the bridge says so"}
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
        "nodeInfo": {"architecture": str(kind.architecture), "operatingSystem": "linux"} | _VERSIONS,
    }


_VERSIONS = {
    "bootID": "", "machineID": "", "systemUUID": "", "kernelVersion": "", "osImage": "",
    "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
}  # fmt: skip
