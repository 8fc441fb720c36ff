"""``multiarch stack new --from-cluster`` of 50 node groups and 1,000 nodes, with 50 ms for each call of AWS.

AWS is a stand-in that waits, and answers in the shape of its API. There is no kubeconfig. Limits: 10 s, and three calls
for each group.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import Any
from unittest.mock import patch

from benchmarks.measure import show
from multiarch.existing.proposal import plan_addition
from multiarch.existing.stack_file import write_stack_file
from multiarch.kubernetes.source import ClusterAccess
from multiarch.runs import eks_clusters

GROUPS, NODES, DELAY = 50, 1000, 0.05
LIMIT_S, CALLS_PER_GROUP = 10.0, 3
_ZONES = ("eu-west-1a", "eu-west-1b")
_NAMES = [f"group-{number}" for number in range(GROUPS)]
_OF_GROUPS = (
    *("describe_nodegroup", "describe_launch_template_versions", "get_instance_profile"),
    "list_attached_role_policies",
)
"""The calls that grow with the groups."""


class Aws:
    """Clients of all services. Half of the groups are self-managed; each has a role of its own."""

    def __init__(self) -> None:
        """Count calls by operation."""
        self.calls: Counter[str] = Counter()
        self.meta = type("Meta", (), {"region_name": "eu-west-1"})
        self.exceptions = type("Exceptions", (), {"ResourceNotFoundException": KeyError})

    def __getattr__(self, operation: str) -> Any:  # noqa: ANN401 (an operation of boto3)
        """Return an operation."""

        def call(**arguments: Any) -> dict[str, Any]:
            self.calls[operation] += 1
            time.sleep(DELAY)
            answer: dict[str, Any] = getattr(_Answers, operation)(**arguments)
            return answer

        return call

    def get_paginator(self, operation: str) -> Any:  # noqa: ANN401 (a paginator of boto3)
        """Return one page per call; Auto Scaling has 100 groups, EC2 1,000 instances in a page."""
        return type("Pages", (), {"paginate": lambda _, **arguments: [getattr(self, operation)(**arguments)]})()


class _Answers:
    """Answers in the shape of the API."""

    @staticmethod
    def describe_cluster(name: str) -> dict[str, Any]:
        vpc = {"vpcId": "vpc-1", "subnetIds": ["subnet-0", "subnet-1"], "clusterSecurityGroupId": "sg-1"}
        access = {"authenticationMode": "API"}
        made = {"version": "1.34", "status": "ACTIVE", "endpoint": "https://x", "accessConfig": access}
        return {"cluster": {"name": name, "resourcesVpcConfig": vpc, **made}}

    @staticmethod
    def list_nodegroups(**_: str) -> dict[str, Any]:
        return {"nodegroups": _NAMES[::2]}

    @staticmethod
    def describe_nodegroup(nodegroupName: str, **_: str) -> dict[str, Any]:  # noqa: N803 (boto3's)
        group = {
            "nodegroupName": nodegroupName,
            "instanceTypes": ["m7i.large"],
            "amiType": "AL2023_x86_64_STANDARD",
            "capacityType": "ON_DEMAND",
            "scalingConfig": {"minSize": 0, "desiredSize": NODES // GROUPS, "maxSize": 50},
            "subnets": ["subnet-0", "subnet-1"],
            "nodeRole": f"arn:aws:iam::111122223333:role/{nodegroupName}",
            "launchTemplate": {"id": f"lt-{nodegroupName}", "version": "1"},
            "labels": {"group": nodegroupName},
            "resources": {"autoScalingGroups": [{"name": f"eks-{nodegroupName}"}]},
        }
        return {"nodegroup": group}

    @staticmethod
    def describe_auto_scaling_groups(**_: Any) -> dict[str, Any]:
        return {"AutoScalingGroups": list(_list_scaling_groups())}

    @staticmethod
    def describe_launch_template_versions(LaunchTemplateId: str, **_: Any) -> dict[str, Any]:  # noqa: N803 (boto3's)
        own = {"ImageId": "ami-1", "InstanceType": "c7i.xlarge", "IamInstanceProfile": {"Name": LaunchTemplateId[3:]}}
        data = own if int(LaunchTemplateId.rpartition("-")[2]) % 2 else {}
        return {"LaunchTemplateVersions": [{"LaunchTemplateData": data}]}

    @staticmethod
    def get_instance_profile(InstanceProfileName: str) -> dict[str, Any]:  # noqa: N803 (boto3's)
        return {"InstanceProfile": {"Roles": [{"Arn": f"arn:aws:iam::111122223333:role/{InstanceProfileName}"}]}}

    @staticmethod
    def describe_images(**_: Any) -> dict[str, Any]:
        name = "amazon-eks-node-al2023-x86_64-standard-1.34-v20261106"
        return {"Images": [{"ImageId": "ami-1", "ImageOwnerAlias": "amazon", "Name": name, "Architecture": "x86_64"}]}

    @staticmethod
    def describe_subnets(SubnetIds: list[str]) -> dict[str, Any]:  # noqa: N803 (boto3's)
        rows = zip(SubnetIds, _ZONES, strict=True)
        return {
            "Subnets": [
                {"SubnetId": each, "AvailabilityZone": zone, "AvailableIpAddressCount": 9} for each, zone in rows
            ]
        }

    @staticmethod
    def describe_route_tables(**_: Any) -> dict[str, Any]:
        return {"RouteTables": []}

    @staticmethod
    def describe_instance_type_offerings(Filters: list[dict[str, Any]], **_: Any) -> dict[str, Any]:  # noqa: N803 (boto3's)
        names = Filters[0]["Values"]
        return {
            "InstanceTypeOfferings": [{"InstanceType": name, "Location": zone} for name in names for zone in _ZONES]
        }

    @staticmethod
    def list_addons(**_: str) -> dict[str, Any]:
        return {"addons": ["coredns", "kube-proxy", "vpc-cni"]}

    @staticmethod
    def describe_addon(addonName: str, **_: str) -> dict[str, Any]:  # noqa: N803 (boto3's)
        return {"addon": {"addonName": addonName, "addonVersion": "v1.0.0-eksbuild.1"}}

    @staticmethod
    def list_pod_identity_associations(**_: str) -> dict[str, Any]:
        return {"associations": [{"namespace": "kube-system", "serviceAccount": "cluster-autoscaler"}]}

    @staticmethod
    def list_attached_role_policies(**_: str) -> dict[str, Any]:
        return {"AttachedPolicies": [{"PolicyName": "AmazonEKSWorkerNodePolicy"}]}

    @staticmethod
    def list_access_entries(**_: str) -> dict[str, Any]:
        return {"accessEntries": []}

    @staticmethod
    def describe_instances(**_: Any) -> dict[str, Any]:
        return {"Reservations": []}


def _list_scaling_groups() -> Iterator[dict[str, Any]]:
    for number, name in enumerate(_NAMES):
        managed = number % 2 == 0
        owner = {"Key": "eks:nodegroup-name", "Value": name} if managed else {"Key": "Name", "Value": name}
        yield {
            "AutoScalingGroupName": f"eks-{name}" if managed else name,
            "MinSize": 0,
            "DesiredCapacity": NODES // GROUPS,
            "MaxSize": 50,
            "VPCZoneIdentifier": "subnet-0,subnet-1",
            "LaunchTemplate": {"LaunchTemplateId": f"lt-{name}", "Version": "1"},
            "Tags": [owner, {"Key": "kubernetes.io/cluster/shop-prod", "Value": "owned"}],
            "Instances": [{"InstanceType": "m7i.large" if managed else "c7i.xlarge"}] * (NODES // GROUPS),
        }


def main() -> None:
    """Print the time and the calls against the limits."""
    aws, began = Aws(), time.perf_counter()
    with patch.object(eks_clusters, "open_clients", lambda *_, **__: lambda _: aws):
        found = plan_addition(eks_clusters.read_cluster_nodes("shop-prod", None, ClusterAccess()), date(2026, 11, 21))
    text = write_stack_file(found, "shop", "prod", owner="shop", cost_center="shop")
    seconds = time.perf_counter() - began
    if len(found.counterparts) != GROUPS or sum(each.group.size for each in found.counterparts) != NODES:
        raise SystemExit(f"{len(found.counterparts)} groups have counterparts:\n{text}")
    show(f"stack new --from-cluster of {GROUPS} groups and {NODES} nodes", seconds, LIMIT_S, "s")
    calls = sum(aws.calls[name] for name in _OF_GROUPS)
    print(f"calls of AWS: {aws.calls.total()}, of which {aws.calls.total() - calls} do not grow with the groups")
    show("calls of AWS for each group", calls / GROUPS, CALLS_PER_GROUP, "calls")


if __name__ == "__main__":
    main()
