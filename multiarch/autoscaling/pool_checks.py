"""Checks of a pool: settings that Karpenter or the API server rejects, or that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.autoscaling import selection, syntax
from multiarch.autoscaling.model import Capacity, Requirement
from multiarch.autoscaling.spec import PoolSpec
from multiarch.errors import KeyPath, UnknownFactError
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.labels import KARPENTER_DOMAINS, is_in_domains
from multiarch.facts.partitions import find_zone_region
from multiarch.facts.taints import Taint
from multiarch.nodes.checks import check_zone_of_network
from multiarch.nodes.labels_taints import check_labels, check_taints
from multiarch.nodes.model import CapacityType
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext

_MOST_POOLS = 100
"""Only with reserved capacity can a stack have more."""


def check_pool(
    spec: PoolSpec, order: Sequence[Capacity], context: ClusterContext, report: ProblemReport
) -> list[Taint]:
    """Check one pool by itself; return the taints that the file has, those that can be read."""
    _check_kinds(spec, order, report)
    _check_selection(spec, report)
    _check_zones(spec, context, report)
    check_labels(spec.labels, spec.path, report, reserved=_karpenters_own)
    carried = context.arm64_taint if spec.settings.arm64_taint else None
    taints = [taint for _, taint in check_taints(spec.settings.taints, spec.path, report, arm64_taint=carried)]
    _check_weight(spec, report)
    _check_syntax(spec, report)
    return taints


def check_reserved(
    specs: Sequence[PoolSpec], reservations: Sequence[str], path: KeyPath, report: ProblemReport
) -> None:
    """Check that pools with reserved capacity and the capacity reservations belong together."""
    using = [spec for spec in specs if CapacityType.RESERVED in spec.capacity_types]
    if reservations and not using:
        report("reserved-pool", path, "no pool has the capacity type reserved: these reservations stay unused.")
    if (number := sum(len(spec.architectures) * len(spec.capacity_types) for spec in specs)) > _MOST_POOLS:
        report(
            "reserved-pool", path, f"these pools become {number} NodePools, and Karpenter has {_MOST_POOLS} weights."
        )
    for spec in using:
        if not reservations:
            fault = f"{spec.name} allows reserved capacity, and karpenter.capacityReservations is empty."
            report("reserved-pool", (*spec.path, "capacityTypes"), fault)
        if not spec.settings.instance_types:
            fault = f"{spec.name} allows reserved capacity without the instanceTypes of its reservations."
            report("reserved-pool", (*spec.path, "capacityTypes"), fault)


def check_weights(specs: Sequence[PoolSpec], report: ProblemReport) -> None:
    """Reject the same weight twice: Karpenter would use reverse alphabetical order."""
    first: dict[int, PoolSpec] = {}
    for spec in specs:
        weight = spec.settings.weight
        if weight is None:
            continue
        if weight in first:
            report(
                "weight-tie",
                (*spec.path, "weight"),
                f"weight {weight} is also that of {first[weight].name}; Karpenter would try them in reverse "
                "alphabetical order.",
            )
        first.setdefault(weight, spec)


def is_unsatisfiable(requirement: Requirement) -> bool:
    """Return whether no instance type has any of a requirement's values, which :func:`check_pool` reports."""
    known = selection.list_known_values(requirement.key)
    return requirement.operator == "In" and known.isdisjoint(requirement.values)


def _check_kinds(spec: PoolSpec, order: Sequence[Capacity], report: ProblemReport) -> None:
    wanted = [Capacity(a, c) for a in spec.architectures for c in spec.capacity_types]
    if not set(wanted) & set(order):
        report(
            "pool-not-in-order",
            spec.path,
            f"{spec.name} allows {', '.join(map(str, wanted))}, none of which is in autoscaling.order.",
        )
    if spec.beside_others and Architecture.AMD64 in spec.architectures and not spec.settings.multi_architecture:
        report(
            "amd64-beside-others",
            (*spec.path, "architectures"),
            f"nodes of {spec.name} come before those of NodePools that the cluster has, for pods that need amd64 too.",
        )


def _check_selection(spec: PoolSpec, report: ProblemReport) -> None:
    replaced = {
        "instanceTypes": ("categories", "families", "minGeneration", "sizes"),
        "families": ("categories", "minGeneration"),
    }
    selected = {key for key, value in spec.settings.read_written().items() if value}
    for key, others in replaced.items():
        idle = [other for other in others if other in selected]
        if key in selected and idle:
            report(
                "selection-twice", (*spec.path, key), f"{key} replaces {', '.join(idle)}, which would have no effect."
            )
    for index, name in enumerate(spec.settings.instance_types):
        try:
            get_instance_type(name)
        except UnknownFactError as error:
            path = (*spec.path, "instanceTypes", index)
            report("unknown-instance-type", path, error.message, hint=error.hint)
    for key, label, names in (
        ("families", selection.FAMILY, spec.settings.families),
        ("categories", selection.CATEGORY, spec.settings.categories),
        ("sizes", selection.SIZE, spec.settings.sizes),
    ):
        if not names:
            continue
        known = selection.list_known_values(label)
        for index, name in enumerate(names):
            if name not in known:
                report(
                    "unknown-selection",
                    (*spec.path, key, index),
                    f"no instance type has {label.rpartition('/')[2]} {name!r}.",
                    hint="See `multiarch facts`.",
                )


def _check_zones(spec: PoolSpec, context: ClusterContext, report: ProblemReport) -> None:
    for index, zone in enumerate(spec.settings.zones):
        path = (*spec.path, "zones", index)
        if context.zones:
            check_zone_of_network(zone, path, context, report)
        elif (region := find_zone_region(zone)) is None or context.region not in (None, region):
            where = f" of {context.region}" if context.region else ""
            hint = f"Write names such as {context.region or 'eu-west-1'}a."
            report("zone", path, f"{zone!r} is not an availability zone{where}.", hint=hint)


def _karpenters_own(key: str) -> str | None:
    domain = key.partition("/")[0]
    return f"{domain} is Karpenter's own domain" if is_in_domains(key, KARPENTER_DOMAINS) else None


def _check_weight(spec: PoolSpec, report: ProblemReport) -> None:
    weight = spec.settings.weight
    if weight is not None and (len(spec.architectures) > 1 or len(spec.capacity_types) > 1):
        fault = f"{spec.name} becomes several pools, which can't all have weight {weight}."
        report("weight-of-several", (*spec.path, "weight"), fault)


def _check_syntax(spec: PoolSpec, report: ProblemReport) -> None:
    settings = spec.settings
    written = (
        ("quantity", "memoryLimit", settings.memory_limit, syntax.check_memory),
        ("duration", "consolidateAfter", settings.consolidate_after, syntax.check_period),
        ("duration", "expireAfter", settings.expire_after, syntax.check_lifetime),
        ("duration", "terminationGracePeriod", settings.termination_grace_period, syntax.check_grace_period),
    )
    for rule, key, value, fault_of in written:
        if value is not None and (fault := fault_of(value)):
            report(rule, (*spec.path, key), f"{fault}.")
    if hours := settings.quiet_hours:
        from multiarch.autoscaling.quiet_hours import find_faults  # noqa: PLC0415  (few pools have some)

        for key, fault in find_faults(hours.schedule, hours.duration):
            report(key, (*spec.path, "quietHours", key), f"{fault}.")
    if settings.cpu_limit is None and settings.memory_limit is None:
        report("pool-without-limit", spec.path, f"nothing limits what {spec.name} may cost.")
