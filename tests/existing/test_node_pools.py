"""What is read of NodePools that a cluster has, and what a stack beside them does by default."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.nodes.model import CapacityType
from multiarch.observed.eks.inside import read_pool
from tests.stack.test_existing_cluster import KARPENTER, NO_GROUPS, on_cluster
from tests.stack.words import plan

SPOT, ON_DEMAND = CapacityType.SPOT, CapacityType.ON_DEMAND
AUTO_MODE = {"use": "auto-mode", "autoMode": {"nodeRole": "nodes"}}


def node_pool(requirements: list[dict[str, Any]], spec: dict[str, Any], **template: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web"},
        "spec": {**spec, "template": {"spec": {"requirements": requirements, **template}}},
    }


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ["spot"], (SPOT,)),
        ("In", ["spot", "on-demand"], (ON_DEMAND, SPOT)),
        ("NotIn", ["spot"], (ON_DEMAND,)),
        ("Exists", [], (ON_DEMAND, SPOT)),
    ],
)
def test_capacity_types_follow_from_the_operator(
    operator: str, values: list[str], expected: tuple[CapacityType, ...]
) -> None:
    bought = {"key": "karpenter.sh/capacity-type", "operator": operator, "values": values}
    assert read_pool(node_pool([bought], {})).capacity_types == expected
    assert read_pool(node_pool([], {})).capacity_types == (ON_DEMAND,)


@pytest.mark.parametrize(("written", "cpus"), [("1k", 1000), ("100000m", 100), (64, 64), ("500m", None)])
def test_limits_are_quantities(written: object, cpus: int | None) -> None:
    found = read_pool(node_pool([], {"limits": {"cpu": written, "memory": "512Gi"}}))
    assert (found.cpu_limit, found.memory_limit) == (cpus, "512Gi")


def test_settings_that_a_stack_would_write_otherwise_are_named() -> None:
    usual = {"disruption": {"budgets": [{"nodes": "10%"}], "consolidationPolicy": "WhenEmptyOrUnderutilized"}}
    of_class = "image, disks and user data of its EC2NodeClass"
    assert read_pool(node_pool([], usual, expireAfter="720h")).settings == (of_class,)
    frozen = {"disruption": {"budgets": [{"nodes": "0"}], "consolidationPolicy": "WhenEmpty"}}
    found = read_pool(
        node_pool([], frozen, expireAfter="Never", startupTaints=[{"key": "a"}], terminationGracePeriod="1h")
    )
    assert found.settings == (
        "disruption.budgets",
        "disruption.consolidationPolicy",
        "expireAfter",
        "startupTaints",
        "terminationGracePeriod",
        of_class,
    )


@pytest.mark.parametrize("autoscaling", [KARPENTER, AUTO_MODE])
def test_pools_beside_those_of_the_cluster_are_arm64_unless_the_file_says_otherwise(
    autoscaling: dict[str, Any],
) -> None:
    made = plan({**on_cluster(autoscaling=autoscaling), **NO_GROUPS}).autoscaling.pools
    assert {str(each) for pool in made for each in pool.capacities} == {"arm64-spot", "arm64-on-demand"}
