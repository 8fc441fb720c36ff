"""How long pods wait for another node after theirs has failed.

Sources: kube-controller-manager's ``--node-monitor-grace-period`` (50 s since Kubernetes 1.32, 40 s before) and
``--node-eviction-rate`` (0.1 nodes per second and zone), which EKS leaves at their defaults;
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions; cluster autoscaler,
``--scan-interval`` (10 s); Karpenter, ``BATCH_MAX_DURATION`` (10 s).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan


@dataclass(frozen=True, slots=True)
class Waits:
    """Assumptions, in seconds.

    ``detection``: until a node that does not report gets the taint ``unreachable``; ``toleration``: how long pods
    without a toleration of their own stay on it; ``per_node``: between the taints of two nodes of one zone;
    ``scale_up``: until the autoscaler acts; ``replacement``: until an Auto Scaling group replaces a failed instance;
    ``node_start``: until a new node is ready.
    """

    detection: int = 50
    toleration: int = 300
    per_node: int = 10
    scale_up: int = 10
    replacement: int = 300
    node_start: int = 90

    def eviction(self, toleration: int, nodes: int) -> int:
        """Until pods of the last of ``nodes`` failed nodes of a zone are deleted, and their controllers make others."""
        return self.detection + max(nodes - 1, 0) * self.per_node + toleration

    def added(self, eviction: int, plan: AutoscalingPlan) -> int:
        """Until a node is ready that the autoscaler adds for pods that were evicted then."""
        delay = plan.cluster_autoscaler.scale_up_delay_seconds if plan.cluster_autoscaler else 0
        slow = delay if plan.use is Autoscaler.CLUSTER_AUTOSCALER else 0
        return eviction + slow + self.scale_up + self.node_start

    def replaced(self, eviction: int) -> int:
        """Until a node that replaces a failed one has pods."""
        return max(eviction, self.replacement + self.node_start)

    def described(self) -> Iterator[str]:
        """Yield a sentence for each assumption."""
        yield (
            f"A failed node counts as unreachable after {self.detection} s, and the nodes of a zone one every "
            f"{self.per_node} s. Its pods stay for their tolerationSeconds, {self.toleration} s without a toleration "
            "of their own; then their controllers create new ones."
        )
        yield (
            f"The autoscaler acts {self.scale_up} s later, an Auto Scaling group replaces a failed instance after "
            f"{self.replacement} s, and a new node is ready {self.node_start} s after that. The start of the pods "
            "themselves is not counted."
        )


USUAL_WAITS = Waits()
