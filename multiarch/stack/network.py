"""The network's plan: subnets cut from a new VPC, or an existing VPC's; and what does not fit.

Source of the rules: EKS user guide, "Amazon EKS networking requirements for VPC and subnets"; VPC user guide,
"VPC CIDR blocks" (a VPC is /16 to /28) and "Subnet CIDR blocks" (five addresses of each subnet are AWS's own).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Network

from multiarch.errors import KeyPath
from multiarch.facts.instance_types import IPS_PER_PREFIX
from multiarch.facts.partitions import find_zone_region
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.plurals import format_count
from multiarch.schema.network import Network
from multiarch.stack.model import ExistingNetwork, Nat, NewNetwork, SubnetPlan

DEFAULT_CIDR = "10.0.0.0/16"
DEFAULT_SERVICE_CIDR = "172.20.0.0/16"
DEFAULT_ZONES = 2
NEEDED_WITHOUT_NAT = ("ec2", "ec2messages", "ecr", "eks", "s3", "ssm", "ssmmessages", "sts")
"""What nodes must reach to join, pull images and answer Session Manager when there is no route to the internet."""
_RESERVED_PER_SUBNET = 5
_CONTROL_PLANE_ADDRESSES = 6
"""EKS user guide: at least six free addresses in each subnet that the cluster is given."""
_HOST_NETWORK_PODS = 2
_BLOCK_BITS = 3
_PUBLIC_SUBNET = 24
# With a smaller VPC the public subnets would be smaller than AWS allows, /28.
_VPC_PREFIXES = range(16, 23)
_POD_PREFIXES = range(16, 26)
_SERVICE_PREFIXES = range(12, 25)
_MIN_ZONES = 2
_PRIVATE_RANGES = tuple(IPv4Network(r) for r in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_SHARED_RANGE = IPv4Network("100.64.0.0/10")
_NOT_BESIDE = (
    (IPv4Network("10.0.0.0/15"), IPv4Network("10.0.0.0/16")),
    (IPv4Network("172.16.0.0/12"), IPv4Network("172.31.0.0/16")),
)
"""CIDR blocks of VPCs, each with the one from which AWS associates no secondary block with them."""
_NETWORK: KeyPath = ("network",)


def plan_network(
    spec: Network, region: str | None, report: ProblemReport, *, also_needed: Iterable[str] = ()
) -> NewNetwork | ExistingNetwork | None:
    """Plan the network; None when it can't be told, after reporting why.

    ``also_needed`` are endpoints that the stack's other settings need when there is no route to the internet.
    """
    if any(each is not None for each in (spec.vpc_id, spec.private_subnet_ids, spec.private_subnets)):
        return _existing(spec, region, report)
    if spec.pod_subnets is not None:
        message = "podSubnets is for an existing VPC, and vpcId is missing."
        hint = "Write podCidr for a new VPC, or vpcId and privateSubnets."
        report("pod-subnets", (*_NETWORK, "podSubnets"), message, hint=hint)
        return None
    zones, count = _zones(spec, region, report)
    cidr = _cidr(spec.cidr or DEFAULT_CIDR, (*_NETWORK, "cidr"), _VPC_PREFIXES, report)
    if cidr is None:
        return None
    if not cidr.subnet_of(_SHARED_RANGE) and not any(cidr.subnet_of(r) for r in _PRIVATE_RANGES):
        report(
            "public-cidr",
            (*_NETWORK, "cidr"),
            f"{cidr} is not a private CIDR block; the addresses it covers on the internet become unreachable.",
        )
    nat = Nat(spec.nat or Nat.SINGLE)
    endpoints = tuple(sorted(set(spec.endpoints or ())))
    missing = sorted({*NEEDED_WITHOUT_NAT, *also_needed} - set(endpoints))
    if nat is Nat.NONE and missing:
        report(
            "no-way-out",
            (*_NETWORK, "endpoints"),
            f"without NAT gateways nodes can't reach {', '.join(missing)}.",
            hint=f"Add {'it' if len(missing) == 1 else 'them'} to network.endpoints, or use nat: single.",
        )
    ipv6 = _plan_ip_family(spec, report)
    subnets = cut_subnets(cidr, count)
    network = NewNetwork(str(cidr), count, zones, subnets, nat, endpoints, spec.flow_logs, ipv6=ipv6)
    return _add_pods(network, spec.pod_cidr, cidr, report) if spec.pod_cidr else network


def _plan_ip_family(spec: Network, report: ProblemReport) -> bool:
    """Return whether pods have IPv6 addresses, after reporting what such a cluster does not have.

    Source: EKS user guide, "Learn about IPv6 addresses to clusters, Pods, and services".
    """
    ipv6 = spec.ip_family == "ipv6"
    for key in ("podCidr", "podSubnets", "serviceCidr") if ipv6 else ():
        if key in spec.written:
            report("ipv6", (*_NETWORK, key), f"{key} is for IPv4 addresses, and ipFamily is ipv6.", hint=f"Omit {key}.")
    return ipv6


def _add_pods(network: NewNetwork, written: str, vpc: IPv4Network, report: ProblemReport) -> NewNetwork:
    """Return the network with subnets for pods, which keep their place when a zone is added, as the others do.

    Source: VPC user guide, "IPv4 CIDR block association restrictions".
    """
    path = (*_NETWORK, "podCidr")
    pods = _cidr(written, path, _POD_PREFIXES, report)
    if pods is None:
        return network
    if pods.overlaps(vpc):
        message = f"the CIDR block of pods {pods} overlaps the VPC's {vpc}."
        report("overlapping-cidrs", path, message, hint="Change network.podCidr or network.cidr.")
    elif not pods.subnet_of(_SHARED_RANGE) and (
        not any(pods.subnet_of(each) and vpc.subnet_of(each) for each in _PRIVATE_RANGES)
        or any(vpc.subnet_of(of) and pods.subnet_of(each) for of, each in _NOT_BESIDE)
    ):
        report("secondary-cidr", path, f"AWS does not associate {pods} with a VPC whose CIDR block is {vpc}.")
    blocks = list(pods.subnets(new_prefix=pods.prefixlen + _BLOCK_BITS))
    subnets = (SubnetPlan(f"pods-{i}", public=False, cidr=str(blocks[i]), zone=i) for i in range(network.zone_count))
    return replace(network, pod_cidr=str(pods), pod_subnets=tuple(subnets))


def cut_subnets(cidr: IPv4Network, zones: int) -> tuple[SubnetPlan, ...]:
    """Cut a VPC's CIDR block (/22 or larger): one large private subnet per zone, a small public one each.

    The CIDR block is divided into eight equal blocks, whatever the number of zones, so that a further zone moves no
    subnet that is there: the first six are the zones' private subnets, the last one holds the public subnets, /24 or
    smaller.
    """
    blocks = list(cidr.subnets(new_prefix=cidr.prefixlen + _BLOCK_BITS))
    public = list(blocks[-1].subnets(new_prefix=max(_PUBLIC_SUBNET, blocks[-1].prefixlen + _BLOCK_BITS)))
    return (
        *(SubnetPlan(f"private-{i}", public=False, cidr=str(blocks[i]), zone=i) for i in range(zones)),
        *(SubnetPlan(f"public-{i}", public=True, cidr=str(public[i]), zone=i) for i in range(zones)),
    )


def plan_service_cidr(spec: Network, network: NewNetwork | ExistingNetwork | None, report: ProblemReport) -> str:
    """Return the Services' CIDR block, apart from the VPC's; empty with IPv6, where EKS chooses it."""
    if spec.ip_family == "ipv6":
        return ""
    path = (*_NETWORK, "serviceCidr") if spec.service_cidr else (*_NETWORK, "cidr")
    written = spec.service_cidr or DEFAULT_SERVICE_CIDR
    service = _cidr(written, path, _SERVICE_PREFIXES, report)
    if service is None:
        return written
    if not any(service.subnet_of(r) for r in _PRIVATE_RANGES):
        report(
            "service-cidr",
            path,
            f"EKS takes a Service CIDR block out of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, and {service} is not.",
            hint=f"Use {DEFAULT_SERVICE_CIDR}.",
        )
    for cidr in network.cidrs if isinstance(network, NewNetwork) else ():
        if service.overlaps(IPv4Network(cidr)):
            where = (*_NETWORK, "podCidr") if cidr == spec.pod_cidr and not spec.service_cidr else path
            report("overlapping-cidrs", where, f"the Service CIDR block {service} overlaps the VPC's {cidr}.")
    return str(service)


def check_room(
    network: NewNetwork, groups: Sequence[NodeGroupPlan], report: ProblemReport, *, prefix_delegation: bool
) -> None:
    """Report too few addresses for every node at maxSize: per zone, and for the groups that are bound to zones.

    The worst zone counts: Auto Scaling spreads a group evenly. The control plane's and the endpoints' network
    interfaces are in the same subnets. With subnets for pods or IPv6, a node has one address of its own subnet.
    """
    own = dict.fromkeys(range(network.zone_count), _CONTROL_PLANE_ADDRESSES + network.interface_endpoints)
    pods = dict.fromkeys(own, 0)
    for group in groups:
        zones = [network.zones.index(z) for z in group.zones if z in network.zones] or [*own]
        nodes, custom = -(-group.sizes.maximum // len(zones)), bool(network.pod_subnets)
        taken = nodes * count_addresses(group, prefix_delegation=prefix_delegation, custom_networking=custom)
        for zone in zones:
            own[zone] += nodes if custom or network.ipv6 else taken
            pods[zone] += taken
    whose = "its nodes" if network.pod_subnets or network.ipv6 else "its nodes with all their pods"
    private = [subnet for subnet in network.subnets if not subnet.public]
    for subnets, need, key, what in ((private, own, "cidr", whose), (network.pod_subnets, pods, "podCidr", "the pods")):
        for each in subnets:
            room = IPv4Network(each.cidr).num_addresses - _RESERVED_PER_SUBNET
            if need[each.zone] > room:
                message = f"subnet {each.name} ({each.cidr}) has {room} addresses, and {what} need {need[each.zone]}"
                report("subnets-too-small", (*_NETWORK, key), f"{message} at maxSize.")
                break


def count_addresses(group: NodeGroupPlan, *, prefix_delegation: bool, custom_networking: bool = False) -> int:
    """Return addresses that one full node takes, of the group's instance type that takes the most.

    The VPC CNI fills network interfaces whole, whatever maxPods says; with prefix delegation it takes /28 prefixes as
    pods need them, beside one address per interface. Source: VPC CNI, "ENI and IP target". With custom networking
    they are those of the pods' subnet, which all interfaces but the primary one are in.
    """
    if not prefix_delegation:
        return max((each.enis - custom_networking) * each.ipv4_per_eni for each in group.instance_types)
    prefixes = -(-max(group.max_pods - _HOST_NETWORK_PODS, 0) // IPS_PER_PREFIX)
    return max(
        -(-prefixes // max(instance.ipv4_per_eni - 1, 1)) + prefixes * IPS_PER_PREFIX
        for instance in group.instance_types
    )


def read_cidr(
    text: str, path: KeyPath, example: str, report: ProblemReport, prefixes: range = range(33)
) -> IPv4Network | None:
    """Read an IPv4 CIDR block; report what is none, with the CIDR block of ``prefixes`` around an address."""
    address, slash, length = text.partition("/")
    try:
        return IPv4Network(text if slash else "")  # Python takes an address for a CIDR block
    except ValueError:
        hint = f"Write a CIDR block such as {example}."
        with suppress(ValueError):
            near = min(max(int(length or 32), prefixes[0]), prefixes[-1])
            hint = f"Did you mean {IPv4Network(f'{address}/{near}', strict=False)}?"
        report("cidr", path, f"{text!r} is not an IPv4 CIDR block.", hint=hint)
        return None


def _cidr(text: str, path: KeyPath, prefixes: range, report: ProblemReport) -> IPv4Network | None:
    found = read_cidr(text, path, DEFAULT_CIDR, report, prefixes)
    if found is None or found.prefixlen in prefixes:
        return found
    report("cidr-size", path, f"{found} is a /{found.prefixlen}; here it must be /{prefixes[0]} to /{prefixes[-1]}.")
    return None


def _zones(spec: Network, region: str | None, report: ProblemReport) -> tuple[tuple[str, ...], int]:
    """Return names (or none) and how many."""
    if spec.zones is None or isinstance(spec.zones, int):
        return (), spec.zones or DEFAULT_ZONES
    path = (*_NETWORK, "zones")
    for index, zone in enumerate(spec.zones):
        check_zone_name(zone, (*path, index), region, report)
    return tuple(spec.zones), len(spec.zones)


def check_zone_name(zone: str, path: KeyPath, region: str | None, report: ProblemReport) -> None:
    """Report what is not an availability zone of the region, or of any where ``region`` is None."""
    found = find_zone_region(zone)
    # EKS takes no subnets in local zones, whose names go on behind the region's.
    if found is None or zone[:-1] != found or (region is not None and found != region):
        message = f"{zone!r} is not an availability zone {f'of {region}' if region else 'name'}."
        report("zone", path, message, hint=f"Write names such as {region or 'eu-west-1'}a.")


def plan_subnets(
    subnets: Mapping[str, Sequence[str]], vpc_id: str, path: KeyPath, region: str | None, report: ProblemReport
) -> ExistingNetwork:
    """Plan subnets that are there already, given by the names of their zones."""
    zones = tuple((zone, tuple(ids)) for zone, ids in sorted(subnets.items()))
    for zone, ids in zones:
        check_zone_name(zone, (*path, zone), region, report)
        if not ids:
            report("subnets", (*path, zone), f"{zone} has no subnet.", hint="Name one, or omit the zone.")
    every = tuple(each for _, ids in zones for each in ids)
    if twice := sorted({each for each in every if every.count(each) > 1}):
        report("subnets", path, f"{', '.join(twice)} is named twice.", hint="Name each subnet once, in its zone.")
    return ExistingNetwork(vpc_id, every, zones)


def _existing(spec: Network, region: str | None, report: ProblemReport) -> ExistingNetwork:
    written = spec.model_dump(by_alias=True, exclude_none=True)
    for key in ("cidr", "podCidr", "zones", "nat", "endpoints", "flowLogs"):
        if key in written:
            message = f"{key} is for a new VPC, and vpcId or subnets name an existing one."
            hint = f"Omit {key}, or vpcId and the subnet IDs."
            report("existing-network", (*_NETWORK, key), message, hint=hint)
    if spec.vpc_id is None:
        report("vpc-id", (*_NETWORK, "vpcId"), "vpcId is missing.")
    own = spec.control_plane_subnet_ids
    if own is not None and len(set(own)) < _MIN_ZONES:
        path = (*_NETWORK, "controlPlaneSubnetIds")
        report("subnets", path, f"{len(own)} subnets for the control plane; EKS needs two, in two zones.")
    planned = _plan_private_subnets(spec, region, report)
    pods = _plan_pod_subnets(spec.pod_subnets, planned, report) if spec.pod_subnets is not None else ()
    ipv6 = _plan_ip_family(spec, report)
    return replace(planned, control_plane_subnet_ids=tuple(own or ()), pod_subnets=pods, ipv6=ipv6)


def _plan_private_subnets(spec: Network, region: str | None, report: ProblemReport) -> ExistingNetwork:
    if spec.private_subnets is None:
        private, path = spec.private_subnet_ids or [], (*_NETWORK, "privateSubnetIds")
        if len(set(private)) < _MIN_ZONES:
            report("subnets", path, f"{len(private)} private subnets; EKS needs two, in two zones.")
        return ExistingNetwork(spec.vpc_id or "", tuple(private))
    path = (*_NETWORK, "privateSubnets")
    if spec.private_subnet_ids is not None:
        report("subnets", path, "privateSubnets and privateSubnetIds are mutually exclusive.", hint="Keep the first.")
    planned = plan_subnets(spec.private_subnets, spec.vpc_id or "", path, region, report)
    if planned.zone_count < _MIN_ZONES:
        report("subnets", path, f"private subnets in {format_count(planned.zone_count, 'zone')}; EKS needs two.")
    return planned


def _plan_pod_subnets(
    pods: Mapping[str, str], nodes: ExistingNetwork, report: ProblemReport
) -> tuple[tuple[str, str], ...]:
    """Plan subnets for pods; nodes in a zone without one would give pods no addresses."""
    path = (*_NETWORK, "podSubnets")
    for zone, subnet in pods.items():
        if subnet in nodes.private_subnet_ids:
            report("pod-subnets", (*path, zone), f"{subnet} is a subnet of nodes.")
    if not nodes.zones:
        message = "podSubnets needs the zones of the nodes' subnets."
        report("pod-subnets", path, message, hint="Write privateSubnets, by zone.")
    elif odd := sorted({*pods} ^ {*nodes.zones}):
        report("pod-subnets", path, f"{' and '.join(odd)} must be in both privateSubnets and podSubnets, or in none.")
    return tuple(sorted(pods.items()))
