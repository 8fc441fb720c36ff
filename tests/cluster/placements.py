"""Where Karpenter and the scheduler put pods, read from what they write to the API server.

The two need not agree. Karpenter plans a node for each pod, but kube-scheduler binds a pod to the first node that has
room for it: a pod that tolerates arm64's taint may end on an amd64 node that was meant for others and was there first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.cluster.kube import Kube, Object, condition, is_true
from sandbox.cluster.programs import ClusterError

_TYPE = "node.kubernetes.io/instance-type"
MOST_PODS = 10
"""Pods at once whose planned node is sure to be told: Karpenter limits its ``Nominated`` events to ten in a burst."""
REJECTION_STANDS_SECONDS = 2.0
"""Karpenter's word that a pod cannot be placed counts when the pod is still without a node this much later."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The node that Karpenter planned for a pod (or, where it had nothing to plan, the one that had room).

    ``pool`` is the NodePool's name, empty for a node that is not Karpenter's; ``claim`` the NodeClaim's. ``node`` is
    the Node that kube-scheduler bound the pod to, which may be another one (see the module's text), or empty where
    binding was not waited for.
    """

    pool: str
    architecture: str
    capacity_type: str
    claim: str
    node: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """Karpenter has no place for a pod; ``reason`` is its own message."""

    reason: str


@dataclass(slots=True)
class Watch:
    """Follows pods, pairs of namespace and name, until each is placed or rejected. Pods have different names.

    Without ``bound`` a pod is placed when the node that Karpenter planned for it has been launched. ``stands``: seconds
    after which a rejection counts.
    """

    kube: Kube
    wanted: frozenset[tuple[str, str]]
    bound: bool = True
    stands: float = REJECTION_STANDS_SECONDS
    clock: Callable[[], float] = time.monotonic
    _first_rejected: dict[str, float] = field(default_factory=dict)
    _pods: Mapping[str, Object] = field(default_factory=dict)

    def look(self) -> dict[str, Placement | Rejected] | None:
        """Return what became of all pods, sorted by name; None while one is undecided.

        Raises:
            ClusterError: a pod got a node that was made for pods, but Karpenter's word on which is missing.
        """
        self._pods = {
            item["metadata"]["name"]: item
            for item in self.kube.list("v1", "Pod")
            if (item["metadata"]["namespace"], item["metadata"]["name"]) in self.wanted
        }
        waiting = {name for name, item in self._pods.items() if not item["spec"].get("nodeName")}
        now = self.clock()
        rejections = {name: Rejected(said) for name, said in self._said("FailedScheduling").items() if name in waiting}
        for name in rejections:
            self._first_rejected.setdefault(name, now)
        planned = self._said("Nominated", first=True)
        claims = {item["metadata"]["name"]: item for item in self.kube.list("karpenter.sh/v1", "NodeClaim")}
        launched = set() if self.bound else {n for n in waiting if _named(planned.get(n, ""), "nodeclaim") in claims}
        rejections = {name: said for name, said in rejections.items() if name not in launched}
        if any(_named(planned.get(name, ""), "nodeclaim") in incomplete(claims) for name in self._pods):
            return None
        undecided = [n for n in waiting - launched if now - self._first_rejected.get(n, now) < self.stands]
        if undecided or len(self._pods) < len(self.wanted):
            return None
        nodes = {item["metadata"]["name"]: item for item in self.kube.list("v1", "Node")}
        placed: dict[str, Placement | Rejected] = {**rejections}
        for name in self._pods.keys() - rejections.keys():
            node = nodes.get(self._pods[name]["spec"].get("nodeName", ""))
            if node is None and name not in launched:
                return None  # being deleted, and the pod with it
            placed[name] = self._placement(name, node, planned.get(name, ""), claims)
        return {name: placed[name] for name in sorted(placed)}

    def _placement(self, pod: str, node: Object | None, planned: str, claims: Mapping[str, Object]) -> Placement:
        on = node["metadata"]["name"] if node else ""
        of_node = next(
            (name for name, item in claims.items() if on and item.get("status", {}).get("nodeName") == on), ""
        )
        claim = _named(planned, "nodeclaim") or of_node
        if not planned and of_node and _made(claims[of_node]) > _made(self._pods[pod]):
            raise ClusterError(f"Karpenter's plan for {pod} is not told; at most {MOST_PODS} pods at once")
        if claim and claim not in claims:
            raise ClusterError(f"{pod} was planned for {claim}, which is gone: the rig changed under the scenario")
        source = claims[claim] if claim else node or {"metadata": {"labels": {}}}
        labels: Mapping[str, str] = source["metadata"]["labels"]
        return Placement(
            pool=labels.get("karpenter.sh/nodepool", ""),
            architecture=labels.get("kubernetes.io/arch", ""),
            capacity_type=labels.get("karpenter.sh/capacity-type", ""),
            claim=claim,
            node=on,
        )

    def _said(self, reason: str, *, first: bool = False) -> dict[str, str]:
        """Karpenter's last message (or first) of a kind on each pod."""
        by_uid = {item["metadata"]["uid"]: name for name, item in self._pods.items()}
        events = self.kube.list("v1", "Event", fields=f"reason={reason},involvedObject.kind=Pod")
        found: dict[str, str] = {}
        for event in sorted(events, key=_when, reverse=first):
            name = by_uid.get(event["involvedObject"].get("uid", ""))
            if name and "karpenter" in (event.get("reportingComponent"), event.get("source", {}).get("component")):
                found[name] = event["message"]
        return found

    def summary(self) -> str:
        """What is known of each pod, for an error's text."""
        said = self._said("FailedScheduling")
        rows = []
        for _, name in sorted(self.wanted):
            item = self._pods.get(name, {})
            node = item.get("spec", {}).get("nodeName")
            why = said.get(name) or condition(item, "PodScheduled").get("message") or "no word of it"
            rows.append(f"{name}: {node or why}")
        return "\n".join(rows)


def _named(message: str, kind: str) -> str:
    """``x-1`` of ``Pod should schedule on: nodeclaim/x-1, node/ip-…``; empty when there is no such part."""
    parts: Sequence[str] = message.rpartition(": ")[2].split(", ")
    return next((part.partition("/")[2] for part in parts if part.startswith(f"{kind}/")), "")


def incomplete(claims: Mapping[str, Object]) -> set[str]:
    """Return the names of NodeClaims of which Karpenter has not written all.

    It writes the labels of the instance in another request than the condition, both after the claim itself: a pod may
    run on another node before its own claim has a type.
    """
    return {
        name
        for name, item in claims.items()
        if not is_true(item, "Launched") or _TYPE not in item["metadata"].get("labels", {})
    }


def _made(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["creationTimestamp"])


def _when(event: Mapping[str, Any]) -> tuple[str, int]:
    # Times are in whole seconds; among events of one second the store's revision tells which came later.
    return _made(event), int(event["metadata"]["resourceVersion"])
