"""Which nodes pods would get: the pods and nodes of ``multiarch simulate``, and their costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from multiarch.cost.pricing import Pricing
from multiarch.cost.simulated import SimulatedCosts, compute_simulated_costs
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.kubernetes.source import ClusterAccess
from multiarch.manifests.label_query import parse_label_query
from multiarch.observed.cluster import GATED
from multiarch.runs.workload_input import WorkloadInput, read_cluster, read_cluster_workloads
from multiarch.serialization import INLINED, OMITTED
from multiarch.simulate.model import OmittedPods, Simulation
from multiarch.simulate.preference import with_preference
from multiarch.simulate.simulation import simulate_nodes
from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class SimulatedStack:
    """A simulation of ``stack``. ``cost`` is None without prices."""

    stack: str
    pods: int
    unplaced: int
    simulation: Simulation = field(metadata=INLINED)
    cost: SimulatedCosts | None
    arm64_taint: Taint | None = field(metadata=OMITTED)

    def choose_unplaced(self) -> SimulatedStack:
        """Return the result with only those workloads that have a pod without a node."""
        lacking = tuple(each for each in self.simulation.workloads if each.unplaced)
        return replace(self, simulation=replace(self.simulation, workloads=lacking))


def read_pending(
    plan: Plan, access: ClusterAccess, *, namespaces: Sequence[str] = (), selector: str = ""
) -> WorkloadInput:
    """Return the pods of a cluster that have no node, and its nodes with the pods that they have.

    Only pods in ``namespaces`` (all if empty) that match the label ``selector`` are placed. Raises MultiarchError and
    OutsideError.
    """
    chosen = parse_label_query(selector)
    cluster = read_cluster(plan, access, images=False, namespaces=namespaces)
    given = read_cluster_workloads(plan, cluster)
    pods = (*cluster.state.choose_pending(namespaces, chosen), *cluster.state.daemon_sets)
    return replace(given, workloads=replace(given.workloads, pods=pods))


def simulate_workloads(
    plan: Plan, given: WorkloadInput, *, pricing: Pricing | None = None, prefer: Architecture | None = None
) -> SimulatedStack:
    """Simulate the pods of manifests, or of a cluster; with ``prefer``, as if they preferred that architecture."""
    pods = with_preference(given.workloads.pods, prefer) if prefer else given.workloads.pods
    context = given.context if pricing is None else replace(given.context, prices=pricing.known)
    settled = simulate_nodes(plan.autoscaling, plan.node_groups, context, pods, given.nodes)
    result = settled.simulation
    if given.cluster is not None:
        omitted = given.cluster.state.omitted
        gated = [OmittedPods(GATED, omitted[f"pod(s) {GATED}"])] if f"pod(s) {GATED}" in omitted else []
        notes = [each for each in given.cluster.state.notes if GATED not in each]
        result = replace(result, omitted=(*result.omitted, *gated), notes=(*result.notes, *notes))
    else:
        result = replace(result, notes=(*result.notes, *given.notes))
    return SimulatedStack(
        plan.stack,
        sum(each.pods for each in result.workloads),
        result.unplaced,
        result,
        None if pricing is None else compute_simulated_costs(plan, pricing, settled, given.nodes),
        plan.arm64_taint,
    )
