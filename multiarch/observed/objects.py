"""Kubernetes objects of manifests or of a live cluster, as one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from multiarch.errors import MultiarchError
from multiarch.files import MANIFESTS, read_text
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.manifests import (
    STANDARD_INPUT,
    STANDARD_INPUT_NAME,
    format_names,
    read_manifests,
    read_standard_input,
)
from multiarch.kubernetes.resources import DAEMON_SETS, DISRUPTION_BUDGETS, NODES, PODS, WORKLOADS
from multiarch.kubernetes.source import ClusterAccess, LoadedObject
from multiarch.observed.cluster import Running

_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class ObjectSource:
    """Where a command reads objects: ``files`` with manifests, or a live cluster if there are none.

    ``namespaces`` (all if empty) and ``selector`` choose objects of the cluster.
    """

    files: tuple[str, ...] = ()
    access: ClusterAccess = field(default_factory=ClusterAccess)
    namespaces: tuple[str, ...] = ()
    selector: str = ""


def read_manifest_objects(paths: Sequence[str]) -> tuple[Iterator[LoadedObject], Callable[[str], Sequence[str]]]:
    """Return the objects in manifests, and a function that reads a file's lines.

    Raises MultiarchError while iterating, also if there are no objects: a check of nothing would pass.
    """
    # Standard input is read once, because its lines are needed after its objects.
    stdin = read_standard_input() if STANDARD_INPUT in paths else ""

    @cache
    def lines(where: str) -> tuple[str, ...]:
        text = stdin if where == STANDARD_INPUT_NAME else read_text(Path(where), MANIFESTS)
        return tuple(text.splitlines())

    return _require_some(read_manifests(paths, stdin=stdin), paths), lines


def read_workload_objects(cluster: KubernetesCluster, source: ObjectSource) -> Iterator[LoadedObject]:
    """Yield a cluster's workloads and pods. Raises MultiarchError for a missing namespace."""
    check_namespaces(cluster, source.namespaces)
    yield from cluster.objects((*WORKLOADS, PODS), namespaces=source.namespaces or None, selector=source.selector)


def check_namespaces(cluster: KubernetesCluster, namespaces: Sequence[str]) -> None:
    """Raise MultiarchError for a namespace that the cluster does not have."""
    if missing := cluster.missing_namespaces(namespaces):
        raise MultiarchError(f"There is no namespace {', '.join(missing)} in the cluster of context {cluster.name}.")


def _require_some(objects: Iterator[LoadedObject], paths: Sequence[str]) -> Iterator[LoadedObject]:
    empty = True
    for each in objects:
        empty = False
        yield each
    if empty:
        raise MultiarchError(
            f"{format_names(paths)}: no Kubernetes objects found.",
            hint="Did the command that writes the manifests fail?",
        )


def read_running(cluster: KubernetesCluster, *, budgets: bool = False) -> Running:
    """Read the whole cluster, page by page; ``budgets``: its PodDisruptionBudgets too.

    It takes the right to list Nodes, Pods and DaemonSets, and PodDisruptionBudgets, in the whole cluster. Raises
    ClusterError.
    """
    return Running(
        name=cluster.name,
        pods=tuple(cluster.objects([PODS], fields=_NOT_ENDED)),
        nodes=tuple(cluster.objects([NODES])),
        daemon_sets=tuple(cluster.objects([DAEMON_SETS])),
        budgets=tuple(cluster.objects([DISRUPTION_BUDGETS])) if budgets else (),
    )
