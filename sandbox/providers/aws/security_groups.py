"""Security groups and their rules."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import ClientError

from sandbox.providers import StandInError, identity
from sandbox.providers.aws.ec2_common import TAGS, described, specification
from sandbox.providers.aws.rows import Call, Name, Row, Update, error_code, nothing, unpairs
from sandbox.providers.values import Record, Value

_DIRECTIONS: Final = ("ingress", "egress")
_ALL: Final = "-1"
_NUMBERS: Final = {"icmp": "1", "tcp": "6", "udp": "17", "all": _ALL}
Atom = tuple[str, int, int, str, str]


def permission(rule: Record, group_id: str) -> Record:
    """A rule in Pulumi's words as one EC2 IpPermission."""
    protocol = str(rule.get("protocol", rule.get("ipProtocol", _ALL)))
    protocol = _ALL if protocol in ("all", _ALL) else protocol
    described_as = {"Description": rule["description"]} if rule.get("description") else {}
    groups = [*(rule.get("securityGroups") or []), *([group_id] if rule.get("self") else [])]
    groups += [rule[key] for key in ("sourceSecurityGroupId", "referencedSecurityGroupId") if rule.get(key)]
    lists = {
        "IpRanges": [
            {"CidrIp": item, **described_as} for item in [*(rule.get("cidrBlocks") or []), *_one(rule, "cidrIpv4")]
        ],
        "Ipv6Ranges": [
            {"CidrIpv6": item, **described_as}
            for item in [*(rule.get("ipv6CidrBlocks") or []), *_one(rule, "cidrIpv6")]
        ],
        "PrefixListIds": [
            {"PrefixListId": item, **described_as}
            for item in [*(rule.get("prefixListIds") or []), *_one(rule, "prefixListId")]
        ],
        "UserIdGroupPairs": [{"GroupId": item, **described_as} for item in groups],
    }
    ports = {} if protocol == _ALL else {"FromPort": rule.get("fromPort", -1), "ToPort": rule.get("toPort", -1)}
    return {"IpProtocol": protocol, **ports, **{key: value for key, value in lists.items() if value}}


def _one(rule: Record, key: str) -> list[str]:
    return [rule[key]] if rule.get(key) else []


def atoms(row: Record) -> set[Atom]:
    """An IpPermission as the set of single openings it stands for: protocol, ports, kind, value."""
    protocol = _NUMBERS.get(row["IpProtocol"], row["IpProtocol"])
    ports = (-1, -1) if protocol == _ALL else (row.get("FromPort", -1), row.get("ToPort", -1))
    keys = {
        "IpRanges": "CidrIp",
        "Ipv6Ranges": "CidrIpv6",
        "PrefixListIds": "PrefixListId",
        "UserIdGroupPairs": "GroupId",
    }
    return {(protocol, *ports, kind, item[key]) for kind, key in keys.items() for item in row.get(kind) or []}


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


def _group(call: Call, group_id: str) -> Record | None:
    found: Record | None = call.find("ec2", "describe_security_groups", "SecurityGroups", {"GroupIds": [group_id]})
    return found


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


def _delete_group(call: Call) -> None:
    """With ``revokeRulesOnDelete`` the rules go first, so that groups that name each other can be deleted."""
    row = _group(call, call.id)
    if row is not None and call["revokeRulesOnDelete"]:
        for direction, key in (("ingress", "IpPermissions"), ("egress", "IpPermissionsEgress")):
            for old in row.get(key, []):
                revoke(call, call.id, direction, _sendable(old))
    call.quietly("ec2", "delete_security_group", {"GroupId": call.id})


def _take_default(call: Call) -> str:
    filters = [{"Name": "group-name", "Values": ["default"]}, {"Name": "vpc-id", "Values": [call["vpcId"]]}]
    row = call.find("ec2", "describe_security_groups", "SecurityGroups", {"Filters": filters})
    if row is None:
        raise StandInError(f"{call.row.token}: {call['vpcId']} has no default security group")
    call = call.with_id(str(row["GroupId"]))
    _replace_rules(call, row)
    TAGS.put(call, dict(call.tags.items()))
    return call.id


def _create_rule(call: Call) -> str:
    authorize(call, call["securityGroupId"], call["type"], permission(call.news, call["securityGroupId"]))
    return f"sgrule-{int(identity(call.urn, 0)[:8], 16)}"


