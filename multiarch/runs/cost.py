"""What stacks or a cluster cost in a month: nodes, workloads and images that ``multiarch cost`` gathers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from multiarch.audit.subjects import gather_subjects
from multiarch.audit.workloads import WorkloadAudit, audit_workloads
from multiarch.cost.arm64 import compute_arm64_costs
from multiarch.cost.model import CostReport
from multiarch.cost.pricing import Pricing
from multiarch.cost.stack import (
    NodePrices,
    compute_cluster_costs,
    compute_label_costs,
    compute_stack_costs,
    find_region,
)
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.source import ClusterAccess, LoadedObject
from multiarch.manifests.owners import map_owners
from multiarch.observed.cluster import read_cluster_state
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress, look_up
from multiarch.observed.objects import read_running
from multiarch.plurals import format_count
from multiarch.report.contents import Placement
from multiarch.runs.workload_input import (
    WorkloadInput,
    place_workloads,
    read_cluster,
    read_cluster_workloads,
    read_manifest_workloads,
)
from multiarch.stack.model import Plan


def compute_costs(
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
        return [compute_stack_costs(plan, pricing_of(plan.region)) for plan in plans]
    if len(plans) > 1:
        option = "--manifests" if files else "--live"
        raise MultiarchError(f"{option} needs one stack.", hint=f"Name it: {', '.join(each.stack for each in plans)}.")
    (plan,) = plans
    pricing = pricing_of(plan.region)
    if live is None:
        given = read_manifest_workloads(plan, files, prices=pricing.known)
    else:
        given = read_cluster_workloads(plan, read_cluster(plan, live, owners=True))
    placement = place_workloads(plan, given)
    subjects = gather_subjects(given.objects, plan.arm64_taint)
    uses = [use for each in subjects for use in each.uses]
    credentials = given.credentials.credentials
    images = look_up(uses, (Architecture.ARM64,), registries, credentials=credentials, progress=progress)
    # Which other tags have arm64 does not change what a workload would save.
    audit = audit_workloads(subjects, images, {}, plan.arm64_taint)
    report = compute_placement_cost(plan, pricing, placement, given.objects, audit)
    if label:
        prices = NodePrices(plan, pricing, running=placement.live)
        report = replace(report, label=label, by_label=compute_label_costs(placement.nodes, prices, label))
    notes = (*_describe_nodes(given, placement), *given.credentials.notes)
    return [replace(report, notes=(*report.notes, *notes))]


def compute_placement_cost(
    plan: Plan, pricing: Pricing, placement: Placement, objects: Iterable[LoadedObject], audit: WorkloadAudit | None
) -> CostReport:
    """Return the costs of nodes; with an ``audit`` of workloads also what their pods would cost on arm64 nodes.

    ``objects`` tell which workloads own others.
    """
    if audit is None:
        return compute_stack_costs(plan, pricing, placement.nodes, running=placement.live)
    owners, blockers = map_owners(each.value for each in objects), audit.why_not_on_arm64()
    return compute_arm64_costs(plan, pricing, placement.nodes, blockers, owners=owners, running=placement.live)


def _describe_nodes(given: WorkloadInput, placement: Placement) -> tuple[str, ...]:
    """Return what to know about the nodes that are counted."""
    if given.cluster is None:
        lacking = len(placement.unplaced)
        unplaced = (f"{format_count(lacking, 'pod')} got no node and cost nothing.",) if lacking else ()
        return (*unplaced, *given.notes)
    names = ", ".join(given.cluster.state.unknown)
    unknown = f"Nodes of no node group or NodePool of the stack are counted too: {names}."
    return (*given.cluster.state.notes, *((unknown,) if names else ()))


def compute_cluster_cost(
    access: ClusterAccess, pricing_of: Callable[[str | None], Pricing], label: str = ""
) -> CostReport:
    """Return the costs of a cluster's nodes, without a stack; with a ``label``, by its values too.

    Raises MultiarchError and OutsideError.
    """
    with KubernetesCluster(access) as cluster:
        running = read_running(cluster)
    state = read_cluster_state(running, (), ())
    pricing = pricing_of(find_region(state.nodes))
    report = compute_cluster_costs(running.name, pricing, state.nodes)
    if label:
        found = compute_label_costs(state.nodes, NodePrices(None, pricing, running=True), label)
        report = replace(report, label=label, by_label=found)
    return replace(report, notes=(*report.notes, *state.notes))
