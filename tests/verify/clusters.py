"""The cluster of the stack checkout-dev in the sandbox's AWS, with healthy nodes that answer SSM, and its API server.

The nodes do not run: what they say to SSM, and their Nodes, are made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.aws.remote import Remote
from sandbox.aws.ssm_commands import Target
from tests.kubernetes import kubeconfigs
from tests.kubernetes.api_server import Answer, Request, serving
from tests.sandbox.served import REGION, Served
from tests.verify.on_node.reports import AMD64, ARM64, content, packed

STACK = "checkout-dev"
KERNEL = "6.12.40-63.114.amzn2023"


class Group:
    """A managed node group of the stack, and what its nodes say."""

    def __init__(self, name: str, architecture: str, instance_type: str, labels: Mapping[str, str]) -> None:
        """``labels`` are the kubelet's own."""
        self.name, self.architecture, self.instance_type = name, architecture, instance_type
        arm64 = architecture == "arm64"
        self.machine = "aarch64" if arm64 else "x86_64"
        self.ami_type = "AL2023_ARM_64_STANDARD" if arm64 else "AL2023_x86_64_STANDARD"
        self.taints = [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}] if arm64 else []
        self.labels = {"eks.amazonaws.com/nodegroup": name, "eks.amazonaws.com/capacityType": "ON_DEMAND", **labels}

    def report(self) -> str:
        """What the script prints on one of its nodes."""
        elf = ARM64 if self.architecture == "arm64" else AMD64
        versions = {
            "kubelet": "Kubernetes v1.35.4-eks-1a2b3c4",
            "containerd": "containerd v2.1.4",
            "runc": "runc 1.3.0",
        }
        labels = ",".join(f"{key}={value}" for key, value in self.labels.items())
        taints = ",".join(f"{each['key']}={each['value']}:{each['effect']}" for each in self.taints)
        rows = [
            ("uname", self.machine, f"{KERNEL}.{self.machine}"),
            ("os", "Amazon Linux 2023.9.20261106"),
            *(("program", name, f"/usr/bin/{name}", elf, version, "") for name, version in versions.items()),
            ("kubelet", "812"),
            ("flag", f"--node-labels={labels}"),
            *([("flag", f"--register-with-taints={taints}")] if taints else []),
        ]
        return packed(content(rows))

    def node(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """The Node of one of its instances."""
        zone = instance["Placement"]["AvailabilityZone"]
        labels = {
            "kubernetes.io/arch": self.architecture,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": self.instance_type,
            "topology.kubernetes.io/region": REGION,
            "topology.kubernetes.io/zone": zone,
            **self.labels,
        }
        name = f"ip-{instance['PrivateIpAddress'].replace('.', '-')}.{REGION}.compute.internal"
        info = {
            "architecture": self.architecture,
            "kubeletVersion": "v1.35.4-eks-1a2b3c4",
            "containerRuntimeVersion": "containerd://2.1.4",
            "osImage": "Amazon Linux 2023.9.20261106",
            "kernelVersion": f"{KERNEL}.{self.machine}",
        }
        return {
            "metadata": {"name": name, "uid": instance["InstanceId"], "resourceVersion": "5", "labels": labels},
            "spec": {"providerID": f"aws:///{zone}/{instance['InstanceId']}", "taints": self.taints},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": info},
        }


GROUPS = (
    Group("general-14f859c", "amd64", "m7i.large", {}),
    Group("graviton-a10fc5e", "arm64", "m7g.large", {"checkout.example.com/tier": "graviton"}),
)


def _subnets(ec2: Any) -> list[str]:  # noqa: ANN401 (botocore makes its clients at run time)
    """Two subnets with room for all nodes."""
    vpc = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
    blocks = {"a": "10.20.0.0/20", "b": "10.20.16.0/20"}
    made = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=block, AvailabilityZone=f"{REGION}{zone}")
        for zone, block in blocks.items()
    ]
    return [str(row["Subnet"]["SubnetId"]) for row in made]


def create(aws: Served, each: int, delay: float = 0.0) -> list[dict[str, Any]]:
    """Create the cluster with ``each`` nodes per group, and register them with SSM; its Nodes.

    The nodes answer SSM after ``delay`` seconds.
    """
    remote = Remote(aws.endpoint)
    subnets = _subnets(aws.client("ec2"))
    aws.cluster(STACK, resourcesVpcConfig={"subnetIds": subnets})
    role = aws.role("node")
    for group in GROUPS:
        aws.client("eks").create_nodegroup(
            clusterName=STACK,
            nodegroupName=group.name,
            subnets=subnets,
            nodeRole=role,
            amiType=group.ami_type,
            instanceTypes=[group.instance_type],
            scalingConfig={"minSize": 1, "maxSize": each, "desiredSize": each},
        )
    by_type = {group.instance_type: group for group in GROUPS}
    nodes = []
    for page in aws.client("ec2").get_paginator("describe_instances").paginate():
        for instance in (row for reservation in page["Reservations"] for row in reservation["Instances"]):
            group = by_type[instance["InstanceType"]]
            remote.register(instance["InstanceId"], Target(output=group.report(), delay=delay))
            nodes.append(group.node(instance))
    return nodes


@contextmanager
def api_server(nodes: list[dict[str, Any]], kubeconfig: Path) -> Iterator[None]:
    """Serve the Nodes in pages, and write a kubeconfig for them."""

    def answer(request: Request) -> Answer:
        start, size = int(request.query.get("continue", 0)), int(request.query.get("limit", len(nodes)))
        more = {"continue": str(start + size)} if start + size < len(nodes) else {}
        return 200, {"kind": "NodeList", "metadata": more, "items": nodes[start : start + size]}, {}

    with serving(answer) as server:
        kubeconfigs.write(kubeconfig, server.url)
        yield


def environment(aws: Served, folder: Path) -> dict[str, str]:
    """Variables for a command that uses this AWS and, once it runs, the API server."""
    return {
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_CONFIG_FILE": str(folder / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
        "KUBECONFIG": str(folder / "kubeconfig"),
    }
