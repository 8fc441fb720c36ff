"""Names that ``multiarch rebalance`` writes in a cluster, or reads there."""

from __future__ import annotations

CORDON_ANNOTATION = "multiarch-eks/rebalance-run"
"""On a Node that a run has cordoned: the run and the time, as ``RUN 2026-11-22T13:00:00Z``."""
OPT_OUT_ANNOTATION = "multiarch-eks/rebalance"
"""On a pod: :data:`OFF` leaves it where it is."""
OFF = "off"
LEASE = "multiarch-rebalance"
LEASE_NAMESPACE = "kube-system"
"""One Lease in a cluster: runs on laptops and of CronJobs exclude each other."""
SET_ASIDE_ANNOTATION = "multiarch-eks/set-aside"
"""On the Lease, as JSON: when a workload's pod came back to amd64 or did not become ready, by workload."""
PLACEHOLDER_NAMESPACE = "multiarch-rebalance"
"""Where a run creates the pods that make an autoscaler add arm64 nodes."""
PLACEHOLDER_LABEL = "multiarch-eks/rebalance-placeholder"
"""On these pods, with the run as its value."""
