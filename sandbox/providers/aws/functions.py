"""The functions (invokes) of the aws stand-in. Nothing here needs more than one AWS call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from botocore.exceptions import ClientError

from sandbox.providers import StandInError
from sandbox.providers.aws.rows import Aws, error_code
from sandbox.providers.values import Record

_HERE: Final = "sandbox/providers/aws/functions.py"


def _only(arguments: Record, *known: str) -> None:
    unknown = sorted(set(arguments) - set(known) - {"region"})
    if unknown:
        raise StandInError(f"the sandbox's aws stand-in takes no {', '.join(unknown)} here; add it in {_HERE}")


def _filters(arguments: Record) -> list[Record]:
    return [{"Name": row["name"], "Values": list(row["values"])} for row in arguments.get("filters") or []]


def caller_identity(aws: Aws, arguments: Record) -> Record:
    """GetCallerIdentity."""
    _only(arguments)
    row = aws.client("sts").get_caller_identity()
    return {"accountId": row["Account"], "arn": row["Arn"], "userId": row["UserId"], "id": row["Account"]}


def region(aws: Aws, arguments: Record) -> Record:
    """getRegion; ``name`` is the old word of ``region``."""
    _only(arguments, "name")
    name = arguments.get("name") or arguments.get("region") or aws.region
    return {"description": name, "endpoint": f"ec2.{name}.amazonaws.com", "id": name, "name": name, "region": name}


def partition(aws: Aws, arguments: Record) -> Record:
    """GetPartition."""
    _only(arguments)
    return {
        "dnsSuffix": "amazonaws.com",
        "id": aws.partition,
        "partition": aws.partition,
        "reverseDnsPrefix": "com.amazonaws",
    }


def availability_zones(aws: Aws, arguments: Record) -> Record:
    """GetAvailabilityZones."""
    _only(arguments, "state", "filters", "excludeNames", "excludeZoneIds", "allAvailabilityZones")
    rows = aws.client("ec2").describe_availability_zones(Filters=_filters(arguments))["AvailabilityZones"]
    left = [
        row
        for row in rows
        if arguments.get("state") in (None, row["State"])
        and row["ZoneName"] not in (arguments.get("excludeNames") or [])
        and row["ZoneId"] not in (arguments.get("excludeZoneIds") or [])
    ]
    left.sort(key=lambda row: str(row["ZoneName"]))
    return {
        "id": aws.region,
        "groupNames": [aws.region],
        "names": [row["ZoneName"] for row in left],
        "zoneIds": [row["ZoneId"] for row in left],
        "region": aws.region,
        **{key: arguments[key] for key in ("state", "filters", "excludeNames", "excludeZoneIds") if key in arguments},
    }


def eks_clusters(aws: Aws, arguments: Record) -> Record:
    """ListClusters."""
    _only(arguments)
    pages = aws.client("eks").get_paginator("list_clusters").paginate()
    return {"id": aws.region, "names": [name for page in pages for name in page["clusters"]], "region": aws.region}


def ssm_parameter(aws: Aws, arguments: Record) -> Record:
    """GetParameter of Systems Manager."""
    _only(arguments, "name", "withDecryption")
    decrypt = arguments.get("withDecryption", True)
    try:
        row = aws.client("ssm").get_parameter(Name=arguments["name"], WithDecryption=decrypt)["Parameter"]
    except ClientError as error:
        if error_code(error) == "ParameterNotFound":
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


FUNCTIONS: Final[Mapping[str, Callable[[Aws, Record], Record]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": caller_identity,
    "aws:index/getRegion:getRegion": region,
    "aws:index/getPartition:getPartition": partition,
    "aws:index/getAvailabilityZones:getAvailabilityZones": availability_zones,
    "aws:eks/getClusters:getClusters": eks_clusters,
    "aws:ssm/getParameter:getParameter": ssm_parameter,
}
