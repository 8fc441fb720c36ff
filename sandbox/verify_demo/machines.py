"""The instances of a stack's node groups, and the Nodes that they would register: a stand-in for their kubelets."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from multiarch.facts.ami_families import family_facts
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import instance_type, max_pods
from multiarch.nodes.model import ClusterFacts, NodeGroupPlan
from multiarch.stack.model import Plan
from sandbox.cluster.bootstrap.groups import ManagedGroup, group_start
from sandbox.cluster.bootstrap.registration import Registration, registration
from sandbox.inventory import Aws

GROUP_TAG: Final = "multiarch-eks/node-group"
CLUSTER_TAG: Final = "multiarch-eks/cluster"
DEMO_TAG: Final = "multiarch-sandbox:verify-demo"
"""On instances that the demo adds."""
_PATCH: Final = 2  # the made-up patch version of kubelets
KERNEL: Final = "6.12.30-33.93.amzn2023"
CONTAINERD: Final = "2.1.4"
UNAME: Final[Mapping[Architecture, str]] = {Architecture.AMD64: "x86_64", Architecture.ARM64: "aarch64"}


@dataclass(frozen=True, slots=True)
class Machine:
    """A running instance of a node group, as DescribeInstances has it, and what its kubelet registers with."""

    row: Mapping[str, Any]
    group: NodeGroupPlan
    registers: Registration
    version: str

    @property
    def id(self) -> str:
        """The instance's ID."""
        return str(self.row["InstanceId"])

    @property
    def node(self) -> str:
        """The Node's name, as on EKS the private DNS name."""
        return str(self.row["PrivateDnsName"])

    @property
    def architecture(self) -> Architecture:
        """That of the instance type."""
        return instance_type(self.row["InstanceType"]).architecture

    @property
    def kubelet(self) -> str:
        """The kubelet's version."""
        return f"v{self.version}.{_PATCH}-eks-0000000"

    @property
    def kernel(self) -> str:
        """The kernel's release."""
        return f"{KERNEL}.{UNAME[self.architecture]}"

    def object(self, *, with_taints: bool = True) -> dict[str, Any]:
        """The Node as its kubelet registers it."""
        zone = str(self.row["Placement"]["AvailabilityZone"])
        kind = instance_type(self.row["InstanceType"])
        arch, region = str(kind.architecture), zone[:-1]
        own = {
            "kubernetes.io/arch": arch,
            "beta.kubernetes.io/arch": arch,
            "kubernetes.io/hostname": self.node,
            "kubernetes.io/os": "linux",
            "beta.kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": kind.name,
            "beta.kubernetes.io/instance-type": kind.name,
            "topology.kubernetes.io/region": region,
            "failure-domain.beta.kubernetes.io/region": region,
            "topology.kubernetes.io/zone": zone,
            "failure-domain.beta.kubernetes.io/zone": zone,
        }
        taints = self.registers.taints if with_taints else ()
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.node, "labels": {**own, **self.registers.labels}},
            "spec": {
                "providerID": f"aws:///{zone}/{self.id}",
                "taints": [{"key": each.key, "value": each.value, "effect": str(each.effect)} for each in taints],
            },
        }

    def status(self) -> dict[str, Any]:
        """The Node's status: ready, and what runs on it."""
        kind = instance_type(self.row["InstanceType"])
        room = {"cpu": str(kind.vcpus), "memory": f"{kind.memory_mib}Mi", "pods": str(max_pods(kind))}
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "verify-demo's stand-in"}
        return {
            "capacity": room,
            "allocatable": room,
            "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "nodeInfo": {
                "architecture": str(kind.architecture),
                "operatingSystem": "linux",
                "osImage": family_facts(self.group.family).os_example,
                "kernelVersion": self.kernel,
                "kubeletVersion": self.kubelet,
                "containerRuntimeVersion": f"containerd://{CONTAINERD}",
                **dict.fromkeys(("bootID", "kubeProxyVersion", "machineID", "systemUUID"), ""),
            },
        }


@dataclass(slots=True)
class Machines:
    """A stack's machines in the sandbox's AWS."""

    aws: Aws
    plan: Plan
    _registers: dict[str, Registration] = field(default_factory=dict)

    def all(self) -> list[Machine]:
        """The running instances of the plan's groups, sorted by group and ID."""
        groups = {group.name: group for group in self.plan.node_groups}
        found = []
        for row in self.rows():
            tags = {tag["Key"]: tag["Value"] for tag in row.get("Tags", ())}
            if tags.get(CLUSTER_TAG) == self.plan.cluster.name and tags.get(GROUP_TAG) in groups:
                group = groups[tags[GROUP_TAG]]
                found.append(Machine(row, group, self._registration(group), self.plan.cluster.version))
        return sorted(found, key=lambda each: (each.group.name, each.id))

    def rows(self, *filters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Running instances as DescribeInstances has them."""
        wanted = [{"Name": "instance-state-name", "Values": ["pending", "running"]}, *filters]
        pages = self.aws.client("ec2").get_paginator("describe_instances").paginate(Filters=wanted)
        return [row for page in pages for each in page["Reservations"] for row in each["Instances"]]

    def _registration(self, group: NodeGroupPlan) -> Registration:
        """By the user data of the group's launch template, as AWS has it."""
        if group.name not in self._registers:
            filters = [
                {"Name": f"tag:{CLUSTER_TAG}", "Values": [self.plan.cluster.name]},
                {"Name": f"tag:{GROUP_TAG}", "Values": [group.name]},
            ]
            ec2 = self.aws.client("ec2")
            template = ec2.describe_launch_templates(Filters=filters)["LaunchTemplates"][0]
            versions = ec2.describe_launch_template_versions(
                LaunchTemplateId=template["LaunchTemplateId"], Versions=["$Latest"]
            )["LaunchTemplateVersions"]
            text = base64.b64decode(versions[0]["LaunchTemplateData"].get("UserData", "")).decode()
            start = group_start(group, text, self._facts(), ManagedGroup(self._name(group)))
            self._registers[group.name] = registration(start)
        return self._registers[group.name]

    def _facts(self) -> ClusterFacts:
        cluster = self.aws.client("eks").describe_cluster(name=self.plan.cluster.name)["cluster"]
        return ClusterFacts(
            cluster["name"],
            cluster["endpoint"],
            cluster["certificateAuthority"]["data"],
            cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"],
        )

    def _name(self, group: NodeGroupPlan) -> str:
        """A managed group's name at EKS; empty for others."""
        names = self.aws.client("eks").list_nodegroups(clusterName=self.plan.cluster.name)["nodegroups"]
        return next((name for name in names if group.made_name.fullmatch(name)), "")
