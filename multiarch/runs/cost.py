"""What stacks or a cluster cost in a month: nodes, workloads and images that ``multiarch cost`` gathers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from multiarch.audit.subjects import Subject, gather
from multiarch.audit.workloads import audit_workloads
from multiarch.cost.arm64 import arm64_costs, with_arm64_costs
from multiarch.cost.model import CostReport
from multiarch.cost.pricing import Pricing
from multiarch.cost.sharing import costs_by_label
from multiarch.cost.stack import NodePrices, cluster_costs, region_of_nodes, stack_costs
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.kubernetes.access import ClusterAccess
from multiarch.kubernetes.cluster import open_cluster
from multiarch.kubernetes.pods import pods_in
from multiarch.manifests.owners import WorkloadKey, owners_in
from multiarch.observed.cluster import read_cluster_state, read_running
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress, look_up
from multiarch.observed.objects import read_manifest_objects
from multiarch.observed.pull_secrets import PodCredentials
from multiarch.plurals import counted
from multiarch.runs.workload_input import read_cluster
from multiarch.simulate.context import simulation_context
from multiarch.simulate.settled import NodeState
from multiarch.simulate.simulation import simulate_nodes
from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Nodes with their pods, and their workloads. ``running``: they are those of a cluster, not of a simulation.

    ``owners`` are owners by what they own; ``credentials`` those of the cluster's pods for their images.
    """

    nodes: Sequence[NodeState]
    subjects: Sequence[Subject]
    owners: Mapping[WorkloadKey, WorkloadKey]
    notes: tuple[str, ...]
    running: bool = False
    credentials: PodCredentials = field(default_factory=PodCredentials)


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
    found = _from_manifests(plan, pricing, files) if live is None else _from_cluster(plan, live)
    uses = [use for each in found.subjects for use in each.uses]
    images = look_up(
        uses, (Architecture.ARM64,), registries, credentials=found.credentials.credentials, progress=progress
    )
    # Which other tags have arm64 does not change what a workload would save.
    blockers = audit_workloads(found.subjects, images, {}, plan.arm64_taint).why_not_on_arm64()
    report = stack_costs(plan, pricing, found.nodes, running=found.running)
    compared = arm64_costs(plan, pricing, found.nodes, blockers, owners=found.owners, running=found.running)
    report = with_arm64_costs(report, compared)
    if label:
        prices = NodePrices(plan, pricing, running=found.running)
        report = replace(report, label=label, by_label=costs_by_label(found.nodes, prices, label))
    return [replace(report, notes=(*report.notes, *found.notes, *found.credentials.notes, *images.notes))]


def _from_manifests(plan: Plan, pricing: Pricing, files: Sequence[str]) -> _Nodes:
    """Return the desired nodes of the stack, and those that its autoscaler would add for the pods of manifests."""
    objects, lines = read_manifest_objects(files)
    found = list(objects)
    context = simulation_context(plan, prices=pricing.known)
    settled = simulate_nodes(plan.autoscaling, plan.node_groups, context, pods_in(found))
    notes = (f"{counted(len(settled.unplaced), 'pod')} got no node and cost nothing.",) if settled.unplaced else ()
    owners = owners_in(each.value for each in found)
    return _Nodes(settled.nodes, gather(found, plan.arm64_taint, lines), owners, notes)


def _from_cluster(plan: Plan, access: ClusterAccess) -> _Nodes:
    cluster = read_cluster(plan, access, owners=True)
    state = cluster.state
    notes = state.notes
    if state.unknown:
        names = ", ".join(state.unknown)
        notes = (*notes, f"Nodes of no node group or NodePool of the stack are counted too: {names}.")
    owners = owners_in(each.value for each in cluster.objects)
    subjects = gather(cluster.objects, plan.arm64_taint)
    return _Nodes(state.nodes, subjects, owners, notes, running=True, credentials=cluster.credentials)


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
