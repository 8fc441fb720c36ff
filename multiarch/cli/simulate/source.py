"""The pods of ``multiarch simulate``, from manifests or from a live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.errors import MultiarchError
from multiarch.plurals import counted, describe_without_pods

_CREATE_PODS = "--pods takes objects that create pods: Deployments, StatefulSets, Jobs, CronJobs, bare pods and others."

if TYPE_CHECKING:
    from multiarch.cli.options.cluster import ClusterOptions
    from multiarch.scheduling.pods import Pod
    from multiarch.simulate.simulation import SimulationContext
    from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class Input:
    """Pods to place, and the zones and nodes around them. ``gated`` counts pods that wait for a scheduling gate.

    ``without_pods`` counts objects by kind that create no pods.
    """

    pods: tuple[Pod, ...]
    context: SimulationContext
    gated: int = 0
    without_pods: tuple[tuple[str, int], ...] = ()


def from_manifests(plan: Plan, files: Sequence[str]) -> Input:
    """Pods of manifests, on the nodes of a stack's plan.

    Raises MultiarchError, naming file, document and line; also if there is no pod in any of the files.
    """
    from multiarch.kubernetes.manifests import read_manifests
    from multiarch.kubernetes.pods import pods_in
    from multiarch.scheduling.pods import kinds_without_pods
    from multiarch.simulate.context import simulation_context

    found = list(read_manifests(files))
    pods = pods_in(found)
    without_pods = kinds_without_pods(each.value for each in found)
    if all(pod.per_node for pod in pods):
        raise _no_pod(files, without_pods, daemon_sets=len(pods))
    return Input(pods, simulation_context(plan), without_pods=without_pods)


def _no_pod(files: Sequence[str], without_pods: Sequence[tuple[str, int]], *, daemon_sets: int) -> MultiarchError:
    from multiarch.kubernetes.manifests import names_of

    names = names_of(files)
    there = [describe_without_pods(without_pods)] if without_pods else []
    if daemon_sets:
        there.append(f"{counted(daemon_sets, 'DaemonSet')}, and no node is created for a DaemonSet")
    if not there:
        hint = f"Did the command before the pipe fail? {_CREATE_PODS}" if "-" in files else _CREATE_PODS
        return MultiarchError(f"{names}: no objects found, so no pods to simulate.", hint=hint)
    return MultiarchError(f"{names}: no pods to simulate: {'; '.join(there)}.", hint=_CREATE_PODS)


def from_cluster(plan: Plan, options: ClusterOptions) -> Input:
    """The pending pods of a cluster, on the nodes that it has. Raises MultiarchError and OutsideError."""
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.kubernetes.pending import count_nodes, read_pending
    from multiarch.kubernetes.pods import pods_in
    from multiarch.simulate.context import simulation_context
    from multiarch.simulate.live import Live

    with open_cluster(options.access) as cluster:
        pending = read_pending(cluster, namespaces=options.namespace or None, selector=options.selector)
    karpenter = plan.autoscaling.karpenter
    pools = [] if karpenter is None else [pool.name for pool in karpenter.pools if pool.instance_types]
    nodes = count_nodes(pending.nodes, plan.node_groups, pools)
    live = Live(nodes=nodes.by_group, others=nodes.others)
    return Input(
        pods=pods_in([*pending.pods, *pending.daemon_sets]),
        context=simulation_context(plan, seen=nodes.zones, live=live),
        gated=len(pending.gated),
    )


def check(pods: Sequence[str], cluster_options: str, *, pending: bool) -> None:
    """Raise MultiarchError unless exactly one source of pods is given."""
    both = "--pods FILE reads manifests, --pending reads the pods without a node in a live cluster."
    if pods and pending:
        raise MultiarchError("--pods and --pending exclude each other.", hint=both)
    if not pods and not pending:
        raise MultiarchError("No pods are given.", hint=both)
    if pods and cluster_options:
        raise MultiarchError(f"{cluster_options} can't be combined with --pods.", hint=both)
