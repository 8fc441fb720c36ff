"""Pods that make an autoscaler add arm64 nodes, before the pods that are to run there are evicted.

A pod that is evicted first would wait for minutes for its new node, or take an amd64 node that has room for it. So a
placeholder that requests the same waits instead. It is deleted right before the eviction, and leaves its room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE
from multiarch.facts.rebalance import PLACEHOLDER_LABEL, PLACEHOLDER_NAMESPACE
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ClusterError, ConflictError
from multiarch.kubernetes.resources import PODS
from multiarch.manifests import restricted
from multiarch.rebalance.clock import Clock, Patience
from multiarch.rebalance.lease import Lease
from multiarch.rebalance.model import Move
from multiarch.scheduling.resources import ResourceAmounts

IMAGE = "registry.k8s.io/pause:3.10"
"""What placeholders run. A node that can't pull it keeps the room for them all the same."""
_LONGEST_SECONDS = 3600
"""How long a placeholder that a killed run left keeps its room."""
_GONE_SECONDS = 60.0
_LOOK_SECONDS = 2.0
_SERVER_FAULT = 500


class Placeholders:
    """The placeholders of one run."""

    def __init__(self, cluster: KubernetesCluster, clock: Clock, patience: Patience, lease: Lease, run: str) -> None:
        """Nothing is created yet."""
        self._cluster, self._clock, self._patience, self._lease = cluster, clock, patience, lease
        self._run = run
        self._there: set[str] = set()

    def make(self, moves: Sequence[Move], seconds: float) -> tuple[set[str], str]:
        """Create one for each of ``moves``, and wait until they have nodes, for ``seconds`` at most.

        Returns the uids of the pods for which there is room now, and why there is none for the others. What has no
        node is deleted. Raises ClusterError.
        """
        try:
            for move in moves:
                self._patience.do(partial(self._create, move))
        except ClusterError as error:
            if error.status is None or error.status >= _SERVER_FAULT:
                raise
            self._patience.do(self.clear)
            has_room = {move.uid for move in moves if not move.new_node}
            return has_room, f"no placeholder can be created in namespace {PLACEHOLDER_NAMESPACE}: {error.message}"
        end = self._clock.elapsed() + seconds
        while True:
            placed = self._placed(moves)
            if len(placed) == len(moves) or self._clock.elapsed() >= end or self._clock.wait(_LOOK_SECONDS):
                break
            self._patience.do(self._lease.renew)
        for move in moves:
            if move.uid not in placed:
                self._patience.do(partial(self._delete, _name(move, self._run)))
        self._there = placed
        return placed, f"no arm64 node was added for it within {seconds:.0f} s"

    def free(self, move: Move) -> str:
        """Delete a move's placeholder, if it has one, and wait until it is gone.

        Returns why it is not, a clause, or an empty string.
        """
        if move.uid not in self._there:
            return ""
        name, end = _name(move, self._run), self._clock.elapsed() + _GONE_SECONDS
        self._patience.do(partial(self._delete, name))
        while self._patience.do(partial(self._cluster.get, PODS, PLACEHOLDER_NAMESPACE, name)) is not None:
            if self._clock.elapsed() >= end or self._clock.wait(_LOOK_SECONDS):
                return "its placeholder does not end"
        return ""

    def clear(self, *, others: bool = False) -> None:
        """Delete this run's placeholders; with ``others`` also those that killed runs left. Raises ClusterError.

        A run that has lost the Lease must not delete those of the run that has it.
        """
        selector = PLACEHOLDER_LABEL if others else f"{PLACEHOLDER_LABEL}={_label(self._run)}"
        listed = self._cluster.objects([PODS], namespaces=[PLACEHOLDER_NAMESPACE], selector=selector)
        for name in [found.value["metadata"]["name"] for found in listed]:
            self._delete(name)

    def _create(self, move: Move) -> None:
        try:
            self._cluster.create(PODS, PLACEHOLDER_NAMESPACE, _pod(move, self._run))
        except ConflictError:
            return

    def _delete(self, name: str) -> None:
        self._cluster.delete(PODS, PLACEHOLDER_NAMESPACE, name)

    def _placed(self, moves: Sequence[Move]) -> set[str]:
        listed = self._patience.do(
            lambda: list(self._cluster.objects([PODS], namespaces=[PLACEHOLDER_NAMESPACE], selector=PLACEHOLDER_LABEL))
        )
        there = {found.value["metadata"]["name"] for found in listed if _keeps_room(found.value)}
        return {move.uid for move in moves if _name(move, self._run) in there}


def build_placeholder_spec(pod: Mapping[str, Any], requests: ResourceAmounts) -> dict[str, Any]:
    """Return the spec of a pod that fits the same arm64 nodes as ``pod``, and requests ``requests``.

    It carries none of the pod's labels, and no rules about other pods.
    """
    spec = pod["spec"]
    amounts = {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in requests.items() if amount}
    resources: dict[str, Any] = {"requests": amounts}
    if extended := {name: str(amount) for name, amount in requests.extended}:
        resources["limits"] = extended
    made: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "activeDeadlineSeconds": _LONGEST_SECONDS,
        "terminationGracePeriodSeconds": 1,
        "nodeSelector": {**(spec.get("nodeSelector") or {}), ARCHITECTURE: str(Architecture.ARM64)},
        "tolerations": spec.get("tolerations") or [],
        "securityContext": restricted.build_pod_security(),
        "containers": [restricted.build_placeholder(IMAGE, resources)],
    }
    if about_nodes := (spec.get("affinity") or {}).get("nodeAffinity"):
        made["affinity"] = {"nodeAffinity": about_nodes}
    return made


def _keeps_room(pod: Mapping[str, Any]) -> bool:
    if pod["metadata"].get("deletionTimestamp") or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    return bool((pod.get("spec") or {}).get("nodeName"))


def _pod(move: Move, run: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": _name(move, run),
            "namespace": PLACEHOLDER_NAMESPACE,
            "labels": {PLACEHOLDER_LABEL: _label(run)},
        },
        "spec": dict(move.placeholder),
    }


def _label(run: str) -> str:
    """Return a run's name as the value of a label."""
    return run[-63:].strip("-_.")


def _name(move: Move, run: str) -> str:
    # Another run's may still be there, and end soon.
    return f"for-{move.uid}-{run.rpartition('-')[2]}"
