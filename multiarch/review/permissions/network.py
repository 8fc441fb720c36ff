"""What security groups and prefix lists let through, and what the internet reaches, after a change and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from ipaddress import IPv4Network, IPv6Network

from multiarch.observed.resources.addresses import read_network
from multiarch.observed.resources.properties import Properties
from multiarch.policies.network import CIDRS, PREFIX_LISTS, PROTOCOLS
from multiarch.review.permissions.grants import Field, Grant
from multiarch.review.permissions.reporting import Parts, PermissionSource
from multiarch.review.permissions.settings import PUBLIC
from multiarch.review.permissions.sides import (
    CLUSTER,
    GrantOwner,
    Side,
    get_hidden_reason,
    list_values,
    require_object,
    require_string,
)
from multiarch.rules import REVIEW_RULES, Risk

WIDEN = REVIEW_RULES["widen-network"]
_GROUP, _LIST = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/managedPrefixList:ManagedPrefixList"
_LIST_TYPES = "aws:ec2/managedPrefixList"
_TYPES = ("aws:ec2/securityGroup", "aws:vpc/securityGroup", "aws:ec2/defaultSecurityGroup:", _LIST_TYPES)
_CIDRS = (*CIDRS, "cidr")
_PEERS: Mapping[str, str] = {
    **dict.fromkeys(PREFIX_LISTS, _LIST),
    **dict.fromkeys(("securityGroups", "sourceSecurityGroupId", "referencedSecurityGroupId"), _GROUP),
}
_EVERY_PORT = range(0x10000)
_SERVICE = "kubernetes:core/v1:Service"
_INGRESS = "kubernetes:networking.k8s.io/v1:Ingress"
_SCHEMES = ("service.beta.kubernetes.io/aws-load-balancer-scheme", "alb.ingress.kubernetes.io/scheme")
_INTERNAL = "service.beta.kubernetes.io/aws-load-balancer-internal"


def _read_traffic(direction: str, side: Side) -> Parts:
    inputs = side.inputs
    owner, rules = GrantOwner(side.subject), [inputs]
    if "securityGroupId" in inputs:
        owner = side.find_owner("securityGroupId", _GROUP, inputs["securityGroupId"])
        if direction != inputs.get("type", "egress" if "Egress" in side.type else "ingress"):
            return
    elif side.type.startswith(_LIST_TYPES):
        if "prefixListId" in inputs:
            owner = side.find_owner("prefixListId", _LIST, inputs["prefixListId"])
        rules = [*list_values(inputs.get("entries")), *([inputs] if "cidr" in inputs else [])]
        rules = rules if direction == "ingress" else []
    else:
        rules = list_values(inputs.get(direction))
    for each in rules:
        yield owner, _read_rule(direction, side, owner, each)


def _read_rule(direction: str, side: Side, owner: GrantOwner, value: object) -> Iterator[Grant]:
    rule = require_object(value, f"a rule for {direction}")
    action, ports = ("", "") if "cidr" in rule else _read_ports(rule)
    rule = {"cidr": rule["cidr"]} if "cidr" in rule else rule
    for name, each in ((name, each) for name, value in rule.items() for each in list_values(value)):
        peer: Field = "the group itself"
        if name in _CIDRS:
            peer = _read_network(each)
        elif name in _PEERS:
            source = name if name in side.inputs else direction
            found = side.name_resource(source, _PEERS[name], each)
            peer = peer if found == owner.subject else found
        elif name != "self" or not each:
            continue
        is_public = isinstance(peer, IPv4Network | IPv6Network) and peer.is_global
        risk = Risk.LOW if direction == "egress" else Risk.HIGH if is_public else Risk.MEDIUM
        yield Grant(action, ports, peer, risk=risk)


def _read_ports(rule: Mapping[str, object]) -> tuple[str, Field]:
    """Return the protocol and its ports; for ICMP, a type and code. Source: EC2 API reference, IpPermission."""
    written = str(rule.get("protocol", rule.get("ipProtocol"))).lower()
    protocol = PROTOCOLS.get(written, written)
    first, last = (_read_number(rule.get(name), name) for name in ("fromPort", "toPort"))
    if protocol.startswith("icmp"):
        return protocol, "*" if first == -1 else f"type {first} code {'*' if last == -1 else last}"
    require_string(protocol, "a rule with a protocol")
    is_every_port = protocol not in {"tcp", "udp"} or first == -1 or range(first, last + 1) == _EVERY_PORT
    return protocol, "*" if is_every_port else range(first, last + 1)


def _read_number(value: object, name: str) -> int:
    try:
        return -1 if value is None else int(str(value))
    except ValueError:
        reason = get_hidden_reason(value) or "is not a number"
        raise ValueError(f"a rule with a {name} that {reason}") from None


def _read_network(value: object) -> IPv4Network | IPv6Network:
    """Return a CIDR block. Raises ValueError for what is not one."""
    cidr = require_string(value, "a CIDR block")
    if (network := read_network(cidr)) is None:
        raise ValueError(f"{cidr!r}, which is not a CIDR block")
    return network


def _read_endpoint(side: Side) -> Parts:
    yield GrantOwner(side.subject), _read_reach(side)


def _read_reach(side: Side) -> Iterator[Grant]:
    """Yield the addresses that reach an endpoint; the internet, where the default of a controller is not known.

    Source: EKS API reference, VpcConfigRequest, of which both defaults are open.
    """
    inputs = side.inputs
    if side.type == CLUSTER:
        config = require_object(inputs.get("vpcConfig"), "vpcConfig")
        is_private = _is(config, "endpointPublicAccess", "false")
        cidrs = list_values(config.get("publicAccessCidrs")) or ["0.0.0.0/0"]
    else:
        annotations = require_object(
            require_object(inputs.get("metadata"), "metadata").get("annotations"), "annotations"
        )
        spec = require_object(inputs.get("spec"), "a spec")
        is_exposed = _is(spec, "type", "loadbalancer") or any(
            _is(annotations, each, "internet-facing") for each in _SCHEMES
        )
        is_private = not is_exposed or any(_is(annotations, each, "internal") for each in _SCHEMES)
        is_private |= _is(annotations, _INTERNAL, "true", "0.0.0.0/0")
        cidrs = list_values(spec.get("loadBalancerSourceRanges")) or ["0.0.0.0/0", "::/0"]
    for each in () if is_private else map(_read_network, cidrs):
        yield Grant("", "", each, risk=Risk.HIGH if each.is_global else Risk.MEDIUM)


def _is(properties: Properties, name: str, *values: str) -> bool:
    """Return whether a property is one of ``values``. Raises ValueError for one that is not known."""
    return name in properties and require_string(str(properties[name]), name).lower() in values


_LETS = ("lets through", "no longer lets through")
_EVERYTHING = ("all traffic", "(all ports)", "everyone")
_REACHED = ("can be reached from", "can no longer be reached from")
SOURCES = (
    PermissionSource(WIDEN, _TYPES, partial(_read_traffic, "ingress"), _LETS, (" ", " from "), _EVERYTHING),
    PermissionSource(WIDEN, _TYPES, partial(_read_traffic, "egress"), _LETS, (" ", " to "), _EVERYTHING),
    PermissionSource(PUBLIC, (CLUSTER, _SERVICE, _INGRESS), _read_endpoint, _REACHED, ("", "")),
)
