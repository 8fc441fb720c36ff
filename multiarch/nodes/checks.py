"""What a node group may not be: contradictions that AWS would reject late, or that would strand pods."""

from __future__ import annotations

import re
from collections.abc import Sequence

from multiarch.errors import KeyPath, UnknownFactError
from multiarch.facts.ami_families import AmiFamily, get_family
from multiarch.facts.instance_types import InstanceType, explain_no_eks_support, get_instance_type
from multiarch.facts.limits import (
    MAX_USER_DATA_BYTES,
    NameKind,
    check_name,
    explain_forbidden_taint,
)
from multiarch.facts.taints import Taint
from multiarch.nodes import labels_taints
from multiarch.nodes.model import BootstrapCase, CapacityType, NodeGroupKind, Sizes
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext, NodeGroupSpec
from multiarch.nodes.user_data.kubelet_flags import PLANNED_FLAGS, explain_insecure_flag, name_setting

_RESERVATION = re.compile(
    r"cr-[0-9a-f]+|arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[\w.-]+(?:/[a-z0-9]{26})?|"
    r"capacity-reservations-only|open|none",
    re.ASCII,
)


def check_instance_types(spec: NodeGroupSpec, report: ProblemReport) -> tuple[InstanceType, ...]:
    """Look every type up. Returns the known ones, or nothing when they contradict one another."""
    types: list[InstanceType] = []
    for index, name in enumerate(spec.instance_types):
        path = (*spec.types_path, index)
        try:
            found = get_instance_type(name)
        except UnknownFactError as error:
            report("unknown-instance-type", path, error.message, hint=error.hint)
            continue
        if reason := explain_no_eks_support(found):
            report("not-an-eks-type", path, f"{reason}.")
            continue
        if spec.capacity_type is CapacityType.SPOT and not found.spot:
            report("no-spot", path, f"EC2 does not sell {name} as spot.")
        types.append(found)
    if spec.half is not None:
        for found in types:
            if found.architecture is not spec.half:
                report(
                    "half-architecture",
                    spec.types_path,
                    f"{found.name} is {found.architecture}.",
                    hint=f"Move it to instanceTypes.{found.architecture}.",
                )
                return ()
    elif len({found.architecture for found in types}) > 1:
        first = types[0]
        other = next(t for t in types if t.architecture is not first.architecture)
        report(
            "mixed-architectures",
            spec.types_path,
            f"{first.name} is {first.architecture} and {other.name} is {other.architecture}; a node "
            "group has one architecture.",
        )
        return ()
    return tuple(types)


def check_ipv6(types: Sequence[InstanceType], context: ClusterContext, path: KeyPath, report: ProblemReport) -> None:
    """Report types without the Nitro System in a cluster with IPv6, whose nodes take a prefix of addresses."""
    if old := [each.name for each in types if context.ipv6 and not each.nitro]:
        report("ipv6", path, f"{', '.join(sorted(old))} can't have IPv6 prefixes: EC2 gives them to the Nitro System.")


def check_sizes(spec: NodeGroupSpec, report: ProblemReport) -> Sizes:
    """Check that min <= desired <= max, and return them."""
    least, most = spec.settings.min_size, spec.settings.max_size
    desired = least if spec.settings.desired_size is None else spec.settings.desired_size
    if least > most:
        report("sizes", (*spec.path, "minSize"), f"minSize {least} is above maxSize {most}.")
    elif desired < least:
        report(
            "sizes",
            (*spec.path, "desiredSize"),
            f"desiredSize {desired} is below minSize {least}.",
            hint="Omit desiredSize, or lower minSize.",
        )
    elif desired > most:
        report(
            "sizes",
            (*spec.path, "desiredSize"),
            f"desiredSize {desired} is above maxSize {most}.",
            hint="Lower desiredSize or raise maxSize.",
        )
    if spec.capacity_type is CapacityType.SPOT and len(spec.instance_types) == 1:
        report(
            "spot-single-type",
            spec.types_path,
            f"spot capacity of one type, {spec.instance_types[0]}, is often not available.",
        )
    return Sizes(least, desired, most)


def check_taints(
    spec: NodeGroupSpec, context: ClusterContext, *, carries_arm64: bool, report: ProblemReport
) -> tuple[Taint, ...]:
    """Check and return the group's own taints and the stack's arm64 taint."""
    arm64_taint = context.arm64_taint if carries_arm64 else None
    placed: list[tuple[KeyPath, Taint]] = [(spec.path, arm64_taint)] if arm64_taint else []
    placed += labels_taints.check_taints(spec.settings.taints, spec.path, report, arm64_taint=arm64_taint)
    for path, taint in placed:
        _check_managed_taint(spec, taint, path, report)
    return tuple(sorted(taint for _, taint in placed))


