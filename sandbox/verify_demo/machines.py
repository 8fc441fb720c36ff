"""The instances of a stack's node groups, and the Nodes that they would register: a stand-in for their kubelets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from multiarch.facts.ami_families import get_family
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.nodes.model import CLUSTER_TAG, GROUP_TAG, NodeGroupPlan
from multiarch.stack.model import Plan
from sandbox.aws.remote import Remote
from sandbox.aws.ssm_commands import Target
from sandbox.cluster.bootstrap.groups import ManagedGroup, expected
from sandbox.cluster.bootstrap.registration import Registration
from sandbox.cluster.kube import Kube
from sandbox.inventory import Aws
from sandbox.registry.images import elf_header
from sandbox.verify_demo.pods import RunningPod

_PATCH: Final = 2  # the made-up patch version of kubelets
_KERNEL: Final = "6.12.30-33.93.amzn2023"
_CONTAINERD: Final = "2.1.4"
_PID: Final = 2000
_ELF_BYTES: Final = 20  # so many bytes of a program are in a report
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
        return get_instance_type(self.row["InstanceType"]).architecture

    @property
    def _kubelet(self) -> str:
        return f"v{self.version}.{_PATCH}-eks-0000000"

    @property
    def _kernel(self) -> str:
        return f"{_KERNEL}.{UNAME[self.architecture]}"

    def _node(self) -> dict[str, Any]:
        zone = str(self.row["Placement"]["AvailabilityZone"])
        own = {
            "kubernetes.io/arch": str(self.architecture),
            "kubernetes.io/hostname": self.node,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": str(self.row["InstanceType"]),
            "topology.kubernetes.io/region": zone[:-1],
            "topology.kubernetes.io/zone": zone,
        }
        taints = [{"key": each.key, "value": each.value, "effect": str(each.effect)} for each in self.registers.taints]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.node, "labels": {**own, **self.registers.labels}},
            "spec": {"providerID": f"aws:///{zone}/{self.id}", "taints": taints},
        }

    def _status(self) -> dict[str, Any]:
        kind = get_instance_type(self.row["InstanceType"])
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "verify-demo's stand-in"}
        return {
            "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "nodeInfo": {
                "architecture": str(kind.architecture),
                "operatingSystem": "linux",
                "osImage": get_family(self.group.family).os_example,
                "kernelVersion": self._kernel,
                "kubeletVersion": self._kubelet,
                "containerRuntimeVersion": f"containerd://{_CONTAINERD}",
                **dict.fromkeys(("bootID", "kubeProxyVersion", "machineID", "systemUUID"), ""),
            },
        }

    def join(self, kube: Kube, remote: Remote, pods: Iterable[RunningPod]) -> None:
        """Register the Node, run pods there, and let the machine's SSM agent answer for them."""
        pods = list(pods)
        node = self._node()
        kube.create(node)
        kube.patch(node, {"status": self._status()}, part="status")
        for pod in pods:
            made = pod.object(self.node)
            kube.create(made)
            kube.patch(made, {"status": pod.status()}, part="status")
        remote.register(self.id, Target(output=self._report(pods)))

    def _report(self, pods: Iterable[RunningPod]) -> str:
        """Return what the script of ``multiarch verify`` prints: the lines of ``multiarch/verify/on_node/shell``."""
        flags = ["--node-labels=" + ",".join(f"{key}={value}" for key, value in self.registers.labels.items())]
        if self.registers.taints:
            flags.append("--register-with-taints=" + ",".join(map(str, self.registers.taints)))
        programs = {
            "kubelet": f"Kubernetes {self._kubelet}",
            "containerd": f"containerd github.com/containerd/containerd/v2 {_CONTAINERD}",
            "runc": "runc version 1.3.0",
        }
        own = _header(self.architecture)
        rows = [
            ("uname", UNAME[self.architecture], self._kernel),
            ("os", get_family(self.group.family).os_example),
            *(("program", name, f"/usr/bin/{name}", own, said) for name, said in programs.items()),
            ("kubelet", "1000"),
            *(("flag", flag) for flag in flags),
            *(self._container(pod, str(_PID + number)) for number, pod in enumerate(pods)),
        ]
        text = "\n".join("\t".join(row) for row in rows)
        return f"multiarch-node-report 1 plain\n{text}\nend {len(text)}\n"

    def _container(self, pod: RunningPod, pid: str) -> tuple[str, ...]:
        emulator = "" if pod.program is self.architecture else f"qemu-{UNAME[pod.program]}"
        what = (pod.container_id, pod.reference, *pod.digests(), pid)
        return ("container", *what, "/bin/service", _header(pod.program), emulator, "")


def _header(architecture: Architecture) -> str:
    """Return the first bytes of a program in hexadecimal."""
    return elf_header(str(architecture))[:_ELF_BYTES].hex()


def list_machines(aws: Aws, plan: Plan) -> list[Machine]:
    """Return the running instances of a stack's groups, sorted by group and ID. Labels and taints are the plan's."""
    groups = {group.name: group for group in plan.node_groups}
    filters = [
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
        {"Name": f"tag:{CLUSTER_TAG}", "Values": [plan.cluster.name]},
        {"Name": f"tag:{GROUP_TAG}", "Values": list(groups)},
    ]
    names = aws.client("eks").list_nodegroups(clusterName=plan.cluster.name)["nodegroups"]
    pages = aws.client("ec2").get_paginator("describe_instances").paginate(Filters=filters)
    found = []
    for row in (row for page in pages for each in page["Reservations"] for row in each["Instances"]):
        group = groups[next(tag["Value"] for tag in row["Tags"] if tag["Key"] == GROUP_TAG)]
        made = ManagedGroup(next((name for name in names if group.made_name.fullmatch(name)), ""))
        found.append(Machine(row, group, expected(group, made), plan.cluster.version))
    return sorted(found, key=lambda each: (each.group.name, each.id))
