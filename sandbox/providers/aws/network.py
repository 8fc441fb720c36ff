"""VPCs and what lies in them, except security groups."""

from __future__ import annotations

from typing import Any, Final

from botocore.exceptions import ClientError

from sandbox.providers import StandInError
from sandbox.providers.aws.ec2_common import TAGS, adopted, attribute, described, maker, specification
from sandbox.providers.aws.rows import Call, Row, Update, error_code
from sandbox.providers.values import Record

_VPC_ATTRIBUTES: Final = {
    "enableDnsSupport": "EnableDnsSupport",
    "enableDnsHostnames": "EnableDnsHostnames",
    "enableNetworkAddressUsageMetrics": "EnableNetworkAddressUsageMetrics",
}
_SUBNET_ATTRIBUTES: Final = {"mapPublicIpOnLaunch": "MapPublicIpOnLaunch"}
_TARGETS: Final = (
    "gatewayId",
    "natGatewayId",
    "transitGatewayId",
    "vpcEndpointId",
    "vpcPeeringConnectionId",
    "networkInterfaceId",
    "egressOnlyGatewayId",
)
_ROUTE_ALIASES: Final = {"egressOnlyGatewayId": "EgressOnlyInternetGatewayId"}
_DESTINATIONS: Final = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")


def _create_vpc(call: Call) -> str:
    make = maker("vpc", "create_vpc", "Vpc.VpcId", "describe_vpcs", "Vpcs", "VpcId", "cidrBlock", "instanceTenancy")
    call = call.with_id(make(call))
    attribute(call, "modify_vpc_attribute", "VpcId", _VPC_ATTRIBUTES)
    return call.id


def _read_vpc(call: Call) -> Record | None:
    row = described(call, "describe_vpcs", "VpcIds", "Vpcs")
    if row is None:
        return None
    inside = [{"Name": "vpc-id", "Values": [call.id]}]
    main = call.find(
        "ec2",
        "describe_route_tables",
        "RouteTables",
        {"Filters": [*inside, {"Name": "association.main", "Values": ["true"]}]},
    )
    acl = call.find(
        "ec2", "describe_network_acls", "NetworkAcls", {"Filters": [*inside, {"Name": "default", "Values": ["true"]}]}
    )
    group = call.find(
        "ec2",
        "describe_security_groups",
        "SecurityGroups",
        {"Filters": [*inside, {"Name": "group-name", "Values": ["default"]}]},
    )
    table = main["RouteTableId"] if main else ""
    live = {
        name: call.do("ec2", "describe_vpc_attribute", {"VpcId": call.id, "Attribute": name})[member]["Value"]
        for name, member in _VPC_ATTRIBUTES.items()
    }
    return {
        **live,
        "arn": call.aws.arn("ec2", f"vpc/{call.id}"),
        "cidrBlock": row["CidrBlock"],
        "instanceTenancy": row["InstanceTenancy"],
        "ownerId": call.aws.account,
        "dhcpOptionsId": row.get("DhcpOptionsId", ""),
        "mainRouteTableId": table,
        "defaultRouteTableId": table,
        "defaultNetworkAclId": acl["NetworkAclId"] if acl else "",
        "defaultSecurityGroupId": group["GroupId"] if group else "",
    }


def _create_subnet(call: Call) -> str:
    make = maker(
        "subnet",
        "create_subnet",
        "Subnet.SubnetId",
        "describe_subnets",
        "Subnets",
        "SubnetId",
        "vpcId",
        "cidrBlock",
        "availabilityZone",
        "availabilityZoneId",
    )
    call = call.with_id(make(call))
    attribute(call, "modify_subnet_attribute", "SubnetId", _SUBNET_ATTRIBUTES)
    return call.id


