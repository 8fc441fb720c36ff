"""What a rendering shows for values that only AWS knows: the right form, and marked so that they can't look real.

An ID is ``<Subnet:private-0>``: the type and logical name of the resource that will have it. The account is
111122223333, which AWS keeps for documentation, and the API server's host ends in ``.invalid`` (RFC 2606).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from multiarch.errors import UnknownFactError
from multiarch.facts.partitions import Partition, find_partition

ACCOUNT = "111122223333"
SUFFIX = "RENDERED"
CERTIFICATE_AUTHORITY = base64.b64encode(b"rendered: EKS makes the certificate authority with the cluster\n").decode()
_NO_REGION = "REGION"
_COMMERCIAL = "us-east-1"  # any region of the partition aws

Json = object
Properties = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Where:
    """Region and partition of a rendering. ``region`` is ``REGION`` where the stack does not set it."""

    region: str
    partition: Partition

    @classmethod
    def of(cls, region: str | None) -> Where:
        """Derive the partition from the region's name; without a region it is ``aws``.

        Raises UnknownFactError for a region of no known partition.
        """
        found = find_partition(region or _COMMERCIAL)
        if found is None:
            raise UnknownFactError("AWS region", region or _COMMERCIAL)
        return cls(region or _NO_REGION, found)

    def arn(self, service: str, resource: str) -> str:
        """Return an ARN in the marked account."""
        region = "" if service == "iam" else self.region
        return f"arn:{self.partition.name}:{service}:{region}:{ACCOUNT}:{resource}"


def resource_id(type_: str, name: str) -> str:
    """Return the placeholder for an ID, ``<Vpc:vpc>`` for a resource of the type ``aws:ec2/vpc:Vpc``."""
    return f"<{type_.rpartition(':')[2]}:{name}>"


def outputs(type_: str, name: str, inputs: Properties, where: Where) -> dict[str, Json]:
    """Return what AWS would add to a resource's inputs, as far as components or people use it."""
    mark = resource_id(type_, name)
    known: dict[str, Json] = {}
    if type_.startswith("aws:"):
        service = type_.split(":")[1].partition("/")[0]
        known["arn"] = where.arn(service, mark)
    if isinstance(prefix := inputs.get("namePrefix"), str):
        known["name"] = f"{prefix}{SUFFIX}"
    if extra := _EXTRA.get(type_):
        known |= extra(mark, inputs)
    return known


def cluster(name: str, inputs: Properties, where: Where) -> dict[str, Json]:
    """Return the state of the EKS cluster that the component ``eks:index:Cluster`` declares."""
    cluster_name = str(inputs.get("name"))
    return {
        "name": cluster_name,
        "arn": where.arn("eks", f"cluster/{cluster_name}"),
        "version": inputs.get("version"),
        "kubernetesNetworkConfig": {"serviceIpv6Cidr": "2001:db8:0:ffff::/108"},
        "endpoint": f"https://{cluster_name}.example.invalid",
        "certificateAuthority": {"data": CERTIFICATE_AUTHORITY},
        "identities": [{"oidcs": [{"issuer": f"https://<OIDC issuer of {cluster_name}>"}]}],
        "vpcConfig": {"clusterSecurityGroupId": f"<SecurityGroup:{name}, made by EKS>", "vpcId": inputs.get("vpcId")},
    }


def _existing_cluster(args: Properties, where: Where) -> dict[str, Json]:
    name = str(args.get("name"))
    made = {key: value for key, value in cluster(name, args, where).items() if key != "certificateAuthority"}
    vpc = {"clusterSecurityGroupId": f"<SecurityGroup of {name}>", "vpcId": f"<VPC of {name}>"}
    return made | {
        "version": f"<version of {name}>",
        "certificateAuthorities": [{"data": CERTIFICATE_AUTHORITY}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": f"<Service CIDR block of {name}>"}],
        "vpcConfig": vpc,
    }


def call(token: str, args: Properties, where: Where) -> dict[str, Json]:
    """Answer a look-up. Raises KeyError for one that no component uses."""
    return _CALLS[token](args, where)


def _managed_group(mark: str, inputs: Properties) -> dict[str, Json]:
    name = f"{inputs.get('nodeGroupNamePrefix')}{SUFFIX}"
    # EKS names the Auto Scaling Group eks-NODEGROUP-UUID.
    scaling_group = {"name": f"eks-{name}-{SUFFIX}"}
    return {
        "nodeGroupName": name,
        "resources": [{"autoscalingGroups": [scaling_group]}],
        "status": "ACTIVE",
        "id": mark,
    }


_EXTRA: Mapping[str, Callable[[str, Properties], dict[str, Json]]] = MappingProxyType(
    {
        "aws:ec2/eip:Eip": lambda mark, _: {"allocationId": mark},
        # RFC 3849 keeps 2001:db8::/32 for documentation.
        "aws:ec2/vpc:Vpc": lambda _mark, _: {"ipv6CidrBlock": "2001:db8::/56"},
        "aws:ec2/launchTemplate:LaunchTemplate": lambda _mark, _: {"latestVersion": 1},
        "aws:eks/nodeGroup:NodeGroup": _managed_group,
        "aws:kms/key:Key": lambda mark, _: {"keyId": mark},
        "aws:sqs/queue:Queue": lambda mark, _: {"url": mark},
    }
)

_CALLS: Mapping[str, Callable[[Properties, Where], dict[str, Json]]] = MappingProxyType(
    {
        "aws:eks/getCluster:getCluster": _existing_cluster,
        "aws:eks/getClusters:getClusters": lambda _, _where: {"names": []},
        "aws:index/getCallerIdentity:getCallerIdentity": lambda _, where: {
            "accountId": ACCOUNT,
            "arn": f"arn:{where.partition.name}:sts::{ACCOUNT}:assumed-role/RENDERED/RENDERED",
        },
        "aws:index/getPartition:getPartition": lambda _, where: {
            "partition": where.partition.name,
            "dnsSuffix": where.partition.dns_suffix,
            "reverseDnsPrefix": where.partition.reverse_dns_prefix,
        },
        "aws:index/getRegion:getRegion": lambda _, where: {"region": where.region},
        "aws:index/getAvailabilityZones:getAvailabilityZones": lambda _, where: {
            "names": [f"{where.region}{letter}" for letter in "abcdef"]
        },
        # EC2's notation for a parameter that is resolved at launch.
        "aws:ssm/getParameter:getParameter": lambda args, _: {"insecureValue": f"resolve:ssm:{args.get('name')}"},
    }
)
