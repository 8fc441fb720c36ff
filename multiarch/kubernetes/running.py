"""What runs in a live cluster: its nodes, its pods, its DaemonSets and PodDisruptionBudgets."""

from __future__ import annotations

from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.resources import Kind
from multiarch.kubernetes.running_objects import Running

_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"


def read_running(cluster: Cluster, *, budgets: bool = False) -> Running:
    """Read the whole cluster, page by page; ``budgets``: its PodDisruptionBudgets too.

    It takes the right to list Nodes, Pods and DaemonSets, and PodDisruptionBudgets, in the whole cluster. Raises
    ClusterError.
    """
    return Running(
        name=cluster.name,
        pods=tuple(cluster.objects([Kind.POD], fields=_NOT_ENDED)),
        nodes=tuple(cluster.objects([Kind.NODE])),
        daemon_sets=tuple(cluster.objects([Kind.DAEMON_SET])),
        budgets=tuple(cluster.objects([Kind.POD_DISRUPTION_BUDGET])) if budgets else (),
    )
