"""What security groups and prefix lists let through after a change and not before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multiarch.review.model import Change, Finding, ReviewRule, Risk
from multiarch.review.permissions.effort import Effort, TooMuchEffortError
from multiarch.review.permissions.reporting import NARROW, Difference, report
from multiarch.review.permissions.sides import Resource, Sides, both, hidden, several
from multiarch.review.permissions.traffic import (
    Traffic,
    addresses,
    beyond,
    described,
    is_public,
    of_addresses,
    peers,
    protocol_and_ports,
)

WIDEN = ReviewRule(
    "widen-network",
    Risk.HIGH,
    "a security group or prefix list that lets more traffic through",
    "Does each of these addresses need each of these ports?",
)
RULES = (WIDEN, NARROW)

_GROUP, _DEFAULT_GROUP = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
_INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
_EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
_LIST = "aws:ec2/managedPrefixList:ManagedPrefixList"
_LIST_ENTRY = "aws:ec2/managedPrefixListEntry:ManagedPrefixListEntry"
_GROUPS = frozenset({_GROUP, _DEFAULT_GROUP})
_RULES = frozenset({_RULE, _INGRESS, _EGRESS})
_LISTS = frozenset({_LIST, _LIST_ENTRY})
_TYPES = _GROUPS | _RULES | _LISTS
_DIRECTIONS = ("ingress", "egress")
_CIDRS = ("cidrBlocks", "ipv6CidrBlocks", "cidrIpv4", "cidrIpv6", "cidr")
_LIST_IDS = ("prefixListIds", "prefixListId")
_GROUP_IDS = ("securityGroups", "sourceSecurityGroupId", "referencedSecurityGroupId")
_TOO_MUCH = "too many rules to be compared; read them"


@dataclass(slots=True)
class _Open:
    """What one group or list lets through, by direction; ``problems`` are rules that can't be read, by URN."""

    traffic: dict[str, list[Traffic]] = field(default_factory=lambda: defaultdict(list))
    problems: dict[str, str] = field(default_factory=dict)
    urns: set[str] = field(default_factory=set)


def find(change: Change) -> Iterator[Finding]:
    """Security groups and prefix lists, by URN or ID."""
    effort = Effort()
    for sides in both(change, _TYPES.__contains__):
        keys = {_key(sides, each) for each in sides.touched_resources()}
        before, after = _opened(sides, sides.before, keys), _opened(sides, sides.after, keys)
        for key in sorted({*before, *after}):
            old, new = before.get(key, _Open()), after.get(key, _Open())
            if not sides.is_gone(key, new.urns):
                effort.begin()
                yield from _compared(sides, key, old, new, effort)


def _key(sides: Sides, resource: Resource) -> str:
    """The group or list that a resource is a part of."""
    if resource.type in _RULES:
        return sides.reference(resource, "securityGroupId", _GROUP) or f"?{resource.urn}"
    if resource.type == _LIST_ENTRY:
        return sides.reference(resource, "prefixListId", _LIST) or f"?{resource.urn}"
    return resource.urn


def _opened(sides: Sides, side: Mapping[str, Resource], keys: Collection[str]) -> dict[str, _Open]:
    found: dict[str, _Open] = defaultdict(_Open)
    for urn, resource in side.items():
        key = _key(sides, resource)
        if key not in keys:
            continue
        opened = found[key]
        opened.urns.add(urn)
        for index, (direction, rule) in enumerate(_rules(sides, resource)):
            try:
                opened.traffic[direction] += _traffic(sides, resource, key, rule)
            except ValueError as error:
                opened.problems[f"{urn} {index}"] = f"a rule for {direction} {error}"
    return found


