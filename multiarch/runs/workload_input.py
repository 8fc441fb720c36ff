"""The workloads that a command computes with, and the nodes around them: of manifests, or of a live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from multiarch.capacity.sources import Workloads, read_budgets, read_workloads
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ForbiddenError
from multiarch.kubernetes.manifests import read_manifests
from multiarch.kubernetes.resources import DAEMON_SETS, DISRUPTION_BUDGETS, WORKLOADS
from multiarch.kubernetes.source import ClusterAccess, LoadedObject
from multiarch.manifests.disruption_budgets import DisruptionBudget
from multiarch.observed.cluster import ClusterState, Running, read_cluster_state
from multiarch.observed.objects import check_namespaces, read_running
from multiarch.observed.pull_secrets import read_pull_secrets
from multiarch.observed.workloads import list_uses
from multiarch.plurals import format_count, join_names
from multiarch.prices.model import RegionPrices
from multiarch.registry.credentials.pull_secrets import PodCredentials
from multiarch.report.contents import Placement
from multiarch.simulate.context import SimulationContext, build_simulation_context
from multiarch.simulate.settled import NodeState
from multiarch.simulate.simulation import simulate_nodes
from multiarch.stack.model import ExistingClusterPlan, Plan

_SHOWN = 5
"""Nodes that a note names."""
_SYSTEM = "kube-system"
_OTHERS = (
    "DaemonSets of the cluster {} that are not in the files, such as aws-node and kube-proxy, use CPU, memory and "
    "a pod slot on every node. `kubectl get daemonsets -A -o yaml` prints them for another --manifests."
)


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """What runs in a cluster, as objects and as nodes with their pods.

    ``objects`` are those that are or create pods, ``budgets`` its PodDisruptionBudgets, or why they can't be read, and
    ``credentials`` those that its pods have for their images.
    """

    running: Running
    state: ClusterState
    objects: tuple[LoadedObject, ...]
    budgets: tuple[DisruptionBudget, ...] | ForbiddenError
    credentials: PodCredentials

    @property
    def notes(self) -> tuple[str, ...]:
        """Which nodes are not the stack's, and what is omitted."""
        names = self.state.unknown
        outside = (
            f"Nodes outside the stack's managed node groups and NodePools: {join_names(names, _SHOWN)}. They do "
            "not count towards maxSize, and nothing replaces them."
        )
        return (*([outside] if names else []), *self.state.notes)


@dataclass(frozen=True, slots=True)
class WorkloadInput:
    """Workloads, and the zones and nodes around them.

    The pods of ``workloads`` are those without a node, and the templates of DaemonSets. ``objects`` are what they were
    read from. ``cluster`` is None for manifests.
    """

    context: SimulationContext
    workloads: Workloads
    objects: tuple[LoadedObject, ...] = ()
    cluster: LiveCluster | None = None

    @property
    def nodes(self) -> tuple[NodeState, ...] | None:
        """The nodes of the cluster; None for those of the plan."""
        return None if self.cluster is None else self.cluster.state.nodes

    @property
    def credentials(self) -> PodCredentials:
        """The cluster's for the images of its pods."""
        return PodCredentials() if self.cluster is None else self.cluster.credentials

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about the workloads and the nodes."""
        return self.workloads.notes if self.cluster is None else self.cluster.notes

    def budgets(self) -> tuple[DisruptionBudget, ...]:
        """Return the PodDisruptionBudgets. Raises ForbiddenError if they can't be read."""
        if self.cluster is None:
            return self.workloads.budgets
        if isinstance(self.cluster.budgets, ForbiddenError):
            raise self.cluster.budgets
        return self.cluster.budgets


def read_manifest_workloads(plan: Plan, files: Sequence[str], *, prices: RegionPrices | None = None) -> WorkloadInput:
    """Read workloads of manifests, for the nodes of a plan. Raises MultiarchError as :func:`read_workloads` does."""
    found = tuple(read_manifests(files))
    workloads = read_workloads(found, files)
    if isinstance(plan.cluster, ExistingClusterPlan):
        daemons = {each.namespace for each in workloads.pods if each.per_node}
        if daemons and _SYSTEM not in daemons:
            workloads = replace(workloads, notes=(*workloads.notes, _OTHERS.format(plan.cluster.name)))
    return WorkloadInput(build_simulation_context(plan, prices=prices), _omit_fargate(plan, workloads), found)


def _omit_fargate(plan: Plan, workloads: Workloads) -> Workloads:
    """Return the workloads that need nodes, with a note about those that a Fargate profile of the plan selects.

    In a cluster such pods name another scheduler.
    """
    profiles = plan.fargate_profiles.values()
    kept = tuple(
        each
        for each in workloads.pods
        if each.per_node or not any(profile.selects(each.namespace, dict(each.labels)) for profile in profiles)
    )
    omitted = len(workloads.pods) - len(kept)
    note = f"{format_count(omitted, 'pod')} of Fargate profiles: not simulated, because they need no node here."
    return replace(workloads, pods=kept, notes=(*workloads.notes, note)) if omitted else workloads


def read_cluster_workloads(plan: Plan, cluster: LiveCluster, *, prices: RegionPrices | None = None) -> WorkloadInput:
    """Return the pending pods of a cluster, with the nodes that it has."""
    state = cluster.state
    context = build_simulation_context(plan, seen=state.zones, prices=prices)
    return WorkloadInput(context, Workloads((*state.pending, *state.daemon_sets), ()), cluster.objects, cluster)


def place_workloads(plan: Plan, given: WorkloadInput) -> Placement:
    """Return the nodes of the cluster with their pods, or those that the pods of manifests would get."""
    if given.cluster is not None:
        state = given.cluster.state
        return Placement(state.nodes, state.pending, live=True, notes=given.notes)
    settled = simulate_nodes(plan.autoscaling, plan.node_groups, given.context, given.workloads.pods)
    return Placement(settled.nodes, settled.unplaced, notes=(*settled.simulation.notes, *given.notes))


def read_cluster(
    plan: Plan | None,
    access: ClusterAccess,
    *,
    owners: bool = False,
    budgets: bool = False,
    images: bool = True,
    namespaces: Sequence[str] = (),
) -> LiveCluster:
    """Read the pods of a cluster and its nodes, which without a plan are of no group. Raises MultiarchError.

    It takes the right to list Nodes, Pods and DaemonSets in the whole cluster. ``owners``: the other kinds that create
    pods are read too; ``budgets``: PodDisruptionBudgets too; ``images``: the credentials that pods have for images.
    ``namespaces`` must exist.
    """
    with KubernetesCluster(access) as cluster:
        check_namespaces(cluster, namespaces)
        running = read_running(cluster)
        found = _read_budgets(cluster) if budgets else ()
        kinds = [kind for kind in WORKLOADS if kind is not DAEMON_SETS] if owners else []
        objects = (*cluster.objects(kinds), *running.daemon_sets, *running.pods)
        credentials = read_pull_secrets(cluster, list_uses(objects)) if images else PodCredentials()
    groups, pools = (plan.node_groups, plan.autoscaling.pool_names) if plan else ((), ())
    state = read_cluster_state(running, groups, pools)
    return LiveCluster(running, state, objects, found, credentials)


def _read_budgets(cluster: KubernetesCluster) -> tuple[DisruptionBudget, ...] | ForbiddenError:
    try:
        return read_budgets(tuple(cluster.objects([DISRUPTION_BUDGETS])))
    except ForbiddenError as error:
        return error
