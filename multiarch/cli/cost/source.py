"""The nodes whose costs are shown, and what keeps workloads off arm64: from manifests, or from a live cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.terminal import progress, say_notes
from multiarch.observed.objects import read_manifest_objects
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.audit.subjects import Subject
    from multiarch.cli.options.cluster import AccessOptions
    from multiarch.cost.model import CostReport
    from multiarch.cost.pricing import Pricing
    from multiarch.manifests.owners import WorkloadKey
    from multiarch.registry.credentials.model import Credentials
    from multiarch.simulate.settled import NodeState
    from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class Found:
    """Nodes with their pods, and their workloads. ``running``: they are those of a cluster, not of a simulation.

    ``owners`` are owners by what they own; ``credentials`` those of the cluster's pods for their images.
    """

    nodes: Sequence[NodeState]
    subjects: Sequence[Subject]
    owners: Mapping[WorkloadKey, WorkloadKey]
    notes: tuple[str, ...]
    running: bool = False
    credentials: Credentials | None = None


def costs(plan: Plan, pricing: Pricing, found: Found, registries: RegistryOptions, label: str) -> CostReport:
    """The costs of the nodes, and of their pods compared with arm64; images are looked up in their registries.

    With a ``label``, the costs of pods by its values too.
    """
    from dataclasses import replace

    from multiarch.audit.subjects import ARM
    from multiarch.audit.workloads import audit_workloads
    from multiarch.cost.arm64 import arm64_costs, with_arm64_costs
    from multiarch.cost.sharing import costs_by_label
    from multiarch.cost.stack import NodePrices, stack_costs
    from multiarch.observed.images import look_up

    uses = [use for each in found.subjects for use in each.uses]
    with progress("reading images") as step:
        images = look_up(uses, (ARM,), registries.access, credentials=found.credentials, progress=step)
    say_notes(images.notes)
    # Which other tags have arm64 does not change what a workload would save.
    blockers = audit_workloads(found.subjects, images, {}, plan.arm64_taint).why_not_on_arm64()
    report = stack_costs(plan, pricing, found.nodes, running=found.running)
    compared = arm64_costs(plan, pricing, found.nodes, blockers, owners=found.owners, running=found.running)
    report = with_arm64_costs(report, compared)
    if label:
        prices = NodePrices(plan, pricing, running=found.running)
        report = replace(report, label=label, by_label=costs_by_label(found.nodes, prices, label))
    return replace(report, notes=(*report.notes, *found.notes))


def from_manifests(plan: Plan, pricing: Pricing, files: Sequence[str]) -> Found:
    """The desired nodes of the stack, and those that its autoscaler would add for the pods of manifests.

    Raises MultiarchError, naming file, document and line.
    """
    from multiarch.audit.subjects import gather
    from multiarch.kubernetes.pods import pods_in
    from multiarch.manifests.owners import owners_in
    from multiarch.simulate.context import simulation_context
    from multiarch.simulate.simulation import simulate_nodes

    objects, lines = read_manifest_objects(files)
    found = list(objects)
    pods = pods_in(found)
    context = simulation_context(plan, prices=pricing.known)
    settled = simulate_nodes(plan.autoscaling, plan.node_groups, context, pods)
    notes = (f"{counted(len(settled.unplaced), 'pod')} got no node and cost nothing.",) if settled.unplaced else ()
    owners = owners_in(each.value for each in found)
    return Found(settled.nodes, gather(found, plan.arm64_taint, lines), owners, notes)


def from_cluster(plan: Plan, options: AccessOptions) -> Found:
    """The nodes and pods of a cluster. Raises MultiarchError and OutsideError."""
    from multiarch.audit.subjects import gather
    from multiarch.cli.workload_input import read_cluster
    from multiarch.manifests.owners import owners_in

    cluster = read_cluster(plan, options.access, owners=True)
    state = cluster.state
    notes = state.notes
    if state.unknown:
        names = ", ".join(state.unknown)
        notes = (*notes, f"Nodes of no node group or NodePool of the stack are counted too: {names}.")
    owners = owners_in(each.value for each in cluster.objects)
    subjects = gather(cluster.objects, plan.arm64_taint)
    return Found(state.nodes, subjects, owners, notes, running=True, credentials=cluster.credentials)


def cluster_alone(options: AccessOptions, pricing_of: Callable[[str | None], Pricing], label: str) -> CostReport:
    """The costs of a cluster's nodes, without a stack; with a ``label``, by its values too.

    Raises MultiarchError and OutsideError.
    """
    from dataclasses import replace

    from multiarch.cost.sharing import costs_by_label
    from multiarch.cost.stack import NodePrices, cluster_costs, region_of_nodes
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.kubernetes.running import read_running
    from multiarch.simulate.running import cluster_state

    with open_cluster(options.access) as cluster:
        running = read_running(cluster)
    state = cluster_state(running, (), ())
    pricing = pricing_of(region_of_nodes(state.nodes))
    report = cluster_costs(running.name, pricing, state.nodes)
    if label:
        found = costs_by_label(state.nodes, NodePrices(None, pricing, running=True), label)
        report = replace(report, label=label, by_label=found)
    return replace(report, notes=(*report.notes, *state.notes))
