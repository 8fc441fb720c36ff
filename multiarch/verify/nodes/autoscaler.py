"""Whether an installed cluster autoscaler has the flags that the stack's priorities and groups need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from multiarch.autoscaling.model import ClusterAutoscalerPlan
from multiarch.autoscaling.owner_flags import find_wrong_flags, list_arguments
from multiarch.rules import Finding
from multiarch.verify.nodes.rules import make_finding


def judge_autoscaler(
    deployments: Iterable[Mapping[str, Any]], plan: ClusterAutoscalerPlan, cluster: str
) -> Iterator[Finding]:
    """Yield a finding for each wrong flag of each autoscaler among the Deployments, or one that there is none."""
    found = False
    for deployment in deployments:
        for arguments in list_arguments(deployment):
            found = True
            metadata = deployment["metadata"]
            for fault in find_wrong_flags(arguments, plan, cluster):
                yield make_finding("autoscaler-flags", f"{metadata['namespace']}/{metadata['name']}: {fault}.")
    if not found:
        yield make_finding("autoscaler-flags", "no Deployment runs the cluster autoscaler, which is said to be there.")