def _read_subnet(call: Call) -> Record | None:
    row = described(call, "describe_subnets", "SubnetIds", "Subnets")
    return row and {
        "arn": row["SubnetArn"],
        "availabilityZone": row["AvailabilityZone"],
        "availabilityZoneId": row["AvailabilityZoneId"],
        "cidrBlock": row["CidrBlock"],
        "mapPublicIpOnLaunch": row["MapPublicIpOnLaunch"],
        "ownerId": call.aws.account,
        "vpcId": row["VpcId"],
    }


def _create_gateway(call: Call) -> str:
    make = maker(
        "internet-gateway",
        "create_internet_gateway",
        "InternetGateway.InternetGatewayId",
        "describe_internet_gateways",
        "InternetGateways",
        "InternetGatewayId",
    )
    call = call.with_id(make(call))
    row = described(call, "describe_internet_gateways", "InternetGatewayIds", "InternetGateways")
    if call["vpcId"] and row is not None and not row.get("Attachments"):
        call.do("ec2", "attach_internet_gateway", {"InternetGatewayId": call.id, "VpcId": call["vpcId"]})
    return call.id


def _read_gateway(call: Call) -> Record | None:
    row = described(call, "describe_internet_gateways", "InternetGatewayIds", "InternetGateways")
    if row is None:
        return None
    attached = [item["VpcId"] for item in row.get("Attachments", [])]
    return {
        "arn": call.aws.arn("ec2", f"internet-gateway/{call.id}"),
        "ownerId": call.aws.account,
        "vpcId": attached[0] if attached else "",
    }


def _delete_gateway(call: Call) -> None:
    row = described(call, "describe_internet_gateways", "InternetGatewayIds", "InternetGateways")
    for item in (row or {}).get("Attachments", []):
        call.quietly("ec2", "detach_internet_gateway", {"InternetGatewayId": call.id, "VpcId": item["VpcId"]})
    call.quietly("ec2", "delete_internet_gateway", {"InternetGatewayId": call.id})


def _read_eip(call: Call) -> Record | None:
    row = described(call, "describe_addresses", "AllocationIds", "Addresses")
    return row and {
        "allocationId": call.id,
        "arn": call.aws.arn("ec2", f"elastic-ip/{call.id}"),
        "domain": row["Domain"],
        "publicIp": row["PublicIp"],
        "publicDns": f"ec2-{row['PublicIp'].replace('.', '-')}.compute-1.amazonaws.com",
    }


def _read_nat(call: Call) -> Record | None:
    row = described(call, "describe_nat_gateways", "NatGatewayIds", "NatGateways")
    if row is None:
        return None
    address = (row.get("NatGatewayAddresses") or [{}])[0]
    found = {
        "associationId": "AssociationId",
        "networkInterfaceId": "NetworkInterfaceId",
        "privateIp": "PrivateIp",
        "publicIp": "PublicIp",
    }
    return {
        **{name: address.get(key, "") for name, key in found.items()},
        "connectivityType": row.get("ConnectivityType", "public"),
        "subnetId": row["SubnetId"],
    }


def _create_table(call: Call) -> str:
    make = maker(
        "route-table",
        "create_route_table",
        "RouteTable.RouteTableId",
        "describe_route_tables",
        "RouteTables",
        "RouteTableId",
        "vpcId",
    )
    call = call.with_id(make(call))
    for route in call["routes"] or []:
        _put_route(call, _table_route(call, route))
    return call.id


def _table_route(call: Call, route: Record) -> Record:
    renamed = {"cidrBlock": "destinationCidrBlock", "ipv6CidrBlock": "destinationIpv6CidrBlock"}
    return {
        "routeTableId": call.id,
        **{renamed.get(key, key): value for key, value in route.items() if value not in (None, "")},
    }


def _update_table(call: Call) -> None:
    for route in call.olds.get("routes") or []:
        if route not in (call["routes"] or []):
            old = _table_route(call, route)
            call.quietly(
                "ec2", "delete_route", {key: old[key] for key in ("routeTableId", *_DESTINATIONS) if key in old}
            )
    for route in call["routes"] or []:
        _put_route(call, _table_route(call, route))


