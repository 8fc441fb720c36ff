"""The network's plan: subnets cut from a new VPC, or an existing VPC's; and what does not fit.

Source of the rules: EKS user guide, "Amazon EKS networking requirements for VPC and subnets"; VPC user guide,
"VPC CIDR blocks" (a VPC is /16 to /28) and "Subnet CIDR blocks" (five addresses of each subnet are AWS's own).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Network

from multiarch.errors import Severity
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import Path, Report
from multiarch.stack.model import ExistingNetwork, Nat, NewNetwork, SubnetPlan
from multiarch.stack.schema import Network

DEFAULT_CIDR = "10.0.0.0/16"
DEFAULT_SERVICE_CIDR = "172.20.0.0/16"
DEFAULT_ZONES = 2
NEEDED_WITHOUT_NAT = ("ec2", "ec2messages", "ecr", "eks", "s3", "ssm", "ssmmessages", "sts")
"""What nodes must reach to join, pull images and answer Session Manager when there is no way out."""
_RESERVED_PER_SUBNET = 5
_SMALLEST_SUBNET = 28
_PUBLIC_SUBNET = 24
_VPC_PREFIXES = range(16, 25)
_SERVICE_PREFIXES = range(12, 25)
_MAX_ZONES = 6
_MIN_ZONES = 2
_PRIVATE_RANGES = tuple(IPv4Network(r) for r in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_SHARED_RANGE = IPv4Network("100.64.0.0/10")
_DOCKER_BRIDGE = IPv4Network("172.17.0.0/16")
_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d)[a-z]")
_VPC_ID = re.compile(r"vpc-([0-9a-f]{8}|[0-9a-f]{17})")
_SUBNET_ID = re.compile(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})")
_NETWORK: Path = ("network",)


def plan_network(words: Network, region: str | None, report: Report) -> NewNetwork | ExistingNetwork | None:
    """Plan the network; None when it can't be told, after reporting why."""
    if words.vpc_id is not None or words.private_subnet_ids is not None or words.public_subnet_ids is not None:
        return _existing(words, report)
    zones, count = _zones(words, region, report)
    cidr = _cidr(words.cidr or DEFAULT_CIDR, (*_NETWORK, "cidr"), _VPC_PREFIXES, report)
    if cidr is None or count is None:
        return None
    if not cidr.subnet_of(_SHARED_RANGE) and not any(cidr.subnet_of(r) for r in _PRIVATE_RANGES):
        report(
            "public-cidr",
            (*_NETWORK, "cidr"),
            f"{cidr} is not a private range; the addresses it covers on the internet become unreachable.",
            hint="Use 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10.",
            value=str(cidr),
            severity=Severity.WARNING,
        )
    if cidr.overlaps(_DOCKER_BRIDGE):
        report(
            "docker-cidr",
            (*_NETWORK, "cidr"),
            f"{cidr} overlaps {_DOCKER_BRIDGE}, which Docker's bridge takes on a node.",
            hint="Choose another range.",
            value=str(cidr),
            severity=Severity.WARNING,
        )
    subnets = cut(cidr, count)
    if not subnets:
        report(
            "vpc-too-small",
            (*_NETWORK, "cidr"),
            f"{cidr} is too small for {count} zones.",
            hint="Use a /22 or larger.",
            value=str(cidr),
        )
        return None
    nat = Nat(words.nat or Nat.SINGLE)
    endpoints = tuple(sorted(set(words.endpoints or ())))
    missing = sorted(set(NEEDED_WITHOUT_NAT) - set(endpoints))
    if nat is Nat.NONE and missing:
        report(
            "no-way-out",
            (*_NETWORK, "endpoints"),
            f"without NAT gateways nodes can't reach {', '.join(missing)}.",
            hint=f"Add {'it' if len(missing) == 1 else 'them'} to network.endpoints, or use nat: single.",
            value=list(endpoints),
        )
    return NewNetwork(str(cidr), count, zones, subnets, nat, endpoints)


