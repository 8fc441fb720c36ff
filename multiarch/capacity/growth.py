"""To which sizes groups would have to grow so that the pods without a node get one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from multiarch.capacity.failing import After, Before, placed_again
from multiarch.facts.instance_types import instance_types


def sizes_needed(before: Before, after: After) -> Mapping[str, int]:
    """Simulate ``after`` once more without maxSize and without limits of NodePools.

    Return, for those that grow beyond theirs, the number of nodes of a node group and the vCPUs of a NodePool.
    """
    plan = before.plan
    more = len(after.settled.unplaced)
    groups = tuple(
        replace(group, sizes=replace(group.sizes, maximum=group.sizes.maximum + more)) for group in plan.node_groups
    )
    autoscaling, karpenter = plan.autoscaling, plan.autoscaling.karpenter
    if karpenter is not None:
        # A limit of 0 closes a pool while a migration removes it.
        pools = tuple(
            pool if pool.cpu_limit == 0 else replace(pool, cpu_limit=None, memory_limit=None)
            for pool in karpenter.pools
        )
        autoscaling = replace(autoscaling, karpenter=replace(karpenter, pools=pools))
    relaxed = replace(before, plan=replace(plan, node_groups=groups, autoscaling=autoscaling))
    nodes = placed_again(relaxed, after).nodes
    sizes = Counter(node.group for node in nodes)
    needed = {each.name: sizes[each.name] for each in plan.node_groups if sizes[each.name] > each.sizes.maximum}
    for pool in karpenter.pools if karpenter else ():
        types = [node.instance_type for node in nodes if node.group == pool.name]
        cpus = sum(instance_types()[name].vcpus for name in types if name in instance_types())
        if pool.cpu_limit and cpus > pool.cpu_limit:
            needed[pool.name] = cpus
    return needed