def _read_table(call: Call) -> Record | None:
    row = described(call, "describe_route_tables", "RouteTableIds", "RouteTables")
    return row and {
        "arn": call.aws.arn("ec2", f"route-table/{call.id}"),
        "ownerId": call.aws.account,
        "vpcId": row["VpcId"],
    }


def _put_route(call: Call, route: Record) -> None:
    """CreateRoute; where a crash left the route, ReplaceRoute makes it the same."""
    try:
        call.do("ec2", "create_route", route, _ROUTE_ALIASES)
    except ClientError as error:
        if error_code(error) != "RouteAlreadyExists":
            raise
        call.do("ec2", "replace_route", route, _ROUTE_ALIASES)


def _destination(call: Call) -> str:
    wanted = [str(call[name]) for name in _DESTINATIONS if call[name]]
    if len(wanted) != 1:
        raise StandInError(f"{call.row.token}: exactly one of {', '.join(_DESTINATIONS)} must be set")
    return wanted[0]


def _create_route(call: Call) -> str:
    _put_route(call, call.pick("routeTableId", *_DESTINATIONS, *_TARGETS))
    return f"r-{call['routeTableId']}-{_destination(call)}"


def _read_route(call: Call) -> Record | None:
    table = call.find("ec2", "describe_route_tables", "RouteTables", {"RouteTableIds": [call["routeTableId"]]})
    keys = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
    for row in (table or {}).get("Routes", []):
        if _destination(call) in [row.get(key) for key in keys]:
            return {"origin": row.get("Origin", "CreateRoute"), "state": row.get("State", "active")}
    return None


def _associations(call: Call) -> list[Record]:
    answer = call.do(
        "ec2", "describe_route_tables", {"Filters": [{"Name": "association.subnet-id", "Values": [call["subnetId"]]}]}
    )
    return [
        item
        for table in answer["RouteTables"]
        for item in table["Associations"]
        if item.get("SubnetId") == call["subnetId"]
    ]


def _create_association(call: Call) -> str:
    for item in _associations(call):
        if item["RouteTableId"] == call["routeTableId"]:
            return str(item["RouteTableAssociationId"])
    return str(call.do("ec2", "associate_route_table", call.pick("routeTableId", "subnetId"))["AssociationId"])


def _read_association(call: Call) -> Record | None:
    found = [item for item in _associations(call) if item["RouteTableAssociationId"] == call.id]
    return {"routeTableId": found[0]["RouteTableId"]} if found else None


def _create_endpoint(call: Call) -> str:
    found = adopted(call, "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId")
    if found is not None:
        return found
    names = (
        "vpcId",
        "serviceName",
        "vpcEndpointType",
        "routeTableIds",
        "subnetIds",
        "securityGroupIds",
        "privateDnsEnabled",
        "ipAddressType",
    )
    values = {"vpcEndpointType": "Gateway", **call.pick(*names), **specification(call, "vpc-endpoint")}
    if call["policy"]:
        values["PolicyDocument"] = call["policy"]
    return str(call.do("ec2", "create_vpc_endpoint", values)["VpcEndpoint"]["VpcEndpointId"])


def _read_endpoint(call: Call) -> Record | None:
    row = described(call, "describe_vpc_endpoints", "VpcEndpointIds", "VpcEndpoints")
    return row and {
        "arn": call.aws.arn("ec2", f"vpc-endpoint/{call.id}"),
        "dnsEntries": [
            {"dnsName": item.get("DnsName", ""), "hostedZoneId": item.get("HostedZoneId", "")}
            for item in row.get("DnsEntries") or []
        ],
        "networkInterfaceIds": sorted(row.get("NetworkInterfaceIds") or []),
        "ownerId": call.aws.account,
        "state": row.get("State", "available"),
    }


