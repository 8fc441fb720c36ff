"""The functions (invokes) of the aws stand-in. Nothing here needs more than one AWS call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from sandbox.providers import StandInError
from sandbox.providers.aws.rows import Aws, error_code, unpairs
from sandbox.providers.values import Record

_HERE: Final = "sandbox/providers/aws/functions.py"


def _only(arguments: Record, *known: str) -> None:
    unknown = sorted(set(arguments) - set(known) - {"region"})
    if unknown:
        raise StandInError(f"the sandbox's aws stand-in takes no {', '.join(unknown)} here; add it in {_HERE}")


def _filters(arguments: Record, **by: str) -> list[Record]:
    """Filters of a look-up: its own, its tags, and arguments that are filters under another name."""
    rows = [{"Name": row["name"], "Values": list(row["values"])} for row in arguments.get("filters") or []]
    rows += [{"Name": f"tag:{key}", "Values": [value]} for key, value in sorted((arguments.get("tags") or {}).items())]
    rows += [
        {"Name": name, "Values": [str(arguments[key])]} for key, name in by.items() if arguments.get(key) is not None
    ]
    return rows


def _single(rows: list[Record], what: str) -> Record:
    if len(rows) != 1:
        raise StandInError(f"{len(rows)} {what} match; exactly one was asked for")
    return rows[0]


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


def vpc(aws: Aws, arguments: Record) -> Record:
    """GetVpc."""
    _only(arguments, "id", "default", "cidrBlock", "filters", "tags", "state", "dhcpOptionsId")
    filters = _filters(arguments, id="vpc-id", cidrBlock="cidr", state="state", dhcpOptionsId="dhcp-options-id")
    if arguments.get("default"):
        filters.append({"Name": "is-default", "Values": ["true"]})
    ec2 = aws.client("ec2")
    row = _single(ec2.describe_vpcs(Filters=filters)["Vpcs"], "VPCs")
    inside = [{"Name": "vpc-id", "Values": [row["VpcId"]]}, {"Name": "association.main", "Values": ["true"]}]
    tables = ec2.describe_route_tables(Filters=inside)["RouteTables"]
    attributes = {
        name: ec2.describe_vpc_attribute(VpcId=row["VpcId"], Attribute=name)[name[0].upper() + name[1:]]["Value"]
        for name in ("enableDnsSupport", "enableDnsHostnames")
    }
    return {
        **attributes,
        "arn": aws.arn("ec2", f"vpc/{row['VpcId']}"),
        "cidrBlock": row["CidrBlock"],
        "cidrBlockAssociations": [
            {
                "associationId": item["AssociationId"],
                "cidrBlock": item["CidrBlock"],
                "state": item["CidrBlockState"]["State"],
            }
            for item in row.get("CidrBlockAssociationSet", [])
        ],
        "default": row["IsDefault"],
        "dhcpOptionsId": row.get("DhcpOptionsId", ""),
        "enableNetworkAddressUsageMetrics": False,
        "id": row["VpcId"],
        "instanceTenancy": row["InstanceTenancy"],
        "ipv6AssociationId": "",
        "ipv6CidrBlock": "",
        "mainRouteTableId": tables[0]["RouteTableId"] if tables else "",
        "ownerId": row.get("OwnerId", aws.account),
        "region": aws.region,
        "state": row["State"],
        "tags": unpairs(row.get("Tags")),
    }


def subnet(aws: Aws, arguments: Record) -> Record:
    """GetSubnet."""
    _only(
        arguments,
        "id",
        "vpcId",
        "availabilityZone",
        "availabilityZoneId",
        "cidrBlock",
        "filters",
        "tags",
        "state",
        "defaultForAz",
    )
    filters = _filters(
        arguments,
        id="subnet-id",
        vpcId="vpc-id",
        availabilityZone="availability-zone",
        cidrBlock="cidr-block",
        state="state",
    )
    row = _single(aws.client("ec2").describe_subnets(Filters=filters)["Subnets"], "subnets")
    return {
        "arn": row["SubnetArn"],
        "assignIpv6AddressOnCreation": row.get("AssignIpv6AddressOnCreation", False),
        "availabilityZone": row["AvailabilityZone"],
        "availabilityZoneId": row["AvailabilityZoneId"],
        "availableIpAddressCount": row["AvailableIpAddressCount"],
        "cidrBlock": row["CidrBlock"],
        "customerOwnedIpv4Pool": "",
        "defaultForAz": row["DefaultForAz"],
        "enableDns64": False,
        "enableLniAtDeviceIndex": 0,
        "enableResourceNameDnsARecordOnLaunch": False,
        "enableResourceNameDnsAaaaRecordOnLaunch": False,
        "id": row["SubnetId"],
        "ipv6CidrBlock": "",
        "ipv6CidrBlockAssociationId": "",
        "ipv6Native": False,
        "mapCustomerOwnedIpOnLaunch": False,
        "mapPublicIpOnLaunch": row["MapPublicIpOnLaunch"],
        "outpostArn": "",
        "ownerId": row.get("OwnerId", aws.account),
        "privateDnsHostnameTypeOnLaunch": "ip-name",
        "region": aws.region,
        "state": row["State"],
        "tags": unpairs(row.get("Tags")),
        "vpcId": row["VpcId"],
    }


def subnets(aws: Aws, arguments: Record) -> Record:
    """getSubnets; the ids are sorted."""
    _only(arguments, "filters", "tags")
    rows = aws.client("ec2").describe_subnets(Filters=_filters(arguments))["Subnets"]
    ids = sorted(str(row["SubnetId"]) for row in rows)
    return {
        "id": aws.region,
        "ids": ids,
        "region": aws.region,
        "tags": arguments.get("tags") or {},
        "filters": arguments.get("filters") or [],
    }


def addon_version(aws: Aws, arguments: Record) -> Record:
    """getAddonVersion: the default version of an add-on, or the newest."""
    _only(arguments, "addonName", "kubernetesVersion", "mostRecent")
    name, minor = arguments["addonName"], arguments["kubernetesVersion"]
    answer = aws.client("eks").describe_addon_versions(addonName=name, kubernetesVersion=minor)["addons"]
    versions: list[Any] = answer[0]["addonVersions"] if answer else []
    newest = bool(arguments.get("mostRecent"))
    for row in versions:
        if newest or any(item["clusterVersion"] == minor and item["defaultVersion"] for item in row["compatibilities"]):
            found = {"addonName": name, "id": name, "kubernetesVersion": minor, "mostRecent": newest}
            return {**found, "region": aws.region, "version": row["addonVersion"]}
    raise StandInError(f"no version of add-on {name} for Kubernetes {minor}")


FUNCTIONS: Final[Mapping[str, Callable[[Aws, Record], Record]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": caller_identity,
    "aws:index/getRegion:getRegion": region,
    "aws:index/getPartition:getPartition": partition,
    "aws:index/getAvailabilityZones:getAvailabilityZones": availability_zones,
    "aws:ssm/getParameter:getParameter": ssm_parameter,
    "aws:ec2/getVpc:getVpc": vpc,
    "aws:ec2/getSubnet:getSubnet": subnet,
    "aws:ec2/getSubnets:getSubnets": subnets,
    "aws:eks/getAddonVersion:getAddonVersion": addon_version,
}
