"""``multiarch capacity --recommend``: the patch, what ``--write`` leaves, prices, headroom, and bad input."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import type_of_run
from tests.cli.test_capacity import STACK, budget, deployment, written

FILE = "config/stacks/Pulumi.shop-dev.yaml"
COMMENTED = STACK.replace(
    "maxSize: 2, onePerZone: true}\n    graviton", "maxSize: 2, onePerZone: true} # why\n    graviton"
)
ASKED = ("--failure", "zone=a", "--failure", "zone=b", "--failure", "zone=c", "--recommend")
PRICES = {
    "version": "1",
    "kind": "prices",
    "regions": {
        "eu-west-1": {
            "currency": "USD",
            "fetchedAt": "2026-11-20T00:00:00Z",
            "withSpot": False,
            "perHour": {"cluster": None, "extendedSupport": None, "natGateway": None},
            "onDemandPerHour": {"m7i.large": "0.1", "m7g.large": "0.08"},
            "spotPerHour": {},
            "ambiguous": [],
        }
    },
}


@pytest.fixture(autouse=True)
def _stack(clone: Path) -> None:
    (clone / FILE).write_text(COMMENTED, encoding="utf-8")


def legacy() -> str:
    return written(deployment("legacy", 6), budget("legacy", minAvailable=5))


def test_the_patch_applies_and_the_stack_keeps_every_minimum_then(run: type_of_run) -> None:
    file = legacy()
    ran = run("capacity", "shop-dev", "--manifests", file, *ASKED)
    assert ran.code == 1
    assert f"Recommended for {FILE}: 6 vCPU more at most" in ran.out
    assert "--write writes this change." in ran.err
    assert Path(FILE).read_text() == COMMENTED
    patch = ran.out[ran.out.index("--- a/") :]
    subprocess.run(["git", "apply", "-"], input=patch, text=True, check=True)
    assert Path(FILE).read_text() == COMMENTED.replace(
        "maxSize: 2, onePerZone: true} # why", "maxSize: 3, onePerZone: true} # why"
    )
    after = run("capacity", "shop-dev", "--manifests", file, *ASKED)
    assert (after.code, after.err) == (0, "")
    assert f"{FILE} needs no change: every workload keeps its minimum." in after.out


def test_json_has_the_change_its_cost_and_what_it_does_not_solve(run: type_of_run) -> None:
    file = legacy()
    asked = ("capacity", "shop-dev", "--manifests", file, *ASKED, "--failure", "architecture=amd64", "-o", "json")
    found = run(*asked).json["recommendation"]
    assert (found["file"], found["written"]) == (FILE, False)
    assert found["changes"] == [{"key": "nodeGroups.general.maxSize", "old": 2, "new": 3}]
    assert found["patch"].startswith(f"--- a/{FILE}\n+++ b/{FILE}\n@@")
    assert (found["unit"], found["unknown"]) == ("vCPU", "no prices were given")
    assert found["cost"] == found["bound"] == {"always": "0", "atMost": "6"}
    (unsolved,) = found["unsolved"]
    assert (unsolved["failure"]["name"], unsolved["workload"]["name"]) == ("all amd64", "Deployment/legacy")
    assert "amd64" in unsolved["workload"]["limit"]
    assert "multiarch workload patch --manifests FILE --tolerate arm64" in unsolved["workload"]["change"]


def test_what_is_not_solved_in_several_failures_is_one_line_with_its_reason(run: type_of_run) -> None:
    classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    file = written(
        classes,
        deployment("huge", 2, nodeSelector={"disk": "nvme"}),
        deployment("few", 1),
        budget("few", minAvailable=2),
    )
    ran = run("capacity", "shop-dev", "--manifests", file, "--failure", "zone=a", "--failure", "zone=b", "--recommend")
    lines = ran.out.splitlines()
    few, huge = lines[lines.index("Not solved by sizes, limits and zones") + 1 :][:2]
    assert few == (
        "- nothing fails: shop Deployment/few: 1 pod, minimum 2 (PodDisruptionBudget shop/few: minAvailable 2); "
        "likewise: zone eu-west-1a, zone eu-west-1b"
    )
    assert huge.startswith("- nothing fails: shop Deployment/huge: ")
    assert huge.endswith("; likewise: zone eu-west-1a, zone eu-west-1b")
    assert "PriorityClass" not in ran.out


def test_prices_decide_where_they_are_given(run: type_of_run) -> None:
    Path("prices.json").write_text(json.dumps(PRICES), encoding="utf-8")
    ran = run("capacity", "shop-dev", "--manifests", legacy(), *ASKED, "--prices", "prices.json")
    assert f"Recommended for {FILE}: USD 219.00 more a month at most" in ran.out


def test_headroom_is_written_for_the_pods_that_move(run: type_of_run) -> None:
    file = written(deployment("legacy", 3))
    ran = run("capacity", "shop-dev", "--manifests", file, *ASKED[:-1], "--headroom", "headroom.yaml")
    assert ran.code == 0
    assert ran.err == (
        "headroom.yaml: amd64: 1 placeholder pod of 1 CPU and 1Gi for the pods that move (zone eu-west-1a), and 1 more "
        "for those in the zone that fails.\n"
    )
    simulated = run("simulate", "shop-dev", "--manifests", "headroom.yaml", "-o", "json").json
    assert [each["name"] for each in simulated["workloads"]] == ["Deployment/headroom-amd64"]
    ran = run("capacity", "shop-dev", "--manifests", file, "--failure", "spot=arm64", "--headroom", "none.yaml")
    assert "none.yaml was not written: no pods move" in ran.err
    assert not Path("none.yaml").exists()


def test_sizes_that_the_stack_does_not_allow_are_rejected(run: type_of_run) -> None:
    small = COMMENTED.replace("network: {zones", "network: {cidr: 10.0.0.0/21, zones")
    Path(FILE).write_text(small, encoding="utf-8")
    ran = run("capacity", "shop-dev", "--manifests", written(deployment("legacy", 60)), *ASKED, "--write")
    assert ran.code == 2
    assert "error: The stack does not allow what would help (nodeGroups.general.maxSize " in ran.err
    assert "addresses, and its nodes with all their pods need" in ran.err
    assert Path(FILE).read_text() == small


def test_a_value_that_is_merged_in_is_overridden_where_it_counts(run: type_of_run) -> None:
    merged = COMMENTED.replace(
        "    general: {instanceTypes: [m7i.large], minSize: 0, maxSize: 2, onePerZone: true} # why\n",
        "    spare: &spare {instanceTypes: [m7a.large], minSize: 0, maxSize: 1, onePerZone: true}\n"
        "    general: {<<: *spare, instanceTypes: [m7i.large]}\n",
    )
    Path(FILE).write_text(merged, encoding="utf-8")
    ran = run("capacity", "shop-dev", "--manifests", legacy(), *ASKED, "--write")
    assert ran.code == 0
    assert Path(FILE).read_text() == merged.replace("[m7i.large]}\n", "[m7i.large], maxSize: 2}\n")


def test_a_search_that_ends_early_says_what_a_change_costs_at_least(run: type_of_run) -> None:
    file = written(deployment("legacy", 21), budget("legacy", minAvailable=20))
    ran = run("capacity", "shop-dev", "--manifests", file, *ASKED, "--search-time", "0")
    assert ran.code == 1
    assert "A cheaper change may exist, but none below" in ran.out
    assert "The search ends after 0 s; --search-time changes that." in ran.out
    found = run("capacity", "shop-dev", "--manifests", file, *ASKED)
    assert "A cheaper change" not in found.out
