"""What pods on amd64 nodes would cost on arm64 nodes: the fallback, and the workloads that can't run there yet."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from multiarch.cost.arm64 import HOW_COMPARED, compute_arm64_costs
from multiarch.cost.model import CostReport
from multiarch.manifests.owners import WorkloadKey
from multiarch.nodes.model import CapacityType
from tests.cost.priced import HOURS, PRICING, node, pods, reason
from tests.scheduling.manifests import container, expression, required, workload
from tests.simulate.simulated import pooled
from tests.stack.words import plan

API = WorkloadKey("shop", "Deployment", "api")
OLD = WorkloadKey("shop", "Deployment", "old")


def half(name: str, count: int = 1, **spec: Any) -> dict[str, Any]:
    """Pods that request half of a large node's CPU."""
    return workload(
        "Deployment", name, pod={"containers": [container({"cpu": "1", "memory": "1Gi"})], **spec}, replicas=count
    )


def compared(words: dict[str, Any], *documents: dict[str, Any], on: str = "m7i.large", **more: Any) -> CostReport:
    """The pods of the documents, all on one amd64 node of the group web."""
    there = [node("web", on, *pods(*documents), **more)]
    return compute_arm64_costs(plan(words), PRICING, there, {API: (), OLD: ("image shop/old:1",)})


def of_arm(cpu_share: Decimal) -> Decimal:
    """What a part of an m7g.large costs."""
    return HOURS * Decimal("0.1") * cpu_share


def test_pods_that_may_run_on_arm64_cost_the_difference() -> None:
    found = compared({}, half("api", 2))
    # An m7g.large has 1,930m of CPU for pods.
    expected = HOURS * Decimal("0.12") - 2 * of_arm(Decimal(1000) / 1930)
    assert isinstance(found.fallback, Decimal)
    assert abs(found.fallback - expected) < Decimal("0.000001")
    assert (found.savings, found.notes[-1]) == ((), HOW_COMPARED)


def test_blocked_workloads_are_sorted_by_what_they_would_save() -> None:
    blocked = {API: ("image api:1",), OLD: ("image old:1", "affinity: x")}
    there = [node("web", "m7i.large", *pods(half("api"))), node("web", "m7i.large", *pods(half("old", 2)))]
    found = compute_arm64_costs(plan(), PRICING, there, blocked)
    assert found.fallback == 0
    assert [(each.workload, each.pods, each.blockers) for each in found.savings] == [
        ("Deployment/old", 2, ("image old:1", "affinity: x")),
        ("Deployment/api", 1, ("image api:1",)),
    ]
    first, second = (each.monthly for each in found.savings)
    assert isinstance(first, Decimal)
    assert isinstance(second, Decimal)
    assert abs(first - 2 * second) < Decimal("0.000001")


def test_unknown_workloads_are_counted_and_if_no_other_is_on_amd64_the_amount_is_unknown() -> None:
    there = [node("web-arm", "m7g.large", *pods(half("api"))), node("web", "m7i.large", *pods(half("other")))]
    found = compute_arm64_costs(plan(), PRICING, there, {API: ()})
    assert reason(found.fallback) == "the workloads of pods on amd64 nodes were not found"
    assert found.notes[-1].endswith("not compared: 1.")


def test_a_pod_that_no_arm64_node_takes_has_no_amount() -> None:
    without = compared({"nodeGroups": {"web-arm": None}}, half("old"))
    assert reason(without.savings[0].monthly) == "the stack has no arm64 node group or NodePool"
    large = compared({}, workload("Deployment", "old", pod={"containers": [container({"cpu": "3"})]}), on="m7i.xlarge")
    assert reason(large.savings[0].monthly) == "no arm64 node of the stack takes pods of Deployment/old"
    tiers: dict[str, Any] = {"nodeGroups": {"web-arm": {"labels": {"example.com/tier": "a"}}}}
    labelled = compared(tiers, half("old", nodeSelector={"example.com/tier": "b"}))
    assert reason(labelled.savings[0].monthly) == "no arm64 node of the stack takes pods of Deployment/old"


@pytest.mark.parametrize(
    "rule",
    [
        {"nodeSelector": {"kubernetes.io/arch": "amd64"}},
        {"affinity": required([expression("kubernetes.io/arch", "NotIn", "arm64")])},
        {"affinity": required([expression("kubernetes.io/os", "In", "linux")])},
    ],
)
def test_what_asks_for_amd64_does_not_count_against_arm64(rule: dict[str, Any]) -> None:
    found = compared({}, half("old", **rule))
    assert isinstance(found.savings[0].monthly, Decimal)


def test_nodes_of_the_same_capacity_type_and_size_are_compared() -> None:
    words = pooled({"general": {"families": ["m7g", "m7i"]}})
    there = [node("general-amd64-on-demand", "m7i.large", *pods(half("old")), capacity=CapacityType.ON_DEMAND)]
    found = compute_arm64_costs(plan(words), PRICING, there, {OLD: ("image old:1",)})
    amount = found.savings[0].monthly
    assert isinstance(amount, Decimal)
    # On-demand, although the pool of spot nodes comes first and is cheaper; m7g.large, although others take it too.
    expected = HOURS * Decimal("0.12") / 2 - of_arm(Decimal(1000) / 1930)
    assert abs(amount - expected) < Decimal("0.000001")
