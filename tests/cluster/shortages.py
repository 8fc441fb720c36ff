"""Karpenter when a zone or spot capacity is lost: the same failure for ``capacity`` and for the real cluster.

The cluster is read as ``capacity --live`` reads it; then its nodes are taken away, and AWS rejects new ones. Each
workload has NodePools of its own and pods that fill a node, so no pod gets the room that is meant for another.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from multiarch.capacity.failures import Before, fail_nodes, settle_before
from multiarch.capacity.model import CapacityFailure
from multiarch.kubernetes.source import ClusterAccess
from multiarch.runs.workload_input import read_cluster, read_cluster_workloads
from multiarch.scheduling.pods import Pod
from multiarch.simulate.settled import NodeState
from multiarch.stack.model import Plan
from sandbox.aws.fleets import Shortage
from sandbox.cluster.kube import Object, condition, is_true
from sandbox.cluster.programs import wait_for
from tests.cluster import agreement
from tests.cluster.aws import REGION, ZONES
from tests.cluster.karpenter_prices import prices
from tests.cluster.karpenter_rounds import position, rounds
from tests.cluster.objects import pod, replica_set
from tests.cluster.rig import NODE_CLAIMS, Rig
from tests.simulate.simulated import pooled
from tests.stack.words import merged, plan

TIER = "example.com/tier"
_FULL_CPU = "3600m"
"""Maximum number of of a node of four vCPUs, the only size of the pools."""
_POKE_SECONDS = 0.5
_TIMEOUT = 60.0

Bought = Counter[tuple[str, str]]
"""New nodes by NodePool and instance type."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A workload with NodePools of its own: words of a NodePool, its pods, and what else they request."""

    pool: Mapping[str, Any]
    replicas: int
    spec: Mapping[str, Any] = field(default_factory=dict)
    memory: str = "2Gi"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Pods without a node by workload, and the nodes that came."""

    pending: Mapping[str, int]
    bought: Bought


class Play:
    """The workloads of ``tiers`` in a running rig, and what ``capacity`` says of each step."""

    def __init__(self, rig: Rig, tiers: Mapping[str, Tier]) -> None:
        """Apply the NodePools of all tiers."""
        self._rig = rig
        self._tiers = tiers
        self.plan = _plan(tiers)
        self._prices = prices(REGION, ZONES)
        agreement.apply_plan(rig, self.plan)

    def start(self) -> tuple[Outcome, Outcome]:
        """Create all workloads; return what ``capacity`` says becomes of them, and what does."""
        start = position(self._rig.controller.log)
        with self._rig.controller.paused():
            for name, tier in self._tiers.items():
                self._rig.kube.apply(_replica_set(name, tier))
            self._wait_until_judged()
            before = self._read()
        expected = _outcome(before.settled.nodes, before.settled.unplaced, ())
        return expected, self._settled(start, ())

    def lose(self, failure: CapacityFailure, *shortages: Shortage) -> tuple[Outcome, Outcome]:
        """Let something fail; return what ``capacity`` says of it, and what becomes of the real cluster."""
        there = {str(each["metadata"]["name"]) for each in self._rig.kube.list("v1", "Node")}
        after = fail_nodes(self._read(), failure)
        lost = {node.name for node in after.lost} & there
        start = position(self._rig.controller.log)
        self._rig.aws.controls.set_shortages(*shortages)
        with self._rig.controller.paused():
            self._rig.lose(lost)
            self._wait_until_judged()
        expected = _outcome(after.settled.nodes, after.pending, there)
        return expected, self._settled(start, there)

    def _read(self) -> Before:
        """The cluster as ``capacity --live`` sees it."""
        access = ClusterAccess(self._rig.plane.kubeconfig)
        given = read_cluster_workloads(self.plan, read_cluster(self.plan, access, images=False), prices=self._prices)
        return settle_before(self.plan, given.workloads.pods, given.context, nodes=given.nodes)

    def _pods(self) -> list[Object]:
        found = self._rig.kube.list("v1", "Pod", "default")
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def _wait_until_judged(self) -> None:
        wanted = sum(tier.replicas for tier in self._tiers.values())

        def judged() -> bool:
            found = self._pods()
            known = [each for each in found if each["spec"].get("nodeName") or condition(each, "PodScheduled")]
            return len(found) == len(known) == wanted

        wait_for(judged, "kube-scheduler to look at the pods", timeout=agreement.LONGEST_PAUSE_SECONDS, pause=0.05)

    def _settled(self, start: int, there: Collection[str]) -> Outcome:
        """Wait until all pods without a node were rejected in one round after ``start``; return what came.

        Karpenter looks at pods again when they change, or after ten seconds: it is not to be waited for.
        """
        poked = time.monotonic()
        pending: Counter[str] = Counter()

        def settled() -> bool:
            nonlocal poked, pending
            self._rig.check()
            waiting = [each for each in self._pods() if not each["spec"].get("nodeName")]
            names = {str(each["metadata"]["name"]) for each in waiting}
            ready = all(is_true(each, "Initialized") for each in self._rig.kube.list(*NODE_CLAIMS))
            last = rounds(self._rig.controller.log, start)[-1:]
            if ready and (not waiting or any(each.rejected == names and each.pods == len(names) for each in last)):
                pending = Counter(str(each["metadata"]["labels"]["app"]) for each in waiting)
                return True
            if time.monotonic() - poked > _POKE_SECONDS:
                poked = time.monotonic()
                for each in waiting:
                    named = {"apiVersion": "v1", "kind": "Pod", **each}
                    self._rig.kube.patch(named, {"metadata": {"annotations": {"example.com/poked": str(poked)}}})
            return False

        wait_for(settled, "the pods to have nodes", timeout=_TIMEOUT, pause=0.2)
        nodes = [each["metadata"] for each in self._rig.kube.list("v1", "Node")]
        labels = [each["labels"] for each in nodes if each["name"] not in there]
        bought = Counter((each["karpenter.sh/nodepool"], each["node.kubernetes.io/instance-type"]) for each in labels)
        return Outcome(pending, bought)


def _outcome(nodes: Iterable[NodeState], pending: Iterable[Pod], there: Collection[str]) -> Outcome:
    bought = Counter((node.group, node.instance_type) for node in nodes if node.name not in there)
    return Outcome(Counter(pod.owner.name for pod in pending if pod.owner), bought)


def _plan(tiers: Mapping[str, Tier]) -> Plan:
    pools = {
        name: {"sizes": ["xlarge"], "labels": {TIER: name}, "consolidateAfter": "Never", **tier.pool}
        for name, tier in tiers.items()
    }
    karpenter = {"autoscaling": {"karpenter": {"amiAlias": agreement.ami_alias()}}, "network": {"zones": list(ZONES)}}
    return plan(merged(pooled(pools), karpenter), region=REGION)


def _replica_set(name: str, tier: Tier) -> Object:
    template = pod(name, cpu=_FULL_CPU, memory=tier.memory, tolerates_arm64=True, nodeSelector={TIER: name})
    template["spec"] = merged(template["spec"], tier.spec)
    return replica_set(name, tier.replicas, template)
