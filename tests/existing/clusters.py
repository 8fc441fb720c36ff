"""Clusters as values, for tests of what follows from them."""

from __future__ import annotations

from typing import Any

from multiarch.existing.counterparts import list_candidate_types
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import list_instance_types
from multiarch.facts.taints import Taint, parse_taint
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.observed.eks.model import NodeSettings, ObservedCluster, ObservedGroup, ObservedSubnet

ZONES = ("eu-west-1a", "eu-west-1b")
SUBNETS = tuple(ObservedSubnet(f"subnet-{zone[-1]}", zone, 200, public=False) for zone in ZONES)


def group(name: str = "general", *types: str, taints: tuple[str, ...] = (), **more: Any) -> ObservedGroup:
    """A managed group of one or two nodes in both zones."""
    names = types or ("m7i.large",)
    known = list_instance_types().get(names[0])
    values = {
        "short_name": name,
        "kind": NodeGroupKind.MANAGED,
        "architecture": known.architecture if known else Architecture.AMD64,
        "capacity_type": CapacityType.ON_DEMAND,
        "sizes": (1, 2, 4),
        "family": AmiFamily.AL2023,
        "subnets": tuple(each.id for each in SUBNETS),
        "settings": NodeSettings(),
        "taints": tuple(map(parse_taint, taints)),
        **more,
    }
    return ObservedGroup(name=name, instance_types=names, **values)


def cluster(*groups: ObservedGroup, **more: Any) -> ObservedCluster:
    """An active cluster of Kubernetes 1.34 whose zones offer every instance type."""
    values = {
        "version": "1.34",
        "status": "ACTIVE",
        "endpoint": "https://example.eks.amazonaws.com",
        "security_group": "sg-cluster",
        "public_endpoint": True,
        "authentication_mode": "API",
        "ip_family": "ipv4",
        "vpc_id": "vpc-1",
        "authority": "",
        "pod_identity_agent": True,
        "subnets": SUBNETS,
        "subnet_ids": tuple(each.id for each in SUBNETS),
        "groups": groups,
        "prefix_delegation": False,
        "offered": {name: frozenset(ZONES) for name in list_candidate_types(groups)},
        **more,
    }
    return ObservedCluster(name="shop-prod", region="eu-west-1", **values)


ARM64 = parse_taint("arch=arm64:NoSchedule")


def taint(text: str) -> Taint:
    """A taint in kubectl's notation."""
    return parse_taint(text)
