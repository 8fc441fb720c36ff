"""Whether an installed cluster autoscaler has the flags that the stack's priorities and groups need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from multiarch.autoscaling.model import ClusterAutoscalerPlan
from multiarch.autoscaling.owner_flags import find_wrong_flags
from multiarch.rules import Finding
from multiarch.verify.nodes.rules import make_finding

_PROGRAM = "cluster-autoscaler"


def judge_autoscaler(
    deployments: Iterable[Mapping[str, Any]], plan: ClusterAutoscalerPlan, cluster: str
) -> Iterator[Finding]:
    """Yield a finding for each wrong flag of each autoscaler among the Deployments, or one that there is none."""
    found = False
    for deployment in deployments:
        for container in deployment["spec"]["template"]["spec"].get("containers") or ():
            words = [str(each) for key in ("command", "args") for each in container.get(key) or ()]
            if not words or words[0].rpartition("/")[2] != _PROGRAM:
                continue
            found = True
            metadata = deployment["metadata"]
            for fault in find_wrong_flags(words[1:], plan, cluster):
                yield make_finding("autoscaler-flags", f"{metadata['namespace']}/{metadata['name']}: {fault}.")
    if not found:
        yield make_finding("autoscaler-flags", "no Deployment runs the cluster autoscaler, which is said to be there.")
