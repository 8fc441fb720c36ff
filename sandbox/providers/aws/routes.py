"""Route tables, routes, their associations, and VPC endpoints."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import ClientError

from sandbox.providers.aws.ec2_common import TAGS, adopted, deleter, described, maker, specification
from sandbox.providers.aws.rows import Call, Row, Update, error_code
from sandbox.providers.values import Record

_TARGETS: Final = ("gatewayId", "natGatewayId")


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
    return make(call)


def _read_table(call: Call) -> Record | None:
    row = described(call, "describe_route_tables", "RouteTableIds", "RouteTables")
    return row and {
        "arn": call.aws.arn("ec2", f"route-table/{call.id}"),
        "ownerId": call.aws.account,
        "vpcId": row["VpcId"],
    }


def _put_route(call: Call) -> str:
    """CreateRoute; where a crash left the route, ReplaceRoute makes it the same."""
    route = call.pick("routeTableId", "destinationCidrBlock", *_TARGETS)
    try:
        call.do("ec2", "create_route", route)
    except ClientError as error:
        if error_code(error) != "RouteAlreadyExists":
            raise
        call.do("ec2", "replace_route", route)
    return f"r-{call['routeTableId']}-{call['destinationCidrBlock']}"


def _read_route(call: Call) -> Record | None:
    table = call.find("ec2", "describe_route_tables", "RouteTables", {"RouteTableIds": [call["routeTableId"]]})
    for row in (table or {}).get("Routes", []):
        if row.get("DestinationCidrBlock") == call["destinationCidrBlock"]:
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
    )
    values = {"vpcEndpointType": "Gateway", **call.pick(*names), **specification(call, "vpc-endpoint")}
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
    values["PrivateDnsEnabled"] = call["privateDnsEnabled"]
    call.do("ec2", "modify_vpc_endpoint", values)


ROWS: Final = (
    Row(
        "aws:ec2/routeTable:RouteTable",
        _create_table,
        _read_table,
        deleter("delete_route_table", "RouteTableId"),
        inputs=("vpcId",),
        outputs=("arn", "ownerId"),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/route:Route",
        _put_route,
        _read_route,
        lambda call: call.quietly("ec2", "delete_route", call.pick("routeTableId", "destinationCidrBlock")),
        inputs=("routeTableId", "destinationCidrBlock", *_TARGETS),
        outputs=("origin", "state"),
        updates=(Update(_TARGETS, _put_route),),
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
        ),
        outputs=("arn", "dnsEntries", "networkInterfaceIds", "ownerId", "state"),
        updates=(Update(("routeTableIds", "subnetIds", "securityGroupIds", "privateDnsEnabled"), _update_endpoint),),
        tags=TAGS,
    ),
)