def _check_managed_taint(spec: NodeGroupSpec, taint: Taint, path: KeyPath, report: ProblemReport) -> None:
    """A managed group's taints go through the EKS API, which takes less than the kubelet does."""
    if spec.kind is not NodeGroupKind.MANAGED:
        return
    if fault := check_name(NameKind.MANAGED_TAINT_KEY, taint.key) or explain_forbidden_taint(taint.key):
        hint = "Use kind: self-managed, or another key."
        report("managed-taint", path, f"the taint {taint}: {fault}.", hint=hint)


def check_bootstrap(spec: NodeGroupSpec, case: BootstrapCase, family: AmiFamily, report: ProblemReport) -> None:
    """Check that only the bootstrap starts the kubelet."""
    path, bootstrap = (*spec.path, "bootstrap"), spec.settings.bootstrap
    derived = "eks" if case is BootstrapCase.EKS else "user-data"
    if bootstrap.mode is not None and bootstrap.mode != derived:
        hint = "Give ami.id, use kind: self-managed, or omit bootstrap.mode." if derived == "eks" else ""
        reason = "with" if spec.ami.id else "without"
        message = f"mode is {bootstrap.mode}, but a {spec.kind} group {reason} ami.id is bootstrapped by {derived}."
        report("bootstrap-mode", (*path, "mode"), message, hint=hint)
    if bootstrap.pre_bootstrap:
        from multiarch.nodes.user_data.kubelet_start import starts_kubelet  # noqa: PLC0415  (few groups have a script)

        if not get_family(family).has_shell:
            report("pre-bootstrap-family", (*path, "preBootstrap"), f"{family} runs no scripts from user data.")
        # A longer script is rejected with its user data, and takes long to search.
        elif len(bootstrap.pre_bootstrap.encode()) <= MAX_USER_DATA_BYTES and (
            line := starts_kubelet(bootstrap.pre_bootstrap)
        ):
            whose = "EKS starts" if case is BootstrapCase.EKS else "the user data starts"
            report(
                "starts-kubelet",
                (*path, "preBootstrap"),
                f"it would start the kubelet ({line}); {whose} it afterwards.",
            )
    _check_kubelet_flags(spec, case, family, report)


def _check_kubelet_flags(spec: NodeGroupSpec, case: BootstrapCase, family: AmiFamily, report: ProblemReport) -> None:
    path, flags = (*spec.path, "bootstrap", "kubeletExtraArgs"), spec.settings.bootstrap.kubelet_extra_args
    if flags and not get_family(family).has_shell:
        report("kubelet-flags-family", path, f"{family} takes settings, not kubelet flags.")
    if case is BootstrapCase.EKS and not get_family(family).takes_kubelet:
        for key, written in (
            ("bootstrap.kubeletExtraArgs", bool(flags)),
            ("maxPods", spec.settings.max_pods is not None),
        ):
            if written:
                report(
                    "al2-managed-kubelet",
                    (*spec.path, *key.split(".")),
                    "on AL2 EKS calls bootstrap.sh itself, and user data can't add kubelet flags.",
                )
    settings = {f"--{name_setting(key).removesuffix('-percent')}": key for key in spec.settings.kubelet.written}
    for index, flag in enumerate(flags):
        name = flag.partition("=")[0]
        if name in PLANNED_FLAGS:
            hint = f"Use the key {PLANNED_FLAGS[name]}."
            report("kubelet-own-flag", (*path, index), f"{name} is written by the plan.", hint=hint)
        elif name in settings:
            message = f"{flag} would override kubelet.{settings[name]}."
            report("kubelet-own-flag", (*path, index), message, hint="Keep one of them.")
        elif opened := explain_insecure_flag(flag):
            report("insecure-kubelet-flag", (*path, index), f"{flag}: {opened}.")


def check_instance_store(
    spec: NodeGroupSpec, types: Sequence[InstanceType], family: AmiFamily, report: ProblemReport
) -> None:
    """Check that every type has local NVMe disks, and that the image can join them."""
    if spec.settings.instance_store_policy is None:
        return
    path = (*spec.path, "instanceStorePolicy")
    if not get_family(family).takes_kubelet:
        report("instance-store-family", path, f"instanceStorePolicy of {family} is not supported.")
    for each in types:
        if not each.nvme_gb:
            state = "has no local NVMe disks" if each.nvme_gb == 0 else "may have local disks, whose size is not known"
            report("no-instance-store", path, f"{each.name} {state}.")


