"""Moving one pod: its eviction, and the wait for the pod that replaces it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.resources import NODES, PODS
from multiarch.rebalance.candidates import explain_annotation
from multiarch.rebalance.clock import Clock, Patience
from multiarch.rebalance.lease import Lease
from multiarch.rebalance.model import Move, PodOutcome, Result
from multiarch.rebalance.snapshot import is_true

BUDGET_SECONDS = 60.0
"""How long a pod waits for its PodDisruptionBudget to allow the eviction."""
_LOOK_SECONDS = 2.0
_ASK_SECONDS = 5.0


class Mover:
    """Moves pods one at a time."""

    def __init__(
        self, cluster: KubernetesCluster, clock: Clock, patience: Patience, lease: Lease, timeout: float
    ) -> None:
        """``timeout``: the seconds that a replacement may take to be ready."""
        self._cluster, self._clock, self._patience, self._lease = cluster, clock, patience, lease
        self._timeout = timeout
        self._architectures: dict[str, Architecture | None] = {}

    def move(self, move: Move, node: str, make_way: Callable[[Move], str]) -> PodOutcome:
        """Evict a pod of ``node`` and wait for its replacement. Raises ClusterError, and LeaseHeldError.

        ``make_way`` is called right before the eviction, and says why it can't be, a clause.
        """
        if why := self._why_left(move, node) or make_way(move):
            return PodOutcome(move, Result.LEFT, why)
        before, why = self._evicted(move)
        return PodOutcome(move, Result.LEFT, why) if why else self._replaced(move, before)

    def why_moved_pod_failed(self, outcome: PodOutcome) -> str:
        """Return why a pod that replaces a moved one, and was ready, is not any more: a clause, or an empty string."""
        uid = outcome.replacement
        found = next((each for each in self._siblings(outcome.move) if each["metadata"]["uid"] == uid), None)
        if found is None or found["metadata"].get("deletionTimestamp") or is_true(found, "Ready"):
            return ""
        return f"its replacement {found['metadata']['name']} was ready on {outcome.node} and is not any more"

    def _why_left(self, move: Move, node: str) -> str:
        """Return why a pod that was planned to be moved is not evicted now."""
        found = self._patience.do(lambda: self._cluster.get(PODS, move.namespace, move.name))
        if found is None or found["metadata"]["uid"] != move.uid:
            return "it is gone"
        if found["metadata"].get("deletionTimestamp"):
            return "it is being deleted"
        if (found.get("spec") or {}).get("nodeName") != node:
            return "it is on another node"
        if why := explain_annotation(found["metadata"].get("annotations") or {}):
            return why
        if not is_true(found, "Ready"):
            return "it is not ready"
        return self._why_alone(move) if move.needs_another else ""

    def _why_alone(self, move: Move) -> str:
        ready = (each["metadata"] for each in self._siblings(move) if is_true(each, "Ready"))
        if any(each["uid"] != move.uid and not each.get("deletionTimestamp") for each in ready):
            return ""
        return "it has become its workload's only ready pod"

    def _evicted(self, move: Move) -> tuple[set[str], str]:
        """Evict, as soon as its budget allows it.

        Returns the uids of its controller's pods before that, and why it was not done, or an empty string.
        """
        end = self._clock.elapsed() + BUDGET_SECONDS
        while True:
            before = {str(each["metadata"]["uid"]) for each in self._siblings(move)}
            rejection = self._patience.do(lambda: self._evict(move))
            if not rejection:
                return before, ""
            found = self._patience.do(lambda: self._cluster.get(PODS, move.namespace, move.name))
            if found is None or found["metadata"]["uid"] != move.uid or found["metadata"].get("deletionTimestamp"):
                # An answer that was lost may have been the eviction's: wait for the replacement.
                return before, ""
            if self._clock.elapsed() >= end or self._clock.wait(_ASK_SECONDS):
                return before, rejection.rstrip(".")

    def _evict(self, move: Move) -> str:
        # Renewed before each request: it is valid for longer than a request takes.
        self._lease.renew()
        return self._cluster.evict(move.namespace, move.name, move.uid)

    def _replaced(self, move: Move, before: set[str]) -> PodOutcome:
        end = self._clock.elapsed() + self._timeout + move.grace_seconds
        while True:
            there = [each for each in self._siblings(move) if not each["metadata"].get("deletionTimestamp")]
            living = [each for each in there if each["metadata"]["uid"] not in before]
            if (outcome := self._judged(move, living, there)) is not None:
                return outcome
            stopping = self._clock.wait(_LOOK_SECONDS)
            if not stopping and self._clock.elapsed() < end:
                self._patience.do(self._lease.renew)
                continue
            return self._unfinished(move, living, stopping=stopping)

    def _judged(self, move: Move, fresh: list[Mapping[str, Any]], there: list[Mapping[str, Any]]) -> PodOutcome | None:
        """Return what became of the pod, or None as long as it is not known.

        ``there`` are its controller's pods that are not being deleted, ``fresh`` the new ones among them.
        """
        ready = None
        for each in fresh:
            node = (each.get("spec") or {}).get("nodeName") or ""
            architecture = self._architecture(node) if node else None
            if architecture is Architecture.AMD64:
                name, uid = each["metadata"]["name"], each["metadata"]["uid"]
                detail = f"kube-scheduler put its replacement {name} on the amd64 node {node}"
                return PodOutcome(move, Result.CAME_BACK, detail, node, uid)
            if architecture is Architecture.ARM64 and is_true(each, "Ready"):
                ready = each
        if ready is not None:
            return PodOutcome(move, Result.MOVED, "", ready["spec"]["nodeName"], ready["metadata"]["uid"])
        if not fresh and self._not_wanted(move, there):
            return PodOutcome(move, Result.NOT_REPLACED, "its controller wants no pod in its place")
        return None

    def _unfinished(self, move: Move, fresh: list[Mapping[str, Any]], *, stopping: bool) -> PodOutcome:
        if stopping:
            return PodOutcome(move, Result.INTERRUPTED, "a signal came before its replacement was ready")
        after = f"after {self._timeout:.0f} s"
        if not fresh:
            return PodOutcome(move, Result.UNKNOWN, f"{after} its controller has created no pod in its place")
        each = fresh[0]
        name, node = each["metadata"]["name"], (each.get("spec") or {}).get("nodeName") or ""
        uid = each["metadata"]["uid"]
        if node:
            return PodOutcome(
                move, Result.NOT_READY, f"{after} its replacement {name} on {node} is not ready", node, uid
            )
        return PodOutcome(move, Result.PENDING, f"{after} its replacement {name} has no node", "", uid)

    def _not_wanted(self, move: Move, there: list[Mapping[str, Any]]) -> bool:
        """Return whether the controller is gone, or has as many pods as it is to have without the one that is moved."""
        controller = move.controller
        found = self._patience.do(lambda: self._cluster.get(controller.resource, move.namespace, controller.name))
        if found is None or found["metadata"]["uid"] != controller.uid or found["metadata"].get("deletionTimestamp"):
            return True
        wanted = (found.get("spec") or {}).get("replicas", 1)
        gone = all(each["metadata"]["uid"] != move.uid for each in there)
        return gone and len(there) >= wanted

    def _siblings(self, move: Move) -> list[Mapping[str, Any]]:
        """Yield the pods of the same controller that have not ended."""

        def listed() -> Iterator[Mapping[str, Any]]:
            for found in self._cluster.objects([PODS], namespaces=[move.namespace], selector=move.controller.selector):
                owners = found.value["metadata"].get("ownerReferences") or ()
                ended = (found.value.get("status") or {}).get("phase") in ("Succeeded", "Failed")
                if not ended and any(each.get("uid") == move.controller.uid for each in owners):
                    yield found.value

        return self._patience.do(lambda: list(listed()))

    def _architecture(self, node: str) -> Architecture | None:
        """Return a node's architecture; None for a node that is gone, or does not say."""
        if node not in self._architectures:
            value = self._patience.do(lambda: self._cluster.get(NODES, None, node))
            if value is None:
                return None
            label = (value["metadata"].get("labels") or {}).get(ARCHITECTURE)
            self._architectures[node] = Architecture(label) if label in set(Architecture) else None
        return self._architectures[node]