def _read_rule(call: Call) -> Record | None:
    group = _group(call, call["securityGroupId"])
    key = "IpPermissions" if call["type"] == "ingress" else "IpPermissionsEgress"
    open_now = {atom for row in (group or {}).get(key, []) for atom in atoms(row)}
    wanted = atoms(permission(call.news, call["securityGroupId"]))
    return {"securityGroupRuleId": ""} if wanted and wanted <= open_now else None


def _rules(call: Call, *, egress: bool) -> list[Record]:
    answer = call.do(
        "ec2", "describe_security_group_rules", {"Filters": [{"Name": "group-id", "Values": [call["securityGroupId"]]}]}
    )
    return [row for row in answer["SecurityGroupRules"] if row["IsEgress"] == egress]


def _rule_atoms(row: Record) -> set[Atom]:
    """One rule as DescribeSecurityGroupRules shows it."""
    lists = {
        "IpRanges": [{"CidrIp": row["CidrIpv4"]}] if row.get("CidrIpv4") else [],
        "Ipv6Ranges": [{"CidrIpv6": row["CidrIpv6"]}] if row.get("CidrIpv6") else [],
        "PrefixListIds": [{"PrefixListId": row["PrefixListId"]}] if row.get("PrefixListId") else [],
        "UserIdGroupPairs": [{"GroupId": row["ReferencedGroupInfo"]["GroupId"]}]
        if row.get("ReferencedGroupInfo")
        else [],
    }
    return atoms({**row, **lists})


def _single(direction: str) -> Row:
    egress = direction == "egress"

    def create(call: Call) -> str:
        wanted = permission(call.news, call["securityGroupId"])
        authorize(call, call["securityGroupId"], direction, wanted)
        for row in _rules(call, egress=egress):
            if _rule_atoms(row) == atoms(wanted):
                call = call.with_id(str(row["SecurityGroupRuleId"]))
                TAGS.put(call, call.tags)
                return call.id
        raise StandInError(f"{call.row.token}: the rule is not there right after it was made")

    def read(call: Call) -> Record | None:
        found = (
            [row for row in _rules(call, egress=egress) if row["SecurityGroupRuleId"] == call.id]
            if _group(call, call["securityGroupId"])
            else []
        )
        return (
            {"arn": call.aws.arn("ec2", f"security-group-rule/{call.id}"), "securityGroupRuleId": call.id}
            if found
            else None
        )

    def delete(call: Call) -> Value:
        return revoke(call, call["securityGroupId"], direction, permission(call.news, call["securityGroupId"]))

    return Row(
        f"aws:vpc/securityGroup{direction.title()}Rule:SecurityGroup{direction.title()}Rule",
        create,
        read,
        delete,
        inputs=(
            "securityGroupId",
            "ipProtocol",
            "fromPort",
            "toPort",
            "cidrIpv4",
            "cidrIpv6",
            "prefixListId",
            "referencedSecurityGroupId",
            "description",
        ),
        outputs=("arn", "securityGroupRuleId"),
        tags=TAGS,
        delete_first=True,
    )


ROWS: Final = (
    Row(
        "aws:ec2/securityGroup:SecurityGroup",
        _create_group,
        _read_group,
        _delete_group,
        inputs=("description", "vpcId", "ingress", "egress", "revokeRulesOnDelete"),
        outputs=("arn", "description", "ownerId", "vpcId"),
        updates=(Update(_DIRECTIONS, _update_rules), Update(("revokeRulesOnDelete",), nothing)),
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
        ignored=("revokeRulesOnDelete",),
        tags=TAGS,
    ),
    Row(
        "aws:ec2/securityGroupRule:SecurityGroupRule",
        _create_rule,
        _read_rule,
        lambda call: revoke(
            call, call["securityGroupId"], call["type"], permission(call.news, call["securityGroupId"])
        ),
        inputs=(
            "type",
            "securityGroupId",
            "protocol",
            "fromPort",
            "toPort",
            "cidrBlocks",
            "ipv6CidrBlocks",
            "prefixListIds",
            "sourceSecurityGroupId",
            "self",
            "description",
        ),
        outputs=("securityGroupRuleId",),
        delete_first=True,
    ),
    _single("ingress"),
    _single("egress"),
)