def _rules(sides: Sides, resource: Resource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rules of a resource with their direction; in a prefix list there is one, for addresses."""
    inputs = resource.inputs
    if resource.type in _LISTS:
        for each in several(inputs.get("entries")) if resource.type == _LIST else [inputs]:
            yield "addresses", each if isinstance(each, Mapping) else {"cidr": each}
    elif resource.type in _RULES:
        declared = {_INGRESS: "ingress", _EGRESS: "egress"}.get(resource.type, str(inputs.get("type")))
        yield declared, inputs
    else:
        for direction in _DIRECTIONS:
            # Without the property, the provider leaves rules alone.
            known = inputs if direction in inputs else _before(sides, resource)
            for each in several(known.get(direction)):
                yield direction, each if isinstance(each, Mapping) else {"protocol": each}


def _before(sides: Sides, resource: Resource) -> Mapping[str, Any]:
    old = sides.before.get(resource.urn)
    return old.inputs if old and resource.type == _GROUP else {}


def _traffic(sides: Sides, resource: Resource, key: str, rule: Mapping[str, Any]) -> Iterator[Traffic]:
    """Raises ValueError, as a predicate, for a rule that can't be read."""
    for name, value in rule.items():
        # A group that is not known yet may still be one of this stack.
        if name not in {*_GROUP_IDS, *_LIST_IDS, "securityGroupId", "description", "tags", "tagsAll"} and hidden(value):
            raise ValueError(f"has a {name} that {hidden(value)}")
    if "cidr" in rule:
        yield from of_addresses([str(rule["cidr"])])
        return
    protocol = rule.get("protocol", rule.get("ipProtocol"))
    protocols, ports = protocol_and_ports(protocol, rule.get("fromPort"), rule.get("toPort"))
    for name in _CIDRS:
        for cidr in several(rule.get(name)):
            yield Traffic(protocols, ports, *_addresses(cidr))
    for name in (*_LIST_IDS, *_GROUP_IDS):
        for value in several(rule.get(name)):
            yield Traffic(protocols, ports, 0, (0, 0), _peer(sides, resource, name, value, key))
    if rule.get("self"):
        yield Traffic(protocols, ports, 0, (0, 0), _ITSELF)


_ITSELF = "the group itself"


def _addresses(cidr: object) -> tuple[int, tuple[int, int]]:
    try:
        return addresses(str(cidr))
    except ValueError:
        raise ValueError(f"has {cidr!r}, which is not a CIDR") from None


def _peer(sides: Sides, resource: Resource, name: str, value: object, key: str) -> str:
    is_list = name in _LIST_IDS
    what = "prefix list" if is_list else "security group"
    property_ = name if name in resource.inputs else next((d for d in _DIRECTIONS if d in resource.inputs), name)
    found = sides.referred(resource, property_, _LIST if is_list else _GROUP, value)
    if found is None:
        raise ValueError(f"has a {what} that {hidden(value) or 'is not named by its ID'}")
    if found == key:
        return _ITSELF
    known = sides.named(found)
    return known.subject if known else f"{what} {found}"


def _compared(sides: Sides, key: str, old: _Open, new: _Open, effort: Effort) -> Iterator[Finding]:
    gained: list[str] = []
    lost: list[str] = []
    unknown: list[str] = []
    more: list[tuple[str, Traffic]] = []
    try:
        for direction in sorted({*old.traffic, *new.traffic}):
            before, after = old.traffic.get(direction, []), new.traffic.get(direction, [])
            found = beyond(after, before, effort)
            more += [(direction, each) for each in found]
            gained += _lines(direction, found, after)
            if not new.problems:
                lost += _lines(direction, beyond(before, after, effort), before, lost=True)
    except TooMuchEffortError:
        unknown.append(_TOO_MUCH)
    unknown += [text for where, text in new.problems.items() if where.rpartition(" ")[0] in sides.touched]
    known = sides.named(key.removeprefix("?"))
    subject = known.subject if known else f"{'prefix list' if key.startswith('pl-') else 'security group'} {key}"
    difference = Difference(
        subject, "lets through", [*gained, *unknown], "no longer lets through", lost, old.urns | new.urns, sides.outside
    )
    yield from report(WIDEN, difference, None if unknown else _risk(more))


def _lines(direction: str, traffic: Sequence[Traffic], rules: Sequence[Traffic], *, lost: bool = False) -> list[str]:
    if direction == "addresses":
        return [peers(traffic, rules, lost=lost)] if traffic else []
    return described(traffic, "from" if direction == "ingress" else "to", rules, lost=lost)


def _risk(more: Sequence[tuple[str, Traffic]]) -> Risk | None:
    """HIGH for what comes in from the internet; what goes out, or comes from private networks, is less."""
    if any(direction != "egress" and is_public(each) for direction, each in more):
        return None
    return Risk.LOW if all(direction == "egress" for direction, _ in more) else Risk.MEDIUM