def check_capacity_reservation(spec: NodeGroupSpec, report: ProblemReport) -> None:
    """Check that instances of the group can run in its capacity reservation: a single one has one type and zone."""
    chosen, fault = spec.settings.capacity_reservation, ""
    if chosen is None:
        return
    if not _RESERVATION.fullmatch(chosen):
        fault = f"{chosen!r} is neither a reservation, nor a resource group, nor a preference"
    elif spec.capacity_type is CapacityType.SPOT and chosen != "none":
        fault = "spot instances do not run in capacity reservations"
    elif chosen.startswith("cr-") and (spec.half is not None or len(spec.instance_types) > 1):
        fault = f"{chosen} is of one instance type, and the group has several"
    elif chosen.startswith("cr-") and len(set(spec.settings.zones or ())) != 1:
        fault = f"{chosen} is in one zone, and instances in the group's other zones would not start"
    if fault:
        report("capacity-reservation", (*spec.path, "capacityReservation"), f"{fault}.")


def check_efa(
    spec: NodeGroupSpec,
    context: ClusterContext,
    types: Sequence[InstanceType],
    family: AmiFamily,
    zones: Sequence[str],
    report: ProblemReport,
) -> None:
    """Check that every type has EFA interfaces on the same network cards, and that EFA traffic reaches other nodes.

    The launch template has one list of interfaces for all types. EFA traffic stays in its zone, and passes security
    groups by rules that name the group itself alone, out and in; EKS makes both in the group of a new cluster.
    Sources: EC2 user guide, "Elastic Fabric Adapter"; EKS user guide, "Default cluster security group".
    """
    if not spec.settings.efa:
        return
    path, fault = (*spec.path, "efa"), ""
    for each in types:
        if not each.efa_cards:
            fault = f"{each.name} {'has no EFA' if each.efa_cards == () else 'is not known to have EFA interfaces'}"
        elif each.efa_cards != types[0].efa_cards and not fault:
            fault = f"{types[0].name} and {each.name} differ in their network cards with EFA"
    if not get_family(family).takes_kubelet:
        fault = f"EFA interfaces with {family} are not supported"
    if fault:
        report("efa", path, f"{fault}.")
        return
    if len(zones or context.zones or context.subnet_ids) != 1:
        report("efa-zones", path, "its nodes may be in several zones, and EFA traffic does not leave a zone.")
    if context.existing:
        message = "whether security groups of this cluster's nodes allow EFA traffic is not known."
        report("efa-security-group", path, message)


def check_distribution(spec: NodeGroupSpec, report: ProblemReport) -> None:
    """Check that a share of on-demand nodes is one of a self-managed spot group; others are bought in one way."""
    if "instances_distribution" not in spec.settings.model_fields_set:
        return
    path, fault = (*spec.path, "instancesDistribution"), ""
    if spec.kind is NodeGroupKind.MANAGED:
        fault = "EKS buys all nodes of a managed group in one way"
    elif spec.capacity_type is not CapacityType.SPOT:
        fault = "all nodes of an on-demand group are on-demand"
    if fault:
        report("instances-distribution", path, f"{fault}.")


def check_hop_limit(limit: int, path: KeyPath, report: ProblemReport) -> None:
    """Report more than one hop: pods then reach the metadata service, and with it the role of the node."""
    if limit > 1:
        report("imds-hop-limit", (*path, "imdsHopLimit"), f"imdsHopLimit {limit} lets pods use the role of their node.")


def check_zones(spec: NodeGroupSpec, context: ClusterContext, report: ProblemReport) -> tuple[str, ...]:
    """Check that zones are among the network's, and that the network's have names."""
    chosen = spec.settings.zones
    if chosen is None:
        if spec.settings.one_per_zone and spec.zone is None:
            report(
                "zones-unknown",
                (*spec.path, "onePerZone"),
                "the network's zones have no names here, so there can't be a group for each.",
            )
        return (spec.zone,) if spec.zone else ()
    path = (*spec.path, "zones")
    if not context.zones:
        report("zones-unknown", path, "the network's zones have no names here.")
    else:
        for index, zone in enumerate(chosen):
            check_zone_of_network(zone, (*path, index), context, report)
    return (spec.zone,) if spec.zone else tuple(sorted(set(chosen)))


def check_zone_of_network(zone: str, path: KeyPath, context: ClusterContext, report: ProblemReport) -> None:
    """Report a zone that is not one of the network's."""
    if zone not in context.zones:
        hint = f"They are {', '.join(context.zones)}."
        report("zone-not-in-network", path, f"{zone} is not one of the network's zones.", hint=hint)
