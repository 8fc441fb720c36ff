"""Security groups and their rules."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import ClientError

from sandbox.providers import StandInError
from sandbox.providers.aws.ec2_common import TAGS, deleter, described, specification
from sandbox.providers.aws.rows import Call, Name, Row, Update, error_code, nothing, unpairs
from sandbox.providers.values import Record

_DIRECTIONS: Final = ("ingress", "egress")
_ALL: Final = "-1"


def permission(rule: Record, group_id: str) -> Record:
    """A rule in Pulumi's words as one EC2 IpPermission."""
    protocol = str(rule.get("protocol", _ALL))
    protocol = _ALL if protocol in ("all", _ALL) else protocol
    described_as = {"Description": rule["description"]} if rule.get("description") else {}
    groups = [*(rule.get("securityGroups") or []), *([group_id] if rule.get("self") else [])]
    lists = {
        "IpRanges": [{"CidrIp": item, **described_as} for item in rule.get("cidrBlocks") or []],
        "Ipv6Ranges": [{"CidrIpv6": item, **described_as} for item in rule.get("ipv6CidrBlocks") or []],
        "PrefixListIds": [{"PrefixListId": item, **described_as} for item in rule.get("prefixListIds") or []],
        "UserIdGroupPairs": [{"GroupId": item, **described_as} for item in groups],
    }
    ports = {} if protocol == _ALL else {"FromPort": rule.get("fromPort", -1), "ToPort": rule.get("toPort", -1)}
    return {"IpProtocol": protocol, **ports, **{key: value for key, value in lists.items() if value}}


def authorize(call: Call, group_id: str, direction: str, wanted: Record) -> None:
    """Open; what is open already is fine."""
    try:
        call.do("ec2", f"authorize_security_group_{direction}", {"GroupId": group_id, "IpPermissions": [wanted]})
    except ClientError as error:
        if error_code(error) != "InvalidPermission.Duplicate":
            raise


def revoke(call: Call, group_id: str, direction: str, wanted: Record) -> None:
    """Close; what is closed already is fine."""
    try:
        call.quietly("ec2", f"revoke_security_group_{direction}", {"GroupId": group_id, "IpPermissions": [wanted]})
    except ClientError as error:
        if error_code(error) != "InvalidPermission.NotFound":
            raise


def _by_name(call: Call) -> Record:
    filters = [{"Name": "group-name", "Values": [call["name"]]}]
    if call["vpcId"]:
        filters.append({"Name": "vpc-id", "Values": [call["vpcId"]]})
    found: Record | None = call.find("ec2", "describe_security_groups", "SecurityGroups", {"Filters": filters})
    return found or {}


def _create_group(call: Call) -> str:
    values = {
        "GroupName": call["name"],
        "Description": call["description"] or "Managed by Pulumi",
        "VpcId": call["vpcId"],
        **specification(call, "security-group"),
    }
    call.make(
        lambda: call.do("ec2", "create_security_group", values),
        "InvalidGroup.Duplicate",
        lambda: unpairs(_by_name(call).get("Tags")),
    )
    call = call.with_id(str(_by_name(call)["GroupId"]))
    _replace_rules(call, _by_name(call))
    return call.id


def _replace_rules(call: Call, row: Record) -> None:
    """A new group lets everything out; the real provider takes that away, and so does this one."""
    for direction, key in (("ingress", "IpPermissions"), ("egress", "IpPermissionsEgress")):
        for old in row.get(key, []):
            revoke(call, call.id, direction, _sendable(old))
        for rule in call[direction] or []:
            authorize(call, call.id, direction, permission(rule, call.id))


def _sendable(row: Record) -> Record:
    """What Describe returns, without the fields a request does not take."""
    pairs = [
        {key: item[key] for key in ("GroupId", "Description") if item.get(key)}
        for item in row.get("UserIdGroupPairs") or []
    ]
    kept = {
        key: row[key]
        for key in ("IpProtocol", "FromPort", "ToPort", "IpRanges", "Ipv6Ranges", "PrefixListIds")
        if row.get(key) not in (None, [])
    }
    return {**kept, **({"UserIdGroupPairs": pairs} if pairs else {})}


def _update_rules(call: Call) -> None:
    for direction in _DIRECTIONS:
        old, new = call.olds.get(direction) or [], call[direction] or []
        for rule in old:
            if rule not in new:
                revoke(call, call.id, direction, permission(rule, call.id))
        for rule in new:
            authorize(call, call.id, direction, permission(rule, call.id))


def _read_group(call: Call) -> Record | None:
    row = described(call, "describe_security_groups", "GroupIds", "SecurityGroups")
    return row and {
        "arn": call.aws.arn("ec2", f"security-group/{call.id}"),
        "description": row["Description"],
        "name": row["GroupName"],
        "ownerId": call.aws.account,
        "vpcId": row["VpcId"],
    }


def _take_default(call: Call) -> str:
    filters = [{"Name": "group-name", "Values": ["default"]}, {"Name": "vpc-id", "Values": [call["vpcId"]]}]
    row = call.find("ec2", "describe_security_groups", "SecurityGroups", {"Filters": filters})
    if row is None:
        raise StandInError(f"{call.row.token}: {call['vpcId']} has no default security group")
    call = call.with_id(str(row["GroupId"]))
    _replace_rules(call, row)
    TAGS.put(call, dict(call.tags.items()))
    return call.id


ROWS: Final = (
    Row(
        "aws:ec2/securityGroup:SecurityGroup",
        _create_group,
        _read_group,
        deleter("delete_security_group", "GroupId"),
        inputs=("description", "vpcId", "ingress", "egress"),
        outputs=("arn", "description", "ownerId", "vpcId"),
        updates=(Update(_DIRECTIONS, _update_rules),),
        tags=TAGS,
        name=Name(255),
    ),
    Row(
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
        _take_default,
        _read_group,
        nothing,
        inputs=("vpcId", "ingress", "egress"),
        outputs=("arn", "description", "name", "ownerId"),
        updates=(Update(_DIRECTIONS, _update_rules),),
        tags=TAGS,
    ),
)
