"""Policies for what can be reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.observed.resources.addresses import reach_everybody
from multiarch.observed.resources.properties import require_items, require_text, require_value
from multiarch.policies.model import DeclaredResource, Policy

CLUSTER_COMPONENT = "eks:index:Cluster"
CLUSTERS = frozenset({"aws:eks/cluster:Cluster", CLUSTER_COMPONENT})
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
_COMPONENT_INPUTS = frozenset({"encryptionConfigKeyArn", "endpointPublicAccess", "vpcId"})
_LAST_PORT = 65_535
_SSH = 22
PROTOCOLS = {"1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6", "-1": "*", "all": "*"}
"""Protocols by number, as EC2 and people write them; ``*`` are all."""
CIDRS = ("cidrBlocks", "ipv6CidrBlocks", "cidrIpv4", "cidrIpv6")
PREFIX_LISTS = ("prefixListIds", "prefixListId")
"""Properties of rules with the addresses that they let in, in themselves or in lists."""


def is_without_inputs(resource: DeclaredResource) -> bool:
    """Return whether the engine hides a component's inputs: then its cluster is checked as a resource.

    In a rendering it is the other way round: there the component stands for its cluster.
    """
    return resource.type == CLUSTER_COMPONENT and not _COMPONENT_INPUTS & resource.properties.keys()


def _public(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    if is_without_inputs(resource):
        return
    component = resource.type == CLUSTER_COMPONENT
    holder = resource.properties if component else require_value(resource.properties, "vpcConfig") or {}
    public = require_value(holder, "endpointPublicAccess")
    # EKS makes the endpoint public unless it is told otherwise.
    if public is not None and str(public).lower() == "false":
        return
    cidrs = [str(cidr) for cidr in require_items(holder, "publicAccessCidrs")]
    if not cidrs:
        yield "The API server's endpoint is public, and publicAccessCidrs is not set: the whole internet reaches it."
    elif reach_everybody(cidrs):
        yield f"The API server's endpoint is public for everyone, by {', '.join(cidrs)}."


def _ssh(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    for rule in _ingress(resource):
        written = (require_text(rule, "protocol") or require_text(rule, "ipProtocol")).lower()
        protocol = PROTOCOLS.get(written, written)
        if protocol == "*":
            lowest, highest = 0, _LAST_PORT
        elif protocol == "tcp":
            lowest, highest = _port(rule, "fromPort", 0), _port(rule, "toPort", _LAST_PORT)
        else:
            continue
        sources = [source for key in (*CIDRS, *PREFIX_LISTS) for source in require_items(rule, key)]
        if lowest <= _SSH <= highest and sources:
            yield f"Ingress to port {_SSH} from {', '.join(map(str, sources))}."


def _port(rule: object, key: str, otherwise: int) -> int:
    """Return a port; ``otherwise``, which includes the most, where there is none that is a number from 0 on."""
    try:
        port = int(float(require_text(rule, key)))
    except (OverflowError, ValueError):
        return otherwise
    return port if port >= 0 else otherwise


def _ingress(resource: DeclaredResource) -> list[object]:
    if resource.type in {SECURITY_GROUP, DEFAULT_GROUP}:
        return require_items(resource.properties, "ingress")
    if resource.type == GROUP_RULE and require_text(resource.properties, "type") != "ingress":
        return []
    return [resource.properties]


POLICIES = (
    Policy(
        "policy-public-endpoint",
        CLUSTERS,
        _public,
    ),
    Policy(
        "policy-ssh-port",
        frozenset({SECURITY_GROUP, DEFAULT_GROUP, GROUP_RULE, INGRESS_RULE}),
        _ssh,
    ),
)
"""The policies for what can be reached."""
