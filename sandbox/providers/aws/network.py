"""VPCs, subnets, gateways, addresses and single tags."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.ec2_common import TAGS, adopted, attribute, deleter, described, maker, specification
from sandbox.providers.aws.rows import Call, Row, Update
from sandbox.providers.values import Record, Value

_VPC_ATTRIBUTES: Final = {
    "enableDnsSupport": "EnableDnsSupport",
    "enableDnsHostnames": "EnableDnsHostnames",
}
_SUBNET_ATTRIBUTES: Final = {"mapPublicIpOnLaunch": "MapPublicIpOnLaunch"}


def _create_vpc(call: Call) -> str:
    make = maker("vpc", "create_vpc", "Vpc.VpcId", "describe_vpcs", "Vpcs", "VpcId", "cidrBlock")
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


def _create_flow_log(call: Call) -> str:
    found = adopted(call, "describe_flow_logs", "FlowLogs", "FlowLogId", filters="Filter")
    if found is not None:
        return found
    values = {
        "ResourceType": "VPC",
        "ResourceIds": [call["vpcId"]],
        "TrafficType": call["trafficType"],
        "LogDestinationType": "cloud-watch-logs",
        "LogDestination": call["logDestination"],
        "DeliverLogsPermissionArn": call["iamRoleArn"],
        **specification(call, "vpc-flow-log"),
    }
    return str(call.do("ec2", "create_flow_logs", values)["FlowLogIds"][0])


def _read_flow_log(call: Call) -> Record | None:
    row = described(call, "describe_flow_logs", "FlowLogIds", "FlowLogs")
    return row and {"arn": call.aws.arn("ec2", f"vpc-flow-log/{call.id}")}


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


def _delete_tag(call: Call) -> Value:
    return call.quietly("ec2", "delete_tags", {"Resources": [call["resourceId"]], "Tags": [{"Key": call["key"]}]})


ROWS: Final = (
    Row(
        "aws:ec2/vpc:Vpc",
        _create_vpc,
        _read_vpc,
        deleter("delete_vpc", "VpcId"),
        inputs=("cidrBlock", *_VPC_ATTRIBUTES),
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
        "aws:ec2/flowLog:FlowLog",
        _create_flow_log,
        _read_flow_log,
        lambda call: call.quietly("ec2", "delete_flow_logs", {"FlowLogIds": [call.id]}),
        inputs=("vpcId", "trafficType", "logDestination", "iamRoleArn"),
        outputs=("arn",),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/subnet:Subnet",
        _create_subnet,
        _read_subnet,
        deleter("delete_subnet", "SubnetId"),
        inputs=("vpcId", "cidrBlock", "availabilityZone", *_SUBNET_ATTRIBUTES),
        outputs=("arn", "availabilityZone", "availabilityZoneId", "ownerId", "mapPublicIpOnLaunch"),
        updates=(
            Update(
                tuple(_SUBNET_ATTRIBUTES),
                lambda call: attribute(call, "modify_subnet_attribute", "SubnetId", _SUBNET_ATTRIBUTES),
            ),
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
        ),
        _read_eip,
        deleter("release_address", "AllocationId"),
        inputs=("domain",),
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
            "subnetId",
            filters="Filter",
        ),
        _read_nat,
        deleter("delete_nat_gateway", "NatGatewayId"),
        inputs=("allocationId", "subnetId"),
        outputs=("associationId", "networkInterfaceId", "privateIp", "publicIp"),
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