def _update_endpoint(call: Call) -> None:
    values: Record = {"VpcEndpointId": call.id}
    for name, singular in (
        ("routeTableIds", "RouteTableIds"),
        ("subnetIds", "SubnetIds"),
        ("securityGroupIds", "SecurityGroupIds"),
    ):
        old, new = set(call.olds.get(name) or []), set(call[name] or [])
        values |= {f"Add{singular}": sorted(new - old) or None, f"Remove{singular}": sorted(old - new) or None}
    values |= {"PrivateDnsEnabled": call["privateDnsEnabled"], "PolicyDocument": call["policy"]}
    call.do("ec2", "modify_vpc_endpoint", values)


def _create_flow_log(call: Call) -> str:
    found = adopted(call, "describe_flow_logs", "FlowLogs", "FlowLogId", "Filter")
    if found is not None:
        return found
    subject = next((name for name in ("vpcId", "subnetId", "eniId") if call[name]), "")
    kinds = {"vpcId": "VPC", "subnetId": "Subnet", "eniId": "NetworkInterface"}
    if not subject:
        raise StandInError(f"{call.row.token}: one of vpcId, subnetId, eniId must be set")
    values: Record = {
        "ResourceIds": [call[subject]],
        "ResourceType": kinds[subject],
        "TrafficType": call["trafficType"] or "ALL",
        "DeliverLogsPermissionArn": call["iamRoleArn"],
        **call.pick("logDestinationType", "logDestination", "logFormat", "maxAggregationInterval"),
        **specification(call, "vpc-flow-log"),
    }
    answer = call.do("ec2", "create_flow_logs", values)
    if answer.get("Unsuccessful"):
        raise StandInError(f"{call.row.token}: {answer['Unsuccessful'][0]['Error']['Message']}")
    return str(answer["FlowLogIds"][0])


def _read_flow_log(call: Call) -> Record | None:
    row = call.find("ec2", "describe_flow_logs", "FlowLogs", {"FlowLogIds": [call.id]})
    return row and {"arn": call.aws.arn("ec2", f"vpc-flow-log/{call.id}")}


def _read_tag(call: Call) -> Record | None:
    filters = [{"Name": "resource-id", "Values": [call["resourceId"]]}, {"Name": "key", "Values": [call["key"]]}]
    row = call.find("ec2", "describe_tags", "Tags", {"Filters": filters})
    return row and {"value": row["Value"]}


def _put_tag(call: Call) -> str:
    call.do(
        "ec2",
        "create_tags",
        {"Resources": [call["resourceId"]], "Tags": [{"Key": call["key"], "Value": call["value"]}]},
    )
    return f"{call['resourceId']},{call['key']}"


def _delete_tag(call: Call) -> Any:
    return call.quietly("ec2", "delete_tags", {"Resources": [call["resourceId"]], "Tags": [{"Key": call["key"]}]})


def _delete(operation: str, key: str) -> Any:
    return lambda call: call.quietly("ec2", operation, {key: call.id})


