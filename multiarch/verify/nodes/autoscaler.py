"""Whether an autoscaler that the cluster had before the stack leaves the stack's preference in effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from multiarch.autoscaling.model import AutoscalingPlan, ClusterAutoscalerPlan
from multiarch.autoscaling.owner_flags import find_wrong_flags, list_arguments
from multiarch.facts.architectures import Architecture
from multiarch.observed.eks.inside import read_pool
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


def judge_weights(pools: Iterable[Mapping[str, Any]], plan: AutoscalingPlan) -> Iterator[Finding]:
    """Yield a finding for each NodePool of others that gives pods amd64 nodes before the stack's give them arm64 ones.

    Karpenter takes pools of the same weight in reverse order of their names.
    Source: https://karpenter.sh/docs/concepts/nodepools/#specweight
    """
    if plan.order[0].architecture is not Architecture.ARM64:
        return
    arm64 = [each for each in plan.pools if Architecture.ARM64 in {kind.architecture for kind in each.capacities}]
    for pool in map(read_pool, pools):
        if pool.name in plan.pool_names or not pool.only_amd64 or pool.auto_mode is not (plan.auto_mode is not None):
            continue
        if after := [each for each in arm64 if (each.weight, each.name) < (pool.weight, pool.name)]:
            ours = ", ".join(f"{each.name} ({each.weight})" for each in after)
            text = f"the NodePool {pool.name} has the weight {pool.weight} and comes before {ours}: pods that "
            yield make_finding("pool-weight", f"{text}tolerate arm64 get amd64 nodes.")