def cut(cidr: IPv4Network, zones: int) -> tuple[SubnetPlan, ...]:
    """Cut a VPC's range: one large private subnet per zone, small public ones out of the last block.

    The range is divided into the smallest power of two above ``zones`` equal blocks; the first ones are the private
    subnets, the last one holds the public subnets, /24 or smaller. Empty when a subnet would be smaller than /28.
    """
    blocks = list(cidr.subnets(prefixlen_diff=zones.bit_length()))
    share = (zones - 1).bit_length()
    prefix = max(_PUBLIC_SUBNET, blocks[-1].prefixlen + share)
    if prefix > _SMALLEST_SUBNET:
        return ()
    public = list(blocks[-1].subnets(new_prefix=prefix))
    return (
        *(SubnetPlan(f"private-{i}", public=False, cidr=str(blocks[i]), zone=i) for i in range(zones)),
        *(SubnetPlan(f"public-{i}", public=True, cidr=str(public[i]), zone=i) for i in range(zones)),
    )


def plan_service_cidr(words: Network, network: NewNetwork | ExistingNetwork | None, report: Report) -> str:
    """Return the Services' range, apart from the VPC's."""
    path = (*_NETWORK, "serviceCidr") if words.service_cidr else (*_NETWORK, "cidr")
    written = words.service_cidr or DEFAULT_SERVICE_CIDR
    service = _cidr(written, path, _SERVICE_PREFIXES, report)
    if service is None:
        return written
    if not any(service.subnet_of(r) for r in _PRIVATE_RANGES):
        report(
            "service-cidr",
            path,
            f"EKS takes a Service range out of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, and {service} is not.",
            hint=f"Use {DEFAULT_SERVICE_CIDR}.",
            value=written,
        )
    if isinstance(network, NewNetwork) and service.overlaps(IPv4Network(network.cidr)):
        report(
            "overlapping-cidrs",
            path,
            f"the Service range {service} overlaps the VPC's {network.cidr}.",
            hint="Choose ranges apart from each other: network.cidr or network.serviceCidr.",
            value=written,
        )
    return str(service)


