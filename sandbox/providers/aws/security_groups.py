"""Security groups and their rules."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import ClientError

from sandbox.providers import StandInError
from sandbox.providers.aws.network import TAGS, ec2_api
from sandbox.providers.aws.rows import Call, Name, Update, error_code, nothing, simple
from sandbox.providers.values import Record

_DIRECTIONS: Final = ("ingress", "egress")
_PERMISSIONS: Final = (("ingress", "IpPermissions"), ("egress", "IpPermissionsEgress"))
_ALL: Final = "-1"
_SOURCES: Final = {
    "IpRanges": ("cidrBlocks", "CidrIp"),
    "Ipv6Ranges": ("ipv6CidrBlocks", "CidrIpv6"),
    "PrefixListIds": ("prefixListIds", "PrefixListId"),
    "UserIdGroupPairs": ("securityGroups", "GroupId"),
}


def permission(rule: Record, group_id: str) -> Record:
    """Return a rule in Pulumi's words as one EC2 IpPermission."""
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


_GROUP: Final = ec2_api(
    "security_group",
    by={"GroupId": "{id}"},
    id="GroupId",
    fixed={"Description": "Managed by Pulumi"},
    aliases={"name": "GroupName"},
    live={"name": "GroupName"},
)


def _show_group(call: Call) -> Record | None:
    """Return the group with the rules as the inputs have them, unless others differ from them."""
    shown, found = _GROUP.show(call), _GROUP.find(call) or {}
    if shown is None:
        return None
    for direction, key in _PERMISSIONS:
        wanted = [single for rule in call[direction] or [] for single in _singles(permission(rule, call.id))]
        there = [single for row in found.get(key, []) for single in _singles(_sendable(row))]
        same = sorted(map(str, wanted)) == sorted(map(str, there))
        shown[direction] = (call[direction] or []) if same else [_rule(single) for single in there]
    return shown


def _singles(row: Record) -> list[Record]:
    """Return a permission for each of its sources."""
    common: Record = {key: row[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in row}
    return [{**common, key: [item]} for key in _SOURCES for item in row.get(key, [])]


def _rule(single: Record) -> Record:
    """Return a permission with one source as a rule in Pulumi's words."""
    key, (source,) = next((key, row) for key, row in single.items() if key in _SOURCES)
    name, field = _SOURCES[key]
    rule: Record = {
        "protocol": single["IpProtocol"],
        "fromPort": single.get("FromPort", 0),
        "toPort": single.get("ToPort", 0),
    }
    described_as = {"description": source["Description"]} if source.get("Description") else {}
    return {**rule, name: [source[field]], **described_as}


def _create_group(call: Call) -> str:
    call = call.with_id(_GROUP.make(call, {"ingress": None, "egress": None}))
    _replace_rules(call)
    return call.id


def _replace_rules(call: Call) -> None:
    """A new group lets everything out; the real provider takes that away, and so does this one."""
    row = _GROUP.find(call) or {}
    for direction, key in _PERMISSIONS:
        for old in row.get(key, []):
            revoke(call, call.id, direction, _sendable(old))
        for rule in call[direction] or []:
            authorize(call, call.id, direction, permission(rule, call.id))


def _sendable(row: Record) -> Record:
    """Return what Describe returns, without the fields a request does not take."""
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


def _take_default(call: Call) -> str:
    filters = [{"Name": "group-name", "Values": ["default"]}, {"Name": "vpc-id", "Values": [call["vpcId"]]}]
    found = call.find("ec2", "describe_security_groups", "SecurityGroups.GroupId", {"Filters": filters})
    if found is None:
        raise StandInError(f"{call.row.token}: {call['vpcId']} has no default security group")
    call = call.with_id(str(found))
    _replace_rules(call)
    TAGS.change(call, call.tags, ())
    return call.id


ROWS: Final = (
    simple(
        "aws:ec2/securityGroup:SecurityGroup",
        _GROUP,
        create=_create_group,
        read=_show_group,
        inputs=("description", "vpcId", "ingress", "egress"),
        outputs=("arn", "description", "ownerId", "vpcId"),
        updates=(Update(_DIRECTIONS, _update_rules),),
        tags=TAGS,
        name=Name(255),
    ),
    simple(
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
        _GROUP,
        create=_take_default,
        read=_show_group,
        delete=nothing,
        inputs=("vpcId", "ingress", "egress"),
        outputs=("arn", "description", "name", "ownerId"),
        updates=(Update(_DIRECTIONS, _update_rules),),
        tags=TAGS,
    ),
)
