"""What security groups and prefix lists let through, and what the internet reaches, after a change and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from ipaddress import IPv4Network, IPv6Network

from multiarch.observed.resources.properties import (
    list_values,
    require_object,
    require_string,
)
from multiarch.observed.resources.security_groups import CIDRS, PREFIX_LISTS, read_ports, read_protocol, require_network
from multiarch.review.permissions.grants import Field, Grant
from multiarch.review.permissions.reporting import CLUSTER, GrantOwner, Parts, PermissionSource, Side
from multiarch.rules import Risk

_GROUP, _LIST = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/managedPrefixList:ManagedPrefixList"
_LIST_TYPES = "aws:ec2/managedPrefixList"
_TYPES = ("aws:ec2/securityGroup", "aws:vpc/securityGroup", "aws:ec2/defaultSecurityGroup:", _LIST_TYPES)
_CIDRS = (*CIDRS, "cidr")
_PEERS: Mapping[str, str] = {
    **dict.fromkeys(PREFIX_LISTS, _LIST),
    **dict.fromkeys(("securityGroups", "sourceSecurityGroupId", "referencedSecurityGroupId"), _GROUP),
}
_SERVICE, _INGRESS = "kubernetes:core/v1:Service", "kubernetes:networking.k8s.io/v1:Ingress"
_SCHEMES = ("/aws-load-balancer-scheme", "alb.ingress.kubernetes.io/scheme", "/aws-load-balancer-internal")


def _read_traffic(direction: str, side: Side) -> Parts:
    inputs = side.inputs
    owner, rules = GrantOwner(side.subject), [inputs]
    if "securityGroupId" in inputs:
        owner = side.find_owner("securityGroupId", _GROUP, inputs["securityGroupId"])
        if direction != inputs.get("type", "egress" if "Egress" in side.step.type else "ingress"):
            return
    elif side.step.type.startswith(_LIST_TYPES):
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
    action, ports = ("", "") if "cidr" in rule else (read_protocol(rule), read_ports(rule))
    rule = {"cidr": rule["cidr"]} if "cidr" in rule else rule
    for name, each in ((name, each) for name, value in rule.items() for each in list_values(value)):
        peer: Field = "the group itself"
        if name in _CIDRS:
            peer = require_network(each)
        elif name in _PEERS:
            source = name if name in side.inputs else direction
            found = side.name_reference(source, _PEERS[name], each)
            peer = peer if found == owner.subject else found
        elif name != "self" or not each:
            continue
        is_public = isinstance(peer, IPv4Network | IPv6Network) and peer.is_global
        risk = Risk.LOW if direction == "egress" else Risk.HIGH if is_public else Risk.MEDIUM
        yield Grant(action, ports, peer, risk=risk)


def _read_endpoint(side: Side) -> Parts:
    """Yield the addresses that reach an endpoint; the internet, where the default of a controller is not known.

    Source: EKS API reference, VpcConfigRequest, of which both defaults are open.
    """
    inputs = side.inputs
    if side.step.type == CLUSTER:
        config = require_object(inputs.get("vpcConfig"), "vpcConfig")
        is_private = require_string(str(config.get("endpointPublicAccess")), "endpointPublicAccess").lower() == "false"
        cidrs = list_values(config.get("publicAccessCidrs")) or ["0.0.0.0/0"]
    else:
        metadata, spec = (require_object(inputs.get(each), each) for each in ("metadata", "spec"))
        notes = require_object(metadata.get("annotations"), "annotations")
        schemes = {require_string(str(notes[each]), each).lower() for each in notes if each.endswith(_SCHEMES)}
        is_exposed = "internet-facing" in schemes or require_string(str(spec.get("type")), "type") == "LoadBalancer"
        is_private = not is_exposed or not schemes.isdisjoint({"internal", "true", "0.0.0.0/0"})
        cidrs = list_values(spec.get("loadBalancerSourceRanges")) or ["0.0.0.0/0", "::/0"]
    networks = [] if is_private else map(require_network, cidrs)
    yield (
        GrantOwner(side.subject),
        [Grant("", "", each, risk=Risk.HIGH if each.is_global else Risk.MEDIUM) for each in networks],
    )


_LETS = ("lets through", "no longer lets through")
_EVERYTHING = ("all traffic", "(all ports)", "everyone")
_REACHED = ("can be reached from", "can no longer be reached from")
SOURCES = (
    PermissionSource("widen-network", _TYPES, partial(_read_traffic, "ingress"), _LETS, (" ", " from "), _EVERYTHING),
    PermissionSource("widen-network", _TYPES, partial(_read_traffic, "egress"), _LETS, (" ", " to "), _EVERYTHING),
    PermissionSource("public-endpoint", (CLUSTER, _SERVICE, _INGRESS), _read_endpoint, _REACHED, ("", "")),
)
