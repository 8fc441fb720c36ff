"""Security groups and their rules."""

from __future__ import annotations

from typing import Final

from sandbox.providers import StandInError
from sandbox.providers.aws.network import TAGS, ec2_api
from sandbox.providers.aws.rows import Call, Name, Update, nothing, simple
from sandbox.providers.values import Record

_DIRECTIONS: Final = {"ingress": "IpPermissions", "egress": "IpPermissionsEgress"}
_ALL: Final = "-1"
_SOURCES: Final = {
    "IpRanges": ("cidrBlocks", "CidrIp"),
    "Ipv6Ranges": ("ipv6CidrBlocks", "CidrIpv6"),
    "PrefixListIds": ("prefixListIds", "PrefixListId"),
    "UserIdGroupPairs": ("securityGroups", "GroupId"),
}
"""EC2's lists of sources, with Pulumi's input and the field of a source."""


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
    for direction, key in _DIRECTIONS.items():
        there = _existing(found.get(key, []))
        same = sorted(map(str, _wanted(call, direction))) == sorted(map(str, there))
        shown[direction] = (call[direction] or []) if same else [_rule(each) for each in there]
    return shown


def _wanted(call: Call, direction: str) -> list[Record]:
    """Return the rules of the inputs as EC2's permissions with one source each, every one once."""
    found: list[Record] = []
    for rule in call[direction] or []:
        protocol = str(rule.get("protocol", _ALL))
        ports = {"FromPort": rule.get("fromPort", -1), "ToPort": rule.get("toPort", -1)}
        common = {"IpProtocol": _ALL} if protocol in ("all", _ALL) else {"IpProtocol": protocol, **ports}
        described = {"Description": rule["description"]} if rule.get("description") else {}
        for key, (name, field) in _SOURCES.items():
            own = [call.id] if key == "UserIdGroupPairs" and rule.get("self") else []
            sources = [*(rule.get(name) or []), *own]
            found += [{**common, key: [{field: source, **described}]} for source in sources]
    return [each for at, each in enumerate(found) if each not in found[:at]]


def _existing(rows: list[Record]) -> list[Record]:
    """Return permissions of a description as :func:`_wanted` does, without the fields that a request does not take."""
    found = []
    for row in rows:
        common = {key: row[key] for key in ("IpProtocol", "FromPort", "ToPort") if row.get(key) is not None}
        for key, (_, field) in _SOURCES.items():
            for source in row.get(key) or []:
                kept = {name: source[name] for name in (field, "Description") if source.get(name)}
                found.append({**common, key: [kept]})
    return found


def _rule(permission: Record) -> Record:
    """Return a permission with one source as a rule in Pulumi's words."""
    key, (source,) = next((key, row) for key, row in permission.items() if key in _SOURCES)
    name, field = _SOURCES[key]
    rule: Record = {
        "protocol": permission["IpProtocol"],
        "fromPort": permission.get("FromPort", 0),
        "toPort": permission.get("ToPort", 0),
    }
    described = {"description": source["Description"]} if source.get("Description") else {}
    return {**rule, name: [source[field]], **described}


def _create_group(call: Call) -> str:
    call = call.with_id(_GROUP.make(call, dict.fromkeys(_DIRECTIONS)))
    _set_rules(call)
    return call.id


def _set_rules(call: Call) -> None:
    """Close what is not wanted, and open what is missing. A new group lets everything out, which is not wanted."""
    found = _GROUP.find(call) or {}
    for direction, key in _DIRECTIONS.items():
        wanted, there = _wanted(call, direction), _existing(found.get(key, []))
        for verb, changed in (("revoke", _without(there, wanted)), ("authorize", _without(wanted, there))):
            if changed:
                operation = f"{verb}_security_group_{direction}"
                call.do("ec2", operation, {"GroupId": call.id, "IpPermissions": changed})


def _without(rules: list[Record], others: list[Record]) -> list[Record]:
    return [each for each in rules if each not in others]


def _take_default(call: Call) -> str:
    filters = [{"Name": "group-name", "Values": ["default"]}, {"Name": "vpc-id", "Values": [call["vpcId"]]}]
    found = call.find("ec2", "describe_security_groups", "SecurityGroups.GroupId", {"Filters": filters})
    if found is None:
        raise StandInError(f"{call.row.token}: {call['vpcId']} has no default security group")
    call = call.with_id(str(found))
    _set_rules(call)
    TAGS.change(call, call.tags, ())
    return call.id


ROWS: Final = (
    simple(
        "aws:ec2/securityGroup:SecurityGroup",
        _GROUP,
        create=_create_group,
        read=_show_group,
        source="ec2/vpc_security_group.go resourceSecurityGroup",
        defaults={"description": "Managed by Pulumi"},
        inputs=("description", "vpcId", "ingress", "egress"),
        updates=(Update(tuple(_DIRECTIONS), _set_rules),),
        tags=TAGS,
        name=Name(255),
    ),
    simple(
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
        _GROUP,
        create=_take_default,
        read=_show_group,
        delete=nothing,
        source="ec2/vpc_default_security_group.go resourceDefaultSecurityGroup",
        inputs=("vpcId", "ingress", "egress"),
        updates=(Update(tuple(_DIRECTIONS), _set_rules),),
        tags=TAGS,
    ),
)
