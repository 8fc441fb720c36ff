"""Where the pods of ``multiarch simulate`` come from: manifests, or a live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.autoscaling.simulate import Surroundings
    from multiarch.autoscaling.simulate_live import Live
    from multiarch.kubernetes.cluster import Access
    from multiarch.kubernetes.source import Found
    from multiarch.stack.model import Plan
    from multiarch.workloads.pods import Pod


@dataclass(frozen=True, slots=True)
class Asked:
    """Pods to place, and what is around them. ``gated`` counts pods that nobody looks for a node for yet."""

    pods: tuple[Pod, ...]
    around: Surroundings
    gated: int = 0


def from_manifests(plan: Plan, files: Sequence[str]) -> Asked:
    """Pods of manifests, on a stack as its file has it. Raises MultiarchError, naming file, document and line."""
    from multiarch.kubernetes.manifests import read_manifests

    return Asked(_pods(list(read_manifests(files))), surroundings(plan))


def from_cluster(plan: Plan, access: Access, *, namespaces: Sequence[str] | None, selector: str) -> Asked:
    """Pods that wait in a cluster, on the nodes that it has. Raises MultiarchError and OutsideError."""
    from multiarch.autoscaling.simulate_live import Live
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.kubernetes.pending import count_nodes, read_pending

    with open_cluster(access) as cluster:
        pending = read_pending(cluster, namespaces=namespaces, selector=selector)
    karpenter = plan.autoscaling.karpenter
    pools = [] if karpenter is None else [pool.name for pool in karpenter.pools if pool.instance_types]
    nodes = count_nodes(pending.nodes, plan.node_groups, pools)
    live = Live(nodes=nodes.by_group, others=nodes.others)
    return Asked(
        pods=_pods([*pending.pods, *pending.daemon_sets]),
        around=surroundings(plan, seen=nodes.zones, live=live),
        gated=len(pending.gated),
    )


def surroundings(plan: Plan, *, seen: tuple[str, ...] = (), live: Live | None = None) -> Surroundings:
    """The zones of a stack's network, as far as they are known; ``seen`` are those that a cluster's nodes are in."""
    from multiarch.autoscaling.simulate import Surroundings
    from multiarch.stack.model import ExistingNetwork

    network = plan.network
    if isinstance(network, ExistingNetwork):
        count, why = len(network.private_subnet_ids), "One zone is assumed for each private subnet"
    elif network.zones:
        return Surroundings(network.zones, live=live)
    else:
        count, why = network.zone_count, "The stack does not name its zones"
    if len(seen) == count:
        return Surroundings(seen, live=live)
    names = tuple(f"zone-{number}" for number in range(1, count + 1))
    return Surroundings(names, f"{why}; {', '.join(names)} stand for them.", live=live)


def _pods(found: list[Found]) -> tuple[Pod, ...]:
    from multiarch.kubernetes.source import placed
    from multiarch.workloads.manifest_values import ManifestError
    from multiarch.workloads.pods import pods_from

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
        raise MultiarchError("It takes pods to simulate: --pods or --pending.", hint=both)
    if pods and cluster_options:
        raise MultiarchError(f"{', '.join(cluster_options)} goes with --pending, not with --pods.", hint=both)
