"""VPCs and what is in them: subnets, gateways, addresses, flow logs, route tables, endpoints; single tags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sandbox.providers.aws.rows import Api, Call, Row, Tags, Update, sends, simple
from sandbox.providers.values import Record

TAGS: Final = Tags("ec2", "create_tags", "delete_tags", "Resources")
_SUBNET_ATTRIBUTES: Final = ("mapPublicIpOnLaunch", "assignIpv6AddressOnCreation")
_VPC_ATTRIBUTES: Final = ("enableDnsSupport", "enableDnsHostnames")
_TARGETS: Final = {
    "gatewayId": "GatewayId",
    "natGatewayId": "NatGatewayId",
    "egressOnlyGatewayId": "EgressOnlyInternetGatewayId",
}
"""Inputs of a route, and their names at EC2."""
_DESTINATIONS: Final = ("destinationCidrBlock", "destinationIpv6CidrBlock")
_OF_ADDRESS: Final = ("allocationId", "associationId", "networkInterfaceId", "privateIp", "publicIp")
_ENDPOINT_LISTS: Final = ("routeTableIds", "subnetIds", "securityGroupIds")


def ec2_api(noun: str, **other: Any) -> Api:
    """Return the operations of a type, named as EC2 names most: ``create_subnet``, ``SubnetId``; ``other`` differs."""
    title, kind = "".join(word.title() for word in noun.split("_")), noun.replace("_", "-")
    live = {"ownerId": "{account}", "arn": f"arn:{{partition}}:ec2:{{region}}:{{account}}:{kind}/{{id}}"}
    operations = {"create": f"create_{noun}", "read": f"describe_{noun}s", "delete": f"delete_{noun}"}
    ids = {"by": {f"{title}Id": "{id}"}, "id": f"{title}.{title}Id", "path": f"{title}s", "kind": kind}
    return Api(**{"service": "ec2", **operations, **ids, **other, "live": {**live, **other.get("live", {})}})


_IPV6: Final = "Ipv6CidrBlockAssociationSet.Ipv6CidrBlock"
_VPC: Final = ec2_api(
    "vpc", aliases={"assignGeneratedIpv6CidrBlock": "AmazonProvidedIpv6CidrBlock"}, live={"ipv6CidrBlock": _IPV6}
)
_ENDPOINT: Final = ec2_api(
    "vpc_endpoint",
    delete="delete_vpc_endpoints",
    fixed={"VpcEndpointType": "Gateway"},
    aliases={"policy": "PolicyDocument"},
)


def _show_vpc(call: Call) -> Record | None:
    """Return the VPC with its attributes, and with what EC2 made in it."""
    shown = _VPC.show(call)
    if shown is None:
        return None

    def inside(operation: str, path: str, name: str, value: str) -> str:
        filters = [{"Name": "vpc-id", "Values": [call.id]}, {"Name": name, "Values": [value]}]
        return str(call.find("ec2", operation, path, {"Filters": filters}) or "")

    for name in _VPC_ATTRIBUTES:
        values = {"VpcId": call.id, "Attribute": name}
        shown[name] = call.find("ec2", "describe_vpc_attribute", f"{name}.Value", values)
    table = inside("describe_route_tables", "RouteTables.RouteTableId", "association.main", "true")
    return {
        **shown,
        "assignGeneratedIpv6CidrBlock": "ipv6CidrBlock" in shown,
        "mainRouteTableId": table,
        "defaultRouteTableId": table,
        "defaultNetworkAclId": inside("describe_network_acls", "NetworkAcls.NetworkAclId", "default", "true"),
        "defaultSecurityGroupId": inside("describe_security_groups", "SecurityGroups.GroupId", "group-name", "default"),
    }


def _show_block(call: Call) -> Record | None:
    """Return a secondary CIDR block of a VPC; one that was removed stays in EC2's answer for some time."""
    by = {"Filters": [{"Name": "cidr-block-association.association-id", "Values": [call.id]}]}
    rows = (call.find("ec2", "describe_vpcs", "Vpcs", by) or {}).get("CidrBlockAssociationSet", [])
    found = next((row for row in rows if row["AssociationId"] == call.id), None)
    if found is None or found["CidrBlockState"]["State"] != "associated":
        return None
    return {"cidrBlock": found["CidrBlock"], "vpcId": call["vpcId"]}


def _set_attributes(operation: str, key: str, *names: str) -> Update:
    """Return the update by Modify…Attribute, which takes one boolean at a time."""

    def run(call: Call) -> None:
        for name, value in call.changed(*names).items():
            if value is not None:
                call.do("ec2", operation, {key: call.id, name: {"Value": value}})

    return Update(names, run)


_GATEWAY: Final = ec2_api("internet_gateway", live={"vpcId": "Attachments.VpcId"})


def _detach(call: Call) -> None:
    attached = (_GATEWAY.show(call) or {}).get("vpcId")
    if attached:
        call.quietly("ec2", "detach_internet_gateway", {"InternetGatewayId": call.id, "VpcId": attached})


