"""Where the pods of ``multiarch simulate`` come from: manifests, or a live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.cli.output import counted
from multiarch.errors import MultiarchError

_MAKE_PODS = (
    "--pods takes what kubectl applies or prints: Deployments, StatefulSets, Jobs, CronJobs, bare pods, and all else "
    "that makes pods."
)

if TYPE_CHECKING:
    from multiarch.kubernetes.access import ClusterAccess
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.scheduling.pods import Pod
    from multiarch.simulate.live import Live
    from multiarch.simulate.simulation import SimulationContext
    from multiarch.stack.model import Plan


@dataclass(frozen=True, slots=True)
class Asked:
    """Pods to place, and what is around them. ``gated`` counts pods that nobody looks for a node for yet.

    ``without_pods`` counts objects by kind that make no pods.
    """

    pods: tuple[Pod, ...]
    context: SimulationContext
    gated: int = 0
    without_pods: tuple[tuple[str, int], ...] = ()


def from_manifests(plan: Plan, files: Sequence[str]) -> Asked:
    """Pods of manifests, on a stack as its file has it.

    Raises MultiarchError, naming file, document and line, and where there is no pod in any of them: that all pods have
    a node would say nothing then.
    """
    from multiarch.kubernetes.manifests import read_manifests
    from multiarch.scheduling.pods import kinds_without_pods

    found = list(read_manifests(files))
    pods = _pods(found)
    without_pods = kinds_without_pods(each.value for each in found)
    if all(pod.per_node for pod in pods):
        raise _no_pod(files, without_pods, daemon_sets=len(pods))
    return Asked(pods, simulation_context(plan), without_pods=without_pods)


def _no_pod(files: Sequence[str], without_pods: Sequence[tuple[str, int]], *, daemon_sets: int) -> MultiarchError:
    names = ", ".join("standard input" if name == "-" else name for name in files)
    there = [without_pods_in_words(without_pods)] if without_pods else []
    if daemon_sets:
        there.append(f"{counted(daemon_sets, 'DaemonSet')}, whose pods come to nodes and get none made")
    if not there:
        hint = f"Nothing was read: did the command before the pipe fail? {_MAKE_PODS}" if "-" in files else _MAKE_PODS
        return MultiarchError(f"{names}: there is no object, so no pod to simulate.", hint=hint)
    return MultiarchError(f"{names}: there is no pod to simulate: {'; '.join(there)}.", hint=_MAKE_PODS)


def without_pods_in_words(kinds: Sequence[tuple[str, int]]) -> str:
    """``3 objects make no pods: ConfigMap 2, Service 1``."""
    total = sum(count for _, count in kinds)
    make = "makes" if total == 1 else "make"
    return f"{counted(total, 'object')} {make} no pods: {', '.join(f'{kind} {count}' for kind, count in kinds)}"


def from_cluster(plan: Plan, access: ClusterAccess, *, namespaces: Sequence[str] | None, selector: str) -> Asked:
    """Pods that wait in a cluster, on the nodes that it has. Raises MultiarchError and OutsideError."""
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.kubernetes.pending import count_nodes, read_pending
    from multiarch.simulate.live import Live

    with open_cluster(access) as cluster:
        pending = read_pending(cluster, namespaces=namespaces, selector=selector)
    karpenter = plan.autoscaling.karpenter
    pools = [] if karpenter is None else [pool.name for pool in karpenter.pools if pool.instance_types]
    nodes = count_nodes(pending.nodes, plan.node_groups, pools)
    live = Live(nodes=nodes.by_group, others=nodes.others)
    return Asked(
        pods=_pods([*pending.pods, *pending.daemon_sets]),
        context=simulation_context(plan, seen=nodes.zones, live=live),
        gated=len(pending.gated),
    )


def simulation_context(plan: Plan, *, seen: tuple[str, ...] = (), live: Live | None = None) -> SimulationContext:
    """The zones of a stack's network, as far as they are known; ``seen`` are those that a cluster's nodes are in."""
    from multiarch.simulate.simulation import SimulationContext
    from multiarch.stack.model import ExistingNetwork

    network = plan.network
    if isinstance(network, ExistingNetwork):
        count, why = len(network.private_subnet_ids), "One zone is assumed for each private subnet"
    elif network.zones:
        return SimulationContext(network.zones, live=live, region=plan.region)
    else:
        count, why = network.zone_count, "The stack does not name its zones"
    if len(seen) == count:
        return SimulationContext(seen, live=live, region=plan.region)
    names = tuple(f"zone-{number}" for number in range(1, count + 1))
    return SimulationContext(
        names, f"{why}; the result uses {', '.join(names)} as placeholders.", live=live, region=plan.region
    )


def _pods(found: list[LoadedObject]) -> tuple[Pod, ...]:
    from multiarch.kubernetes.source import placed
    from multiarch.manifests.values import ManifestError
    from multiarch.scheduling.pods import pods_from

    try:
        return tuple(pods_from(each.value for each in found))
    except ManifestError as error:
        raise placed(error, found) from error


def only_one(pods: Sequence[str], *, pending: bool, cluster_options: Sequence[str]) -> None:
    """Refuse anything but one source of pods. Raises MultiarchError that says both."""
    both = "--pods FILE takes manifests, --pending takes the pods that wait in a live cluster."
    if pods and pending:
        raise MultiarchError("--pods and --pending exclude each other.", hint=both)
    if not pods and not pending:
        raise MultiarchError("It is not said which pods to simulate.", hint=both)
    if pods and cluster_options:
        raise MultiarchError(f"{', '.join(cluster_options)} goes with --pending, not with --pods.", hint=both)
