"""Which limit keeps pods pending, in words, and what would help."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.capacity.model import CapacityFailure, WorkloadResult
from multiarch.capacity.workloads import ImageSupport
from multiarch.facts.architectures import Architecture
from tests.capacity.evaluated import B, in_failure, of, report
from tests.scheduling.manifests import ZONES
from tests.simulate.simulated import NONE, TOLERANT, grown, pods, pooled
from tests.stack.words import merged

ZONE = "topology.kubernetes.io/zone"
BOTH = {
    "general": {"instanceTypes": ["m7i.large"], "onePerZone": True, "maxSize": 2},
    "graviton": {"instanceTypes": ["m7g.large"], "onePerZone": True, "maxSize": 2},
}


def pending(words: dict[str, Any], *documents: object, failure: CapacityFailure, **more: Any) -> WorkloadResult:
    (result,) = report(words, *documents, failures=[failure], **more).failures
    found = of(result)
    assert found.pending
    return found


def test_groups_for_which_a_pod_is_too_large_are_named_together() -> None:
    words = grown({"amd": {"instanceTypes": ["m7i.large"], "onePerZone": True}})
    found = of(report(words, pods(cpu="60"), failures=[]).without_failure)
    assert found.limit.startswith("amd-a, amd-b, amd-c: too large for an empty node: cpu: 60 requested")


def test_the_limit_names_architecture_failure_nodes_and_pods_as_a_person_would() -> None:
    found = pending(grown(BOTH), pods(count=6), failure=CapacityFailure(zones=(B,)))
    assert found.limit == (
        "amd64 only (does not tolerate arch=arm64:NoSchedule); without zone eu-west-1b at most 4 amd64 nodes can take "
        "it (general-a, general-c: at its maxSize 2); 4 of 6 pods run"
    )
    assert found.change == (
        "raise nodeGroups.general.maxSize from 2 to 3; or if its images run on arm64: "
        "`multiarch workload patch --manifests FILE --tolerate arm64`"
    )


def test_each_reason_that_leaves_one_architecture_is_named_with_its_groups() -> None:
    groups = {
        "general": {"instanceTypes": ["m7i.large"], "labels": {"disk": "fast"}, "maxSize": 1},
        "graviton": {"instanceTypes": ["m7g.large"], "labels": {"disk": "fast"}, "maxSize": 1},
        "untainted": {"instanceTypes": ["m7g.large"], "arm64Taint": False, "maxSize": 1},
    }
    found = pending(
        grown(groups), pods(count=2, nodeSelector={"disk": "fast"}), failure=CapacityFailure(largest_nodes=1)
    )
    assert found.limit.startswith(
        "amd64 only (graviton: does not tolerate arch=arm64:NoSchedule; untainted: nodeSelector requires disk=fast); "
    )


@pytest.mark.parametrize(
    ("failure", "without"),
    [
        (CapacityFailure(architectures=(Architecture.ARM64,)), "without arm64 nodes at most 6 amd64 nodes can take it"),
        (CapacityFailure(groups=("graviton-a", "graviton-b", "graviton-c")), "at most 6 amd64 nodes can take it"),
    ],
)
def test_arm64_is_not_what_helps_while_it_is_lost(failure: CapacityFailure, without: str) -> None:
    words = merged(grown(BOTH), {"nodeGroups": {"graviton": {"minSize": 1}}})
    found = pending(words, pods(count=8), failure=failure)
    assert without in found.limit
    assert found.change == "raise nodeGroups.general.maxSize from 2 to 3"


@pytest.mark.parametrize(
    ("failure", "change"),
    [
        (CapacityFailure(architectures=(Architecture.ARM64,)), "let it run on amd64 nodes too, if its images do"),
        (CapacityFailure(groups=("graviton-a", "graviton-b", "graviton-c")), "add a node group that its pods can use"),
    ],
)
def test_where_no_size_helps_other_nodes_do(failure: CapacityFailure, change: str) -> None:
    words = merged(grown(BOTH), {"nodeGroups": {"graviton": {"minSize": 1}}})
    arm64 = pods(nodeSelector={"kubernetes.io/arch": "arm64"}, **TOLERANT)
    assert pending(words, arm64, failure=failure).change.startswith(change)


def test_the_size_that_is_named_is_enough() -> None:
    groups = merged(BOTH, {"general": {"maxSize": 3}})
    assert of(in_failure(report(grown(groups), pods(count=6)), f"zone {B}")).pending == 0


def test_a_pod_that_requires_a_lost_zone_is_led_to_other_zones() -> None:
    found = pending(grown(BOTH), pods(nodeSelector={ZONE: B}), failure=CapacityFailure(zones=(B,)))
    assert "requires zone eu-west-1b" in found.limit
    assert found.change == "let it run in other zones than eu-west-1b"


def test_images_without_a_build_are_named() -> None:
    images = {("shop", "Deployment/api"): ImageSupport(unsupported=(("shop/api:1", Architecture.ARM64),))}
    found = pending(
        grown(BOTH), pods(**TOLERANT), failure=CapacityFailure(architectures=(Architecture.AMD64,)), images=images
    )
    assert found.architectures == (Architecture.AMD64,)
    assert found.limit.startswith("amd64 only (shop/api:1 has no arm64 build)")
    assert found.change == "build shop/api:1 for arm64"


def test_pods_that_tolerate_arm64_without_such_an_image_are_warned_about() -> None:
    images = {
        ("shop", "Deployment/api"): ImageSupport(
            unsupported=(("shop/api:1", Architecture.ARM64),), unknown=(("shop/side:1", "it could not be read"),)
        ),
        ("shop", "Deployment/web"): ImageSupport(unsupported=(("shop/web:1", Architecture.ARM64),)),
    }
    found = report(grown(BOTH), pods(**TOLERANT), pods("web"), images=images, failures=[])
    assert found.warnings == (
        "shop Deployment/api: it is unknown which architectures shop/side:1 supports: it could not be read.",
        (
            "shop Deployment/api: its pods may be scheduled to arm64 nodes, where shop/api:1 does not run. `multiarch "
            "workload patch --manifests FILE --require amd64` prevents it; here they are kept off."
        ),
    )


def test_an_image_for_neither_architecture_fits_nowhere() -> None:
    unsupported = tuple(("shop/api:1", each) for each in Architecture)
    found = report(grown(BOTH), pods(), images={("shop", "Deployment/api"): ImageSupport(unsupported)}, failures=[])
    assert of(found.without_failure).pending == 1
    assert of(found.without_failure).architectures == ()


def test_the_limit_of_a_node_pool_is_raised_by_its_key() -> None:
    pool = {"capacityTypes": ["on-demand"], "architectures": ["amd64"], "sizes": ["large"], "cpuLimit": 4}
    result = of(report(pooled({"general": pool}), pods(count=6, cpu="1500m"), failures=[]).without_failure)
    assert result.pending == 2
    assert "general-amd64-on-demand: limit cpu 4 reached" in result.limit
    assert result.change.startswith("raise autoscaling.karpenter.nodePools.general.cpuLimit from 4 to 8")


def test_a_memory_limit_is_raised_by_its_key() -> None:
    pool = {"capacityTypes": ["on-demand"], "architectures": ["amd64"], "sizes": ["large"], "memoryLimit": "9Gi"}
    result = of(report(pooled({"general": pool}), pods(count=6, cpu="1500m"), failures=[]).without_failure)
    assert "limit memory 9Gi reached" in result.limit
    assert result.change.startswith("raise autoscaling.karpenter.nodePools.general.memoryLimit")


def test_without_an_autoscaler_the_desired_size_helps() -> None:
    words = merged(NONE, {"nodeGroups": {"amd": {"instanceTypes": ["m7i.large"], "minSize": 2, "maxSize": 3}}})
    result = of(report(words, pods(count=3), failures=[]).without_failure)
    assert result.limit == "amd: no room left on its 2 nodes, and no autoscaler adds nodes; 2 of 3 pods run"
    assert result.change == "raise nodeGroups.amd.desiredSize; or use an autoscaler"


APART: dict[str, Any] = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "api"}}}
            ]
        }
    }
}
POOL = {"capacityTypes": ["on-demand"], "architectures": ["amd64"], "sizes": ["large"]}


@pytest.mark.parametrize("words", [grown(BOTH), pooled({"general": POOL})])
@pytest.mark.parametrize("zone", ZONES)
def test_topology_rules_that_a_failure_makes_unsatisfiable_are_named(words: dict[str, Any], zone: str) -> None:
    found = pending(words, pods(count=len(ZONES), cpu="1500m", **APART), failure=CapacityFailure(zones=(zone,)))
    assert "pod anti-affinity term 1" in found.limit
    assert found.change.startswith("prefer the topology rule instead of requiring it")


def test_groups_that_are_lost_are_called_so_and_led_to_other_zones() -> None:
    words = grown({"general": {"instanceTypes": ["m7i.large"], "zones": [B]}})
    found = pending(words, pods(), failure=CapacityFailure(zones=(B,)))
    assert found.limit == "lost: general; 0 of 1 pods run"
    assert found.change == "let nodeGroups.general.zones have another zone"


@pytest.mark.parametrize("requests", [{}, {"cpu": "1"}])
def test_missing_requests_are_named(requests: dict[str, str]) -> None:
    manifest = pods()
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": requests}
    found = report(grown(BOTH), manifest, failures=[])
    assert (
        "shop Deployment/api: without a request for CPU or memory, which counts as 0. Defaults of a LimitRange are not "
        "read."
    ) in found.assumptions


def test_other_schedulers_are_named() -> None:
    found = report(grown(BOTH), pods(schedulerName="batch"), failures=[])
    assert found.warnings == ("shop Deployment/api: not checked: scheduler batch: its own rules.",)


def test_it_is_said_where_karpenter_plans_a_node_in_the_lost_zone_only() -> None:
    selector = {"matchLabels": {"app": "api"}}
    rule = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    words = pooled({"general": {"capacityTypes": ["on-demand"], "architectures": ["arm64"], "sizes": ["large"]}})
    arm64: dict[str, Any] = {**TOLERANT, "nodeSelector": {"kubernetes.io/arch": "arm64"}}
    found = pending(
        words,
        pods(count=3, cpu="1600m", topologySpreadConstraints=[rule], **arm64),
        failure=CapacityFailure(zones=(B,)),
    )
    where = f"Karpenter takes the zone with the fewest pods, {B}, where no nodes are available"
    assert f"general-arm64-on-demand: topology spread: {where}; 2 of 3 pods run" in found.limit
    assert found.change.startswith("prefer the topology rule instead of requiring it")
