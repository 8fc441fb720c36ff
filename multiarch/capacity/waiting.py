"""How long pods wait for another node after theirs has failed, in seconds.

Sources: kube-controller-manager's ``--node-monitor-grace-period`` (50 s since Kubernetes 1.32, 40 s before) and
``--node-eviction-rate`` (0.1 nodes per second and zone), which EKS leaves at their defaults;
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions; cluster autoscaler,
``--scan-interval`` (10 s); Karpenter, ``BATCH_MAX_DURATION`` (10 s).
"""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan

DETECTION = 50
"""Until a node that does not report gets the taint ``unreachable``."""
TOLERATION = 300
"""How long pods without a toleration of their own stay on it."""
PER_NODE = 10
"""Between the taints of two nodes of one zone."""
SCALE_UP = 10
"""Until the autoscaler acts."""
REPLACEMENT = 300
"""Until an Auto Scaling group replaces a failed instance."""
NODE_START = 90
"""Until a new node is ready, unless another time is given."""


def estimate_eviction(toleration: int, nodes: int) -> int:
    """Estimate when pods of the last of ``nodes`` failed nodes of a zone are deleted and replaced."""
    return DETECTION + max(nodes - 1, 0) * PER_NODE + toleration


def estimate_added_node(evicted: int, plan: AutoscalingPlan, node_start: int) -> int:
    """Estimate when a node is ready that the autoscaler adds for pods that were evicted then."""
    delay = plan.cluster_autoscaler.scale_up_delay_seconds if plan.cluster_autoscaler else 0
    slow = delay if plan.use is Autoscaler.CLUSTER_AUTOSCALER else 0
    return evicted + slow + SCALE_UP + node_start


def estimate_replaced_node(evicted: int, node_start: int) -> int:
    """Estimate when a node that replaces a failed one has pods."""
    return max(evicted, REPLACEMENT + node_start)


def describe_waits(node_start: int) -> Iterator[str]:
    """Yield a sentence for each assumption."""
    yield (
        f"A failed node counts as unreachable after {DETECTION} s; in a failed zone, one more node every {PER_NODE} s. "
        f"Its pods stay for their tolerationSeconds, {TOLERATION} s without a toleration of their own; then their "
        "controllers create new ones."
    )
    yield (
        f"The autoscaler acts {SCALE_UP} s later, an Auto Scaling group replaces a failed instance after {REPLACEMENT} "
        f"s, and a new node is ready {node_start} s after that. The start of the pods themselves is not counted."
    )
