"""`make up` brings a stack's autoscaler along: release and objects, role, and the tags by which it finds things.

That a preview right afterwards is empty, tests/e2e/test_up.py sees of every stack.
"""

from __future__ import annotations

import pytest

from tests.autoscaling.chosen import chosen
from tests.e2e import aws as held
from tests.e2e.cluster_records import releases
from tests.e2e.world import World

pytestmark = pytest.mark.e2e


def test_the_cluster_autoscaler_finds_every_group_and_ranks_it_by_its_real_name(platform: World) -> None:
    stack = "checkout-dev"
    plan = platform.plan(stack)
    assert plan.autoscaling.cluster_autoscaler is not None
    wanted = dict(plan.autoscaling.cluster_autoscaler.tags)
    priorities = {row.group: row.priority for row in plan.autoscaling.cluster_autoscaler.priorities}
    text = releases(platform, stack)["cluster-autoscaler"]["values"]["expanderPriorities"]
    names = {}
    for group in plan.node_groups:
        there = held.group(platform.aws(stack), plan.cluster.name, group)
        assert dict(wanted[group.name]).items() <= held.pairs(there.scaling["Tags"]).items(), group.name
        names[there.scaling["AutoScalingGroupName"]] = group.name
    best = max(priorities.values())
    assert {names[name] for name in chosen(text, sorted(names))} == {n for n, p in priorities.items() if p == best}
