"""Policies for what can be reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.observed.resources.addresses import reach_everybody
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.properties import (
    LATER,
    UndecidedError,
    require_items,
    require_object,
    require_text,
    require_value,
)
from multiarch.observed.resources.security_groups import CIDRS, PREFIX_LISTS, read_ports, read_protocol
from multiarch.policies.model import Policy

CLUSTER_COMPONENT = "eks:index:Cluster"
CLUSTERS = frozenset({"aws:eks/cluster:Cluster", CLUSTER_COMPONENT})
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
_COMPONENT_INPUTS = frozenset({"encryptionConfigKeyArn", "endpointPublicAccess", "vpcId"})
_SSH = 22


def is_without_inputs(resource: DeclaredResource) -> bool:
    """Return whether the engine hides a component's inputs: then its cluster is checked as a resource.

    In a rendering it is the other way round: there the component stands for its cluster.
    """
    return resource.type == CLUSTER_COMPONENT and not _COMPONENT_INPUTS & resource.inputs.keys()


def _public(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    if is_without_inputs(resource):
        return
    component = resource.type == CLUSTER_COMPONENT
    holder = resource.inputs if component else require_value(resource.inputs, "vpcConfig") or {}
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
    for value in _ingress(resource):
        try:
            rule = require_object(value, "a rule")
            is_tcp, ports = read_protocol(rule) in {"tcp", "*"}, read_ports(rule)
        except ValueError as error:
            if LATER in str(error):
                raise UndecidedError("ingress") from error
            is_tcp, ports = True, "*"
        sources = [source for key in (*CIDRS, *PREFIX_LISTS) for source in require_items(value, key)]
        if is_tcp and (ports == "*" or _SSH in ports) and sources:
            yield f"Ingress to port {_SSH} from {', '.join(map(str, sources))}."


def _ingress(resource: DeclaredResource) -> list[object]:
    if resource.type in {SECURITY_GROUP, DEFAULT_GROUP}:
        return require_items(resource.inputs, "ingress")
    if resource.type == GROUP_RULE and require_text(resource.inputs, "type") != "ingress":
        return []
    return [resource.inputs]


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
