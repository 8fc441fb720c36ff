"""The cluster's Kubernetes version before and after a change."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.review.model import Operation, StackChange
from multiarch.review.properties import get_after, get_before, list_resources

CLUSTER = "aws:eks/cluster:Cluster"


@dataclass(frozen=True, slots=True)
class VersionChange:
    """Two different Kubernetes minors, such as ``1.35``, and the cluster that changes."""

    before: str
    after: str
    urns: tuple[str, ...]


def get_version_change(change: StackChange) -> VersionChange | None:
    """Return how the version changes; None if it does not, or if the cluster is new or deleted.

    The preview says it; where it failed before the cluster, or there is none, the plans do.
    """
    for step in list_resources(change.preview.steps, CLUSTER):
        if step.operation not in (Operation.UPDATE, Operation.REPLACE):
            return None
        old, new = get_before(step, "version"), get_after(step, "version")
        if isinstance(old, str) and isinstance(new, str) and old != new:
            return VersionChange(old, new, (step.urn,))
        return None
    plans = change.plans
    if change.preview.is_complete or plans is None:
        return None
    old, new = (plan.cluster.version for plan in plans)
    return None if old == new else VersionChange(old, new, ())