def _delete_gateway(call: Call) -> None:
    _detach(call)
    _GATEWAY.drop(call)


def _move_gateway(call: Call) -> None:
    _detach(call)
    if call["vpcId"]:
        call.do("ec2", "attach_internet_gateway", {"InternetGatewayId": call.id, "VpcId": call["vpcId"]})


_EIP: Final = ec2_api(
    "address",
    create="allocate_address",
    read="describe_addresses",
    delete="release_address",
    by={"AllocationId": "{id}"},
    id="AllocationId",
    path="Addresses",
    kind="elastic-ip",
    live={"arn": "arn:{partition}:ec2:{region}:{account}:elastic-ip/{id}"},
)


def _show_eip(call: Call) -> Record | None:
    shown = _EIP.show(call)
    return shown and {**shown, "publicDns": f"ec2-{shown['publicIp'].replace('.', '-')}.compute-1.amazonaws.com"}


def _show_tag(call: Call) -> Record | None:
    filters = [{"Name": "resource-id", "Values": [call["resourceId"]]}, {"Name": "key", "Values": [call["key"]]}]
    row = call.find("ec2", "describe_tags", "Tags", {"Filters": filters})
    return row and {"value": row["Value"]}


def _put_tag(call: Call) -> str:
    call.do("ec2", "create_tags", {"Resources": call["resourceId"], "Tags": call.pick("key", "value")})
    return f"{call['resourceId']},{call['key']}"


def _put_route(call: Call) -> str:
    """Call CreateRoute; a route to another target is replaced."""
    route = call.pick("routeTableId", *_DESTINATIONS)
    route |= {_TARGETS[name]: value for name, value in call.pick(*_TARGETS).items()}
    call.do("ec2", "replace_route" if call.id else "create_route", route)
    return f"r-{call['routeTableId']}-{call['destinationCidrBlock'] or call['destinationIpv6CidrBlock']}"


def _show_route(call: Call) -> Record | None:
    table = call.find("ec2", "describe_route_tables", "RouteTables", {"RouteTableIds": [call["routeTableId"]]})
    for row in (table or {}).get("Routes", []):
        if all(row.get(f"{name[0].upper()}{name[1:]}") == call[name] for name in _DESTINATIONS):
            targets = {name: row.get(key) for name, key in _TARGETS.items()}
            return {"origin": row.get("Origin", "CreateRoute"), "state": row.get("State", "active"), **targets}
    return None


def _association(call: Call) -> Record | None:
    """Return a subnet's association; its ID changes with its table, and the engine keeps the first one."""
    by = {"Filters": [{"Name": "association.subnet-id", "Values": [call["subnetId"]]}]}
    rows = (call.find("ec2", "describe_route_tables", "RouteTables", by) or {}).get("Associations", [])
    return next((row for row in rows if row.get("SubnetId") == call["subnetId"]), None)


def _show_association(call: Call) -> Record | None:
    row = _association(call)
    return row and {"routeTableId": row["RouteTableId"]}


def _with_association(operation: str, *names: str) -> Callable[[Call], None]:
    def run(call: Call) -> None:
        row = _association(call)
        if row:
            call.do("ec2", operation, {"AssociationId": row["RouteTableAssociationId"], **call.pick(*names)})

    return run


def _show_endpoint(call: Call) -> Record | None:
    shown, found = _ENDPOINT.show(call), _ENDPOINT.find(call) or {}
    groups = {"securityGroupIds": [row["GroupId"] for row in found["Groups"]]} if "Groups" in found else {}
    return shown and {**shown, **groups}


def _update_endpoint(call: Call) -> None:
    values: Record = {"VpcEndpointId": call.id, **call.changed("privateDnsEnabled")}
    if call.changed("policy"):
        values["PolicyDocument"] = call["policy"]
    for name in _ENDPOINT_LISTS:
        old, new = set(call.olds.get(name) or []), set(call[name] or [])
        values |= {f"Add{name}": sorted(new - old) or None, f"Remove{name}": sorted(old - new) or None}
    call.do("ec2", "modify_vpc_endpoint", values)


