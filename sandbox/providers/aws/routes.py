"""Route tables, routes, their associations, and VPC endpoints."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import ClientError

from sandbox.providers import StandInError
from sandbox.providers.aws.ec2_common import TAGS, adopted, deleter, described, maker, specification
from sandbox.providers.aws.rows import Call, Row, Update, error_code
from sandbox.providers.values import Record

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


ROWS: Final = (
    Row(
        "aws:ec2/routeTable:RouteTable",
        _create_table,
        _read_table,
        deleter("delete_route_table", "RouteTableId"),
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
        deleter("disassociate_route_table", "AssociationId"),
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
)