def check_room(
    network: NewNetwork, groups: Sequence[NodeGroupPlan], report: Report, *, prefix_delegation: bool
) -> None:
    """Every pod of every node at maxSize needs an address: per zone, and for the groups that are bound to zones.

    With prefix delegation a node takes whole /28s. The worst zone counts: Auto Scaling spreads a group evenly.
    """
    room = {s.zone: IPv4Network(s.cidr).num_addresses - _RESERVED_PER_SUBNET for s in network.subnets if not s.public}
    need = dict.fromkeys(room, 0)
    for group in groups:
        zones = [network.zones.index(z) for z in group.zones if z in network.zones] or sorted(room)
        nodes = -(-group.sizes.maximum // len(zones))
        for zone in zones:
            need[zone] += nodes * addresses(group, prefix_delegation=prefix_delegation)
    for zone in sorted(room):
        if need[zone] > room[zone]:
            name = next(s for s in network.subnets if s.zone == zone and not s.public)
            report(
                "subnets-too-small",
                (*_NETWORK, "cidr"),
                f"subnet {name.name} ({name.cidr}) has {room[zone]} addresses, and its nodes with all "
                f"their pods need {need[zone]} at maxSize.",
                hint="Use a larger network.cidr, fewer nodes (maxSize) or a smaller maxPods.",
                value=network.cidr,
            )
            return


def addresses(group: NodeGroupPlan, *, prefix_delegation: bool) -> int:
    """Addresses that one full node takes: its own, and one per pod (two pods use the host's), or whole /28 prefixes."""
    pods = max(group.max_pods - 2, 0)
    return 1 + (-(-pods // 16) * 16 if prefix_delegation else pods)


def _cidr(text: str, path: Path, prefixes: range, report: Report) -> IPv4Network | None:
    try:
        found = IPv4Network(text)
    except ValueError:
        try:
            hint = (
                f"Did you mean {IPv4Network(text, strict=False)}?"
                if "/" in text
                else f"Write a range such as {DEFAULT_CIDR}."
            )
        except ValueError:
            hint = f"Write a range such as {DEFAULT_CIDR}."
        report("cidr", path, f"{text!r} is no IPv4 range.", hint=hint, value=text)
        return None
    if found.prefixlen not in prefixes:
        report(
            "cidr-size",
            path,
            f"{found} is a /{found.prefixlen}; here it must be /{prefixes[0]} to /{prefixes[-1]}.",
            hint="Choose another size.",
            value=text,
        )
        return None
    return found


def _zones(words: Network, region: str | None, report: Report) -> tuple[tuple[str, ...], int | None]:
    """Names (or none) and how many; the number is None when they are wrong."""
    if words.zones is None or isinstance(words.zones, int):
        return (), words.zones or DEFAULT_ZONES
    path = (*_NETWORK, "zones")
    fine = True
    for index, zone in enumerate(words.zones):
        form = _ZONE.fullmatch(zone)
        if form is None or (region is not None and form[1] != region):
            where = f"of {region}" if region else "name"
            report(
                "zone",
                (*path, index),
                f"{zone!r} is no availability zone {where}.",
                hint=f"Write names such as {region or 'eu-west-1'}a.",
                value=zone,
            )
            fine = False
    names = tuple(dict.fromkeys(words.zones))
    if len(names) != len(words.zones) or not _MIN_ZONES <= len(names) <= _MAX_ZONES:
        report(
            "zone-count",
            path,
            f"{len(names)} different zones; EKS needs two, and six are the most here.",
            hint="Name 2 to 6, each once.",
            value=list(words.zones),
        )
        fine = False
    return names, len(names) if fine else None


def _existing(words: Network, report: Report) -> ExistingNetwork | None:
    fine = True
    for key, value in (
        ("cidr", words.cidr),
        ("zones", words.zones),
        ("nat", words.nat),
        ("endpoints", words.endpoints),
    ):
        if value is not None:
            report(
                "existing-network",
                (*_NETWORK, key),
                f"{key} is for a new VPC, and vpcId or subnets name an existing one.",
                hint=f"Leave {key} out, or leave out vpcId and the subnet IDs.",
                value=value,
            )
            fine = False
    if words.vpc_id is None or not _VPC_ID.fullmatch(words.vpc_id):
        what = "vpcId is missing" if words.vpc_id is None else f"{words.vpc_id!r} is no VPC ID"
        report(
            "vpc-id", (*_NETWORK, "vpcId"), f"{what}.", hint="It looks like vpc-0123456789abcdef0.", value=words.vpc_id
        )
        fine = False
    private, public = words.private_subnet_ids or [], words.public_subnet_ids or []
    for key, ids in (("privateSubnetIds", private), ("publicSubnetIds", public)):
        for index, subnet in enumerate(ids):
            if not _SUBNET_ID.fullmatch(subnet):
                report(
                    "subnet-id",
                    (*_NETWORK, key, index),
                    f"{subnet!r} is no subnet ID.",
                    hint="It looks like subnet-0123456789abcdef0.",
                    value=subnet,
                )
                fine = False
            elif subnet in ids[:index] or (ids is public and subnet in private):
                report(
                    "subnet-twice",
                    (*_NETWORK, key, index),
                    f"{subnet} is named twice.",
                    hint="Remove one.",
                    value=subnet,
                )
                fine = False
    if len(private) < _MIN_ZONES:
        report(
            "subnets",
            (*_NETWORK, "privateSubnetIds"),
            f"{len(private)} private subnets; EKS needs two, in two zones.",
            hint="Name at least two.",
            value=private,
        )
        fine = False
    if not fine or words.vpc_id is None:
        return None
    return ExistingNetwork(words.vpc_id, tuple(private), tuple(public))
