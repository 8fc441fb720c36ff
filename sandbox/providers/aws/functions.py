"""The functions (invokes) of the aws stand-in. Nothing here needs more than one AWS call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from botocore.exceptions import ClientError

from sandbox.providers import StandInError
from sandbox.providers.aws.rows import Aws, gone
from sandbox.providers.values import Record

_HERE: Final = "sandbox/providers/aws/functions.py"


def _filters(arguments: Record) -> list[Record]:
    return [{"Name": row["name"], "Values": list(row["values"])} for row in arguments.get("filters") or []]


def caller_identity(aws: Aws, _arguments: Record) -> Record:
    """Call GetCallerIdentity."""
    row = aws.client("sts").get_caller_identity()
    return {"accountId": row["Account"], "arn": row["Arn"], "userId": row["UserId"], "id": row["Account"]}


def region(aws: Aws, arguments: Record) -> Record:
    """Call getRegion."""
    name = arguments.get("region") or aws.region
    return {"description": name, "endpoint": f"ec2.{name}.amazonaws.com", "id": name, "name": name, "region": name}


def partition(aws: Aws, _arguments: Record) -> Record:
    """Call GetPartition."""
    return {
        "dnsSuffix": "amazonaws.com",
        "id": aws.partition,
        "partition": aws.partition,
        "reverseDnsPrefix": "com.amazonaws",
    }


def availability_zones(aws: Aws, arguments: Record) -> Record:
    """Call GetAvailabilityZones."""
    rows = aws.client("ec2").describe_availability_zones(Filters=_filters(arguments))["AvailabilityZones"]
    left = [row for row in rows if row["ZoneId"] not in (arguments.get("excludeZoneIds") or [])]
    left.sort(key=lambda row: str(row["ZoneName"]))
    return {
        "id": aws.region,
        "groupNames": [aws.region],
        "names": [row["ZoneName"] for row in left],
        "zoneIds": [row["ZoneId"] for row in left],
        "region": aws.region,
        **{key: arguments[key] for key in ("filters", "excludeZoneIds") if key in arguments},
    }


def eks_clusters(aws: Aws, _arguments: Record) -> Record:
    """Call ListClusters."""
    pages = aws.client("eks").get_paginator("list_clusters").paginate()
    return {"id": aws.region, "names": [name for page in pages for name in page["clusters"]], "region": aws.region}


def eks_cluster(aws: Aws, arguments: Record) -> Record:
    """Call DescribeCluster; single blocks are lists, as in the official provider, but for ``vpcConfig``."""
    try:
        row = aws.client("eks").describe_cluster(name=arguments["name"])["cluster"]
    except ClientError as error:
        if gone(error):
            raise StandInError(f"reading EKS Cluster ({arguments['name']}): couldn't find resource") from error
        raise
    vpc, network, access = row["resourcesVpcConfig"], row["kubernetesNetworkConfig"], row["accessConfig"]
    return {
        "accessConfigs": [{"authenticationMode": access["authenticationMode"]}],
        "arn": row["arn"],
        "certificateAuthorities": [{"data": row["certificateAuthority"]["data"]}],
        "endpoint": row["endpoint"],
        "id": row["name"],
        "kubernetesNetworkConfigs": [
            {
                "ipFamily": network.get("ipFamily", "ipv4"),
                "serviceIpv4Cidr": network.get("serviceIpv4Cidr", ""),
                "serviceIpv6Cidr": network.get("serviceIpv6Cidr", ""),
            }
        ],
        "name": row["name"],
        "region": aws.region,
        "roleArn": row["roleArn"],
        "status": row["status"],
        "tags": row.get("tags", {}),
        "version": row["version"],
        "vpcConfig": {
            key: vpc[key]
            for key in (
                "clusterSecurityGroupId",
                "endpointPrivateAccess",
                "endpointPublicAccess",
                "publicAccessCidrs",
                "securityGroupIds",
                "subnetIds",
                "vpcId",
            )
        },
    }


def ssm_parameter(aws: Aws, arguments: Record) -> Record:
    """Call GetParameter of Systems Manager."""
    decrypt = arguments.get("withDecryption", True)
    try:
        row = aws.client("ssm").get_parameter(Name=arguments["name"], WithDecryption=decrypt)["Parameter"]
    except ClientError as error:
        if gone(error):
            raise StandInError(f"SSM parameter {arguments['name']} does not exist") from error
        raise
    return {
        "arn": row["ARN"],
        "id": row["Name"],
        "insecureValue": row["Value"],
        "name": row["Name"],
        "region": aws.region,
        "type": row["Type"],
        "value": row["Value"],
        "version": row["Version"],
        "withDecryption": decrypt,
    }


_FUNCTIONS: Final[Mapping[str, tuple[Callable[[Aws, Record], Record], tuple[str, ...]]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": (caller_identity, ()),
    "aws:index/getRegion:getRegion": (region, ()),
    "aws:index/getPartition:getPartition": (partition, ()),
    "aws:index/getAvailabilityZones:getAvailabilityZones": (
        availability_zones,
        ("filters", "excludeZoneIds"),
    ),
    "aws:eks/getCluster:getCluster": (eks_cluster, ("name",)),
    "aws:eks/getClusters:getClusters": (eks_clusters, ()),
    "aws:ssm/getParameter:getParameter": (ssm_parameter, ("name", "withDecryption")),
}
"""Each function with the arguments that it takes, beside the region."""
TOKENS: Final = frozenset(_FUNCTIONS)


def invoke(aws: Aws, token: str, arguments: Record) -> Record:
    """Call a function. Raises :class:`StandInError` for a function or an argument that is not modelled."""
    if token not in _FUNCTIONS:
        raise StandInError(f"the sandbox's aws stand-in has no function {token}; add it in {_HERE}")
    function, known = _FUNCTIONS[token]
    if unknown := sorted(set(arguments) - {*known, "region"}):
        raise StandInError(f"the sandbox's aws stand-in takes no {', '.join(unknown)} here; add it in {_HERE}")
    return function(aws, arguments)