ROWS: Final = (
    Row(
        "aws:ec2/vpc:Vpc",
        _create_vpc,
        _read_vpc,
        _delete("delete_vpc", "VpcId"),
        inputs=("cidrBlock", "instanceTenancy", *_VPC_ATTRIBUTES),
        outputs=(
            "arn",
            "defaultNetworkAclId",
            "defaultRouteTableId",
            "defaultSecurityGroupId",
            "dhcpOptionsId",
            "instanceTenancy",
            "mainRouteTableId",
            "ownerId",
            *_VPC_ATTRIBUTES,
        ),
        updates=(
            Update(
                tuple(_VPC_ATTRIBUTES), lambda call: attribute(call, "modify_vpc_attribute", "VpcId", _VPC_ATTRIBUTES)
            ),
        ),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/subnet:Subnet",
        _create_subnet,
        _read_subnet,
        _delete("delete_subnet", "SubnetId"),
        inputs=("vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId", *_SUBNET_ATTRIBUTES),
        outputs=("arn", "availabilityZone", "availabilityZoneId", "ownerId", "mapPublicIpOnLaunch"),
        updates=(
            Update(
                tuple(_SUBNET_ATTRIBUTES),
                lambda call: attribute(call, "modify_subnet_attribute", "SubnetId", _SUBNET_ATTRIBUTES),
            ),
        ),
        ignored=(
            "assignIpv6AddressOnCreation",
            "enableResourceNameDnsARecordOnLaunch",
            "privateDnsHostnameTypeOnLaunch",
        ),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/internetGateway:InternetGateway",
        _create_gateway,
        _read_gateway,
        _delete_gateway,
        inputs=("vpcId",),
        outputs=("arn", "ownerId"),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/eip:Eip",
        maker(
            "elastic-ip",
            "allocate_address",
            "AllocationId",
            "describe_addresses",
            "Addresses",
            "AllocationId",
            "domain",
            "networkBorderGroup",
        ),
        _read_eip,
        _delete("release_address", "AllocationId"),
        inputs=("domain", "networkBorderGroup"),
        outputs=("allocationId", "arn", "publicDns", "publicIp"),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/natGateway:NatGateway",
        maker(
            "natgateway",
            "create_nat_gateway",
            "NatGateway.NatGatewayId",
            "describe_nat_gateways",
            "NatGateways",
            "NatGatewayId",
            "allocationId",
            "connectivityType",
            "subnetId",
            filters="Filter",
        ),
        _read_nat,
        _delete("delete_nat_gateway", "NatGatewayId"),
        inputs=("allocationId", "connectivityType", "subnetId"),
        outputs=("associationId", "networkInterfaceId", "privateIp", "publicIp"),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/routeTable:RouteTable",
        _create_table,
        _read_table,
        _delete("delete_route_table", "RouteTableId"),
        inputs=("vpcId", "routes"),
        outputs=("arn", "ownerId"),
        updates=(Update(("routes",), _update_table),),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/route:Route",
        _create_route,
        _read_route,
        lambda call: call.quietly("ec2", "delete_route", call.pick("routeTableId", *_DESTINATIONS)),
        inputs=("routeTableId", *_DESTINATIONS, *_TARGETS),
        outputs=("origin", "state"),
        updates=(
            Update(_TARGETS, lambda call: _put_route(call, call.pick("routeTableId", *_DESTINATIONS, *_TARGETS))),
        ),
        delete_first=True,
    ),
    Row(
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        _create_association,
        _read_association,
        _delete("disassociate_route_table", "AssociationId"),
        inputs=("routeTableId", "subnetId"),
        delete_first=True,
    ),
    Row(
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        _create_endpoint,
        _read_endpoint,
        lambda call: call.quietly("ec2", "delete_vpc_endpoints", {"VpcEndpointIds": [call.id]}),
        inputs=(
            "vpcId",
            "serviceName",
            "vpcEndpointType",
            "routeTableIds",
            "subnetIds",
            "securityGroupIds",
            "privateDnsEnabled",
            "ipAddressType",
            "policy",
        ),
        outputs=("arn", "dnsEntries", "networkInterfaceIds", "ownerId", "state"),
        updates=(
            Update(("routeTableIds", "subnetIds", "securityGroupIds", "privateDnsEnabled", "policy"), _update_endpoint),
        ),
        ignored=("autoAccept",),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/flowLog:FlowLog",
        _create_flow_log,
        _read_flow_log,
        lambda call: call.quietly("ec2", "delete_flow_logs", {"FlowLogIds": [call.id]}),
        inputs=(
            "vpcId",
            "subnetId",
            "eniId",
            "trafficType",
            "iamRoleArn",
            "logDestinationType",
            "logDestination",
            "logFormat",
            "maxAggregationInterval",
        ),
        outputs=("arn",),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/tag:Tag",
        _put_tag,
        _read_tag,
        _delete_tag,
        inputs=("resourceId", "key", "value"),
        updates=(Update(("value",), _put_tag),),
    ),
)
