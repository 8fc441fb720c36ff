"""What stacks or a cluster cost in a month: nodes, workloads and images that ``multiarch cost`` gathers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from multiarch.audit.subjects import gather
from multiarch.audit.workloads import WorkloadAudit, audit_workloads
from multiarch.cost.arm64 import arm64_costs
from multiarch.cost.model import CostReport
from multiarch.cost.pricing import Pricing
from multiarch.cost.stack import NodePrices, cluster_costs, costs_by_label, region_of_nodes, stack_costs
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.kubernetes.cluster import open_cluster
from multiarch.kubernetes.source import ClusterAccess, LoadedObject
from multiarch.manifests.owners import owners_in
from multiarch.observed.cluster import read_cluster_state
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress, look_up
from multiarch.observed.objects import read_running
from multiarch.plurals import counted
from multiarch.report.contents import Placement
from multiarch.runs.workload_input import WorkloadInput, from_cluster, from_manifests, place_workloads, read_cluster
from multiarch.stack.model import Plan


def cost_stacks(
    plans: Sequence[Plan],
    pricing_of: Callable[[str | None], Pricing],
    registries: RegistryAccess,
    *,
    files: Sequence[str] = (),
    live: ClusterAccess | None = None,
    label: str = "",
    progress: Progress = ignore_progress,
) -> list[CostReport]:
    """Return the costs of each stack, by default with its node groups at their desired size.

    With ``files`` of manifests or a ``live`` cluster, which need one stack, the costs are those of their nodes, and
    compared with arm64; images are looked up in their registries. With a ``label``, the costs of pods by its values
    too. Raises MultiarchError and OutsideError.
    """
    if live is None and not files:
        return [stack_costs(plan, pricing_of(plan.region)) for plan in plans]
    if len(plans) > 1:
        option = "--manifests" if files else "--live"
        raise MultiarchError(f"{option} needs one stack.", hint=f"Name it: {', '.join(each.stack for each in plans)}.")
    (plan,) = plans
    pricing = pricing_of(plan.region)
    if live is None:
        given = from_manifests(plan, files, prices=pricing.known)
    else:
        given = from_cluster(plan, read_cluster(plan, live, owners=True))
    placement = place_workloads(plan, given)
    subjects = gather(given.objects, plan.arm64_taint)
    uses = [use for each in subjects for use in each.uses]
    credentials = given.credentials.credentials
    images = look_up(uses, (Architecture.ARM64,), registries, credentials=credentials, progress=progress)
    # Which other tags have arm64 does not change what a workload would save.
    audit = audit_workloads(subjects, images, {}, plan.arm64_taint)
    report = cost_placement(plan, pricing, placement, given.objects, audit)
    if label:
        prices = NodePrices(plan, pricing, running=placement.live)
        report = replace(report, label=label, by_label=costs_by_label(placement.nodes, prices, label))
    notes = (*_describe_nodes(given, placement), *given.credentials.notes, *images.notes)
    return [replace(report, notes=(*report.notes, *notes))]


def cost_placement(
    plan: Plan, pricing: Pricing, placement: Placement, objects: Iterable[LoadedObject], audit: WorkloadAudit | None
) -> CostReport:
    """Return the costs of nodes; with an ``audit`` of workloads also what their pods would cost on arm64 nodes.

    ``objects`` tell which workloads own others.
    """
    if audit is None:
        return stack_costs(plan, pricing, placement.nodes, running=placement.live)
    owners, blockers = owners_in(each.value for each in objects), audit.why_not_on_arm64()
    return arm64_costs(plan, pricing, placement.nodes, blockers, owners=owners, running=placement.live)


def _describe_nodes(given: WorkloadInput, placement: Placement) -> tuple[str, ...]:
    """Return what to know about the nodes that are counted."""
    if given.cluster is None:
        lacking = len(placement.unplaced)
        return (f"{counted(lacking, 'pod')} got no node and cost nothing.",) if lacking else ()
    names = ", ".join(given.cluster.state.unknown)
    unknown = f"Nodes of no node group or NodePool of the stack are counted too: {names}."
    return (*given.cluster.state.notes, *((unknown,) if names else ()))


def cost_cluster(access: ClusterAccess, pricing_of: Callable[[str | None], Pricing], label: str = "") -> CostReport:
    """Return the costs of a cluster's nodes, without a stack; with a ``label``, by its values too.

    Raises MultiarchError and OutsideError.
    """
    with open_cluster(access) as cluster:
        running = read_running(cluster)
    state = read_cluster_state(running, (), ())
    pricing = pricing_of(region_of_nodes(state.nodes))
    report = cluster_costs(running.name, pricing, state.nodes)
    if label:
        found = costs_by_label(state.nodes, NodePrices(None, pricing, running=True), label)
        report = replace(report, label=label, by_label=found)
    return replace(report, notes=(*report.notes, *state.notes))
