"""NodePools: one for each architecture and capacity type of a pool in the stack file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from types import MappingProxyType

from multiarch.autoscaling import pool_checks as checks
from multiarch.autoscaling import selection
from multiarch.autoscaling.model import Budget, Capacity, NodePoolPlan, Requirement, describe_rank
from multiarch.autoscaling.spec import PoolSpec
from multiarch.autoscaling.syntax import check_memory
from multiarch.autoscaling.weights import PoolDraft, assign_lowest_weights, assign_weights
from multiarch.facts import labels
from multiarch.facts.ami_families import AmiFamily, explain_boot_failure
from multiarch.facts.architectures import Architecture
from multiarch.facts.auto_mode import explain_not_launched
from multiarch.facts.instance_types import InstanceType, explain_no_eks_support, list_instance_types
from multiarch.facts.node_resources import compute_usable_memory
from multiarch.facts.taints import Taint
from multiarch.manifests.quantities import parse_quantity
from multiarch.nodes.checks import check_ipv6
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext

_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "instance-type": "instanceTypes",
        "instance-family": "families",
        "instance-category": "categories",
        "instance-generation": "minGeneration",
        "instance-size": "sizes",
    }
)
"""The key in the stack file behind each requirement, by its label without the domain."""


def plan_pools(
    specs: Sequence[PoolSpec],
    order: Sequence[Capacity],
    context: ClusterContext,
    family: AmiFamily | None,
    report: ProblemReport,
    *,
    cordoned: bool = False,
) -> tuple[NodePoolPlan, ...]:
    """Return the NodePools of all pools in the stack file, the highest weight first, reporting every problem.

    Only capacities in the order are bought. ``family`` is that of the image, None where EKS Auto Mode chooses it.
    ``cordoned`` pools, which a migration removes, get the lowest weights and a
    limit of 0 vCPUs.
    """
    ordered = sorted(specs, key=lambda spec: spec.name)
    drafts = [
        draft
        for index, spec in enumerate(ordered)
        for draft in _drafts(spec, index, order, checks.check_pool(spec, order, context, report))
    ]
    checks.check_weights(ordered, report)
    weights = assign_lowest_weights(drafts, order) if cordoned else assign_weights(drafts, order)
    plans = [_plan(draft, weights[draft.name], order, context, family, cordoned=cordoned) for draft in drafts]
    for spec in ordered:
        own = [plan for draft, plan in zip(drafts, plans, strict=True) if draft.spec is spec]
        _check_instance_types(own, spec, family, report)
        check_ipv6([*{each for plan in own for each in plan.instance_types}], context, spec.path, report)
    return tuple(sorted(plans, key=lambda plan: (-plan.weight, plan.name)))


def _drafts(spec: PoolSpec, index: int, order: Sequence[Capacity], taints: Sequence[Taint]) -> Iterable[PoolDraft]:
    """Yield the NodePools of one pool in the stack file, which has ``taints``, in the order of capacities."""
    capacities = [
        capacity
        for capacity in order
        if capacity.architecture in spec.architectures and capacity.capacity_type in spec.capacity_types
    ]
    if not spec.settings.multi_architecture:
        yield from (PoolDraft(spec, index, f"{spec.name}-{capacity}", (capacity,), taints) for capacity in capacities)
        return
    for capacity_type in dict.fromkeys(capacity.capacity_type for capacity in capacities):
        both = tuple(capacity for capacity in capacities if capacity.capacity_type is capacity_type)
        yield PoolDraft(spec, index, f"{spec.name}-{capacity_type}", both, taints)


def _plan(
    draft: PoolDraft,
    weight: int,
    order: Sequence[Capacity],
    context: ClusterContext,
    family: AmiFamily | None,
    *,
    cordoned: bool,
) -> NodePoolPlan:
    spec, settings = draft.spec, draft.spec.settings
    requirements = _requirements(draft)
    hours = settings.quiet_hours
    quiet = [Budget("0", hours.schedule, hours.duration)] if hours else []
    rule = "set in the stack" if draft.written_weight is not None else describe_rank(draft.capacities[0], order)
    return NodePoolPlan(
        key=".".join(str(part) for part in spec.path),
        name=draft.name,
        weight=weight,
        weight_rule="autoscaler being replaced: lowest weights, no new nodes" if cordoned else rule,
        capacities=draft.capacities,
        requirements=requirements,
        instance_types=selection.select_types(_bootable(family), requirements),
        labels=spec.labels,
        taints=_taints(draft, context),
        node_class=context.node_class,
        cpu_limit=0 if cordoned else settings.cpu_limit,
        memory_limit=None if cordoned else settings.memory_limit,
        budgets=(Budget(settings.budget, None, None), *quiet),
        consolidation_policy=settings.consolidation,
        consolidate_after=settings.consolidate_after,
        expire_after=settings.expire_after,
        termination_grace_period=settings.termination_grace_period,
        auto_mode=spec.auto_mode,
    )


def _requirements(draft: PoolDraft) -> tuple[Requirement, ...]:
    """Return what Karpenter may choose from. Bare metal only where a size or a type names it.

    EKS Auto Mode knows no ``kubernetes.io/os``. Source: EKS user guide, "EKS Auto Mode Not Supported Labels".
    """
    settings = draft.spec.settings
    wanted = [
        *([] if draft.spec.auto_mode else [_one_of(labels.OPERATING_SYSTEM, ["linux"])]),
        _one_of(labels.ARCHITECTURE, [str(each) for each in draft.architectures]),
    ]
    if settings.instance_types:
        wanted.append(_one_of(labels.INSTANCE_TYPE, settings.instance_types))
    else:
        if settings.families:
            wanted.append(_one_of(selection.FAMILY, settings.families))
        else:
            wanted.append(_one_of(selection.CATEGORY, settings.categories))
            wanted.append(Requirement(selection.GENERATION, "Gt", (str(settings.min_generation - 1),)))
        wanted.append(
            _one_of(selection.SIZE, settings.sizes)
            if settings.sizes
            else _one_of(selection.HYPERVISOR, selection.VIRTUAL)
        )
    # Last, so that spot and on-demand have the same reason where no type is left.
    wanted.append(
        _one_of(labels.KARPENTER_CAPACITY_TYPE, [str(capacity.capacity_type) for capacity in draft.capacities])
    )
    if settings.zones:
        wanted.append(_one_of(labels.ZONE, settings.zones))
    own = draft.spec.auto_mode
    return tuple(replace(each, key=selection.get_label(each.key, auto_mode=own)) for each in wanted)


def _one_of(key: str, values: Iterable[str]) -> Requirement:
    return Requirement(key, "In", tuple(sorted(set(values))))


def _taints(draft: PoolDraft, context: ClusterContext) -> tuple[Taint, ...]:
    """Return the pool's taints, and the stack's arm64 taint; a pool of both architectures has it on all nodes."""
    spec = draft.spec
    carries = spec.settings.arm64_taint and (
        Architecture.ARM64 in draft.architectures or spec.settings.multi_architecture
    )
    return tuple(sorted({*draft.taints, *([context.arm64_taint] if carries and context.arm64_taint else [])}))


@cache
def _bootable(family: AmiFamily | None) -> tuple[InstanceType, ...]:
    """Return all types on which an image of the family starts, or that EKS Auto Mode launches."""
    return tuple(each for each in list_instance_types().values() if _explain_no_node(family, each) is None)


def _explain_no_node(family: AmiFamily | None, instance: InstanceType) -> str | None:
    """Return why a node on this type would never join, or None."""
    if family is None:
        return explain_not_launched(instance)
    return explain_boot_failure(family, instance)


def _check_instance_types(
    own: Sequence[NodePoolPlan], spec: PoolSpec, family: AmiFamily | None, report: ProblemReport
) -> None:
    """Report NodePools of a pool without any instance type, each reason once, and types that none of them can use."""
    settings = spec.settings
    chosen = {"instanceTypes": settings.instance_types, "families": settings.families, "sizes": settings.sizes}
    excluding = {
        plan.name: selection.find_excluding_requirement(_bootable(family), plan.requirements)
        for plan in own
        if not plan.instance_types
    }
    # Names that no instance type has are reported one by one.
    for why in dict.fromkeys(each for each in excluding.values() if each and not checks.is_unsatisfiable(each)):
        key = _KEYS.get(why.key.rpartition("/")[2]) or next(
            (key for key, values in chosen.items() if values), "categories"
        )
        names = [name for name, each in excluding.items() if each == why]
        report(
            "no-instance-type",
            (*spec.path, key),
            f"no EC2 instance type satisfies {' and '.join(names)}: {selection.describe_requirement(why)} "
            "excludes all remaining types.",
        )
    _check_unused(spec, {each.name for plan in own for each in plan.instance_types}, family, report)
    _check_limits(spec, own, report)


def _check_unused(spec: PoolSpec, used: set[str], family: AmiFamily | None, report: ProblemReport) -> None:
    """Warn about named types that can't be bought, with the reason."""
    table = list_instance_types()
    for index, name in enumerate(spec.settings.instance_types):
        if name in used or name not in table:
            continue
        found = table[name]
        reason = explain_no_eks_support(found) or _explain_no_node(family, found)
        if reason is None:
            sold = "on-demand only" if not found.spot else "spot and on-demand"
            reason = f"{name} is {found.architecture} and sold {sold}; no pool of {spec.name} is"
        report("instance-type-unused", (*spec.path, "instanceTypes", index), f"{reason}.")


def _check_limits(spec: PoolSpec, own: Sequence[NodePoolPlan], report: ProblemReport) -> None:
    """Report limits below the smallest type: Karpenter skips such a pool without an event."""
    written = spec.settings.memory_limit
    memory = parse_quantity(written) if written is not None and check_memory(written) is None else None
    for key, value, limit, measure, what in (
        ("cpuLimit", spec.settings.cpu_limit, spec.settings.cpu_limit, attrgetter("vcpus"), "vCPUs"),
        ("memoryLimit", written, memory, compute_usable_memory, "bytes of memory"),
    ):
        if limit is None:
            continue
        least = {plan.name: min(map(measure, plan.instance_types)) for plan in own if plan.instance_types}
        if names := [name for name, amount in least.items() if amount > limit]:
            report(
                "limit-below-every-type",
                (*spec.path, key),
                f"{key} {value} is less than any instance type of {' and '.join(names)} has "
                f"({min(least[name] for name in names)} {what}): no node would ever be added.",
            )