ROWS: Final = (
    simple(
        "aws:ec2/vpc:Vpc",
        _VPC,
        read=_show_vpc,
        source="ec2/vpc_.go resourceVPC",
        defaults={"assignGeneratedIpv6CidrBlock": False, "enableDnsSupport": True},
        inputs=("cidrBlock", "assignGeneratedIpv6CidrBlock", *_VPC_ATTRIBUTES),
        updates=(_set_attributes("modify_vpc_attribute", "VpcId", *_VPC_ATTRIBUTES),),
        tags=TAGS,
    ),
    simple(
        "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
        Api(
            "ec2",
            "associate_vpc_cidr_block",
            "describe_vpcs",
            "disassociate_vpc_cidr_block",
            {"AssociationId": "{id}"},
            "CidrBlockAssociation.AssociationId",
        ),
        read=_show_block,
        source="ec2/vpc_ipv4_cidr_block_association.go resourceVPCIPv4CIDRBlockAssociation",
        inputs=("vpcId", "cidrBlock"),
    ),
    simple(
        "aws:ec2/flowLog:FlowLog",
        ec2_api(
            "flow_log",
            create="create_flow_logs",
            delete="delete_flow_logs",
            id="FlowLogIds",
            kind="vpc-flow-log",
            fixed={"ResourceType": "VPC", "LogDestinationType": "cloud-watch-logs"},
            aliases={"vpcId": "ResourceIds", "iamRoleArn": "DeliverLogsPermissionArn"},
            live={"arn": "arn:{partition}:ec2:{region}:{account}:vpc-flow-log/{id}", "vpcId": "ResourceId"},
        ),
        source="ec2/vpc_flow_log.go resourceFlowLog",
        inputs=("vpcId", "trafficType", "logDestination", "iamRoleArn"),
        tags=TAGS,
    ),
    simple(
        "aws:ec2/subnet:Subnet",
        ec2_api("subnet", live={"arn": "SubnetArn", "ipv6CidrBlock": _IPV6}),
        source="ec2/vpc_subnet.go resourceSubnet",
        defaults={"assignIpv6AddressOnCreation": False},
        inputs=("vpcId", "cidrBlock", "ipv6CidrBlock", "availabilityZone", *_SUBNET_ATTRIBUTES),
        updates=(_set_attributes("modify_subnet_attribute", "SubnetId", *_SUBNET_ATTRIBUTES),),
        tags=TAGS,
    ),
    simple(
        "aws:ec2/internetGateway:InternetGateway",
        _GATEWAY,
        delete=_delete_gateway,
        source="ec2/vpc_internet_gateway.go resourceInternetGateway",
        inputs=("vpcId",),
        updates=(Update(("vpcId",), _move_gateway),),
        tags=TAGS,
    ),
    simple(
        "aws:ec2/egressOnlyInternetGateway:EgressOnlyInternetGateway",
        ec2_api("egress_only_internet_gateway", live={"vpcId": "Attachments.VpcId"}),
        source="ec2/vpc_egress_only_internet_gateway.go resourceEgressOnlyInternetGateway",
        inputs=("vpcId",),
        tags=TAGS,
    ),
    simple(
        "aws:ec2/eip:Eip",
        _EIP,
        read=_show_eip,
        source="ec2/ec2_eip.go resourceEIP",
        inputs=("domain",),
        tags=TAGS,
    ),
    simple(
        "aws:ec2/natGateway:NatGateway",
        ec2_api(
            "nat_gateway",
            kind="natgateway",
            live={name: f"NatGatewayAddresses.{name}" for name in _OF_ADDRESS},
        ),
        source="ec2/vpc_nat_gateway.go resourceNATGateway",
        inputs=("allocationId", "subnetId"),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/tag:Tag",
        _put_tag,
        _show_tag,
        lambda call: call.quietly("ec2", "delete_tags", {"Resources": call["resourceId"], "Tags": call.pick("key")}),
        source="ec2/tag_gen.go resourceTag",
        inputs=("resourceId", "key", "value"),
        updates=(Update(("value",), _put_tag),),
    ),
    simple(
        "aws:ec2/routeTable:RouteTable",
        ec2_api("route_table"),
        source="ec2/vpc_route_table.go resourceRouteTable",
        inputs=("vpcId",),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/route:Route",
        _put_route,
        _show_route,
        sends("ec2", "delete_route", {}, "routeTableId", *_DESTINATIONS, quiet=True),
        source="ec2/vpc_route.go resourceRoute",
        inputs=("routeTableId", *_DESTINATIONS, *_TARGETS),
        updates=(Update((*_TARGETS,), _put_route),),
        delete_first=True,
    ),
    simple(
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        ec2_api(
            "route_table",
            create="associate_route_table",
            id="AssociationId",
        ),
        read=_show_association,
        delete=_with_association("disassociate_route_table"),
        source="ec2/vpc_route_table_association.go resourceRouteTableAssociation",
        inputs=("routeTableId", "subnetId"),
        updates=(Update(("routeTableId",), _with_association("replace_route_table_association", "routeTableId")),),
        delete_first=True,
    ),
    simple(
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        _ENDPOINT,
        read=_show_endpoint,
        source="ec2/vpc_endpoint.go resourceVPCEndpoint",
        defaults={"vpcEndpointType": "Gateway"},
        inputs=("vpcId", "serviceName", "vpcEndpointType", *_ENDPOINT_LISTS, "policy", "privateDnsEnabled"),
        updates=(Update((*_ENDPOINT_LISTS, "policy", "privateDnsEnabled"), _update_endpoint),),
        tags=TAGS,
    ),
)
