"""``multiarch capacity``: tables, JSON, exit codes, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CLONE
from tests.cli.running import type_of_run

STACK = """\
config:
  aws:region: eu-west-1
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "1"
  multiarch-eks:network: {zones: [eu-west-1a, eu-west-1b, eu-west-1c]}
  multiarch-eks:nodeGroups:
    general: {instanceTypes: [m7i.large], minSize: 0, maxSize: 2, onePerZone: true}
    graviton: {instanceTypes: [m7g.large], minSize: 0, maxSize: 2, onePerZone: true}
  multiarch-eks:autoscaling: {use: cluster-autoscaler}
"""
ARM64 = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


def deployment(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    requests = {"cpu": "1", "memory": "1Gi"}
    containers = [{"name": "main", "image": f"localhost:1/{name}:1", "resources": {"requests": requests}}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "template": template},
    }


def budget(name: str, **limits: object) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": name}}, **limits}
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


@pytest.fixture(autouse=True)
def _stack(clone: Path) -> None:
    (clone / "config" / "stacks" / "Pulumi.shop-dev.yaml").write_text(STACK, encoding="utf-8")


def written(*objects: dict[str, Any]) -> str:
    Path("apps.json").write_text(json.dumps({"kind": "List", "items": list(objects)}), encoding="utf-8")
    return "apps.json"


def test_what_is_short_comes_first_with_its_limit_and_what_helps(run: type_of_run) -> None:
    file = written(deployment("legacy", 6), deployment("api", 2, tolerations=[ARM64]), budget("legacy", minAvailable=5))
    ran = run("capacity", "shop-dev", "--manifests", file)
    assert ran.code == 1
    assert ran.err.splitlines()[-1] == (
        "2 workloads short of the minimum in a failure. --recommend looks for the cheapest change of the stack file."
    )
    lines = ran.out.splitlines()
    assert (
        lines[0]
        == "shop-dev, cluster-autoscaler: 2 workloads, 8 pods; 12 failures, 8 with a workload short of its minimum"
    )
    start = lines.index("Workloads, what is short first")
    assert lines[start + 1].split() == ["workload", "pods", *"12345678", "10", "11", "12"]
    assert lines[start + 3].split()[:4] == ["shop", "Deployment/legacy", "6", "-2!"]
    assert "shop Deployment/legacy: 6 pods, minimum 5 (PodDisruptionBudget shop/legacy: minAvailable 5)" in lines
    limit = "at most 4 amd64 nodes can take it (general-b, general-c: at its maxSize 2); 4 of 6 pods run"
    assert [line for line in lines if line.startswith("  zone eu-west-1a: amd64 only") and line.endswith(limit)]
    likewise = "    likewise: zone eu-west-1b, zone eu-west-1c, group general-a, group general-b, group general-c"
    assert likewise in lines
    assert [line for line in lines if line.strip().startswith("raise nodeGroups.general.maxSize from 2 to 3; or if")]


def test_how_many_of_the_largest_nodes_fail_can_be_chosen(run: type_of_run) -> None:
    asked = ("capacity", "shop-dev", "--manifests", written(deployment("legacy", 3)), "-o", "json")
    names = [each["name"] for each in run(*asked, "--largest", "3").json["failures"]]
    assert "3 largest nodes" in names
    assert not [each for each in run(*asked, "--largest", "0").json["failures"] if each["largestNodes"]]


def test_json_has_every_workload_in_every_failure(run: type_of_run) -> None:
    file = written(deployment("legacy", 6), deployment("api", 2, tolerations=[ARM64]))
    found = run("capacity", "shop-dev", "--manifests", file, "-o", "json").json
    assert (found["kind"], found["stack"], found["workloads"], found["pods"]) == ("capacity", "shop-dev", 2, 8)
    for failure in (found["withoutFailure"], *found["failures"]):
        assert [each["name"] for each in failure["workloads"]] == ["Deployment/api", "Deployment/legacy"]
    (zone,) = (each for each in found["failures"] if each["name"] == "zone eu-west-1b")
    assert {"group": "general-b", "nodes": 2} in zone["lost"]
    legacy = zone["workloads"][1]
    assert (legacy["surviving"], legacy["moved"], legacy["pending"]) == (4, 0, 2)
    assert (legacy["keepsMinimum"], legacy["minimum"]["pods"], legacy["waitSeconds"]) == (False, 6, None)


def test_images_are_read_on_request_and_unknown_ones_are_named(run: type_of_run) -> None:
    file = written(deployment("api", 2))
    without = run("capacity", "shop-dev", "--manifests", file)
    assert "Images are not read" in without.out
    ran = run("capacity", "shop-dev", "--manifests", file, "--check-images")
    assert "Images are not read" not in ran.out
    assert "shop Deployment/api: it is unknown which architectures localhost:1/api:1 supports: " in ran.out


def test_pods_that_fit_nowhere_fail_the_run(run: type_of_run) -> None:
    file = written(deployment("legacy", 7))
    ran = run("capacity", "shop-dev", "--manifests", file, "--failure", "spot=arm64", "--minimum", "1")
    assert ran.code == 1
    assert ran.err.splitlines() == ["1 pod without a node even when nothing fails."]
    assert "- shop Deployment/legacy: 1 of 7 pods get no node even when nothing fails: " in ran.out


def test_with_prices_the_nodes_are_those_of_a_simulation_with_prices(run: type_of_run) -> None:
    prices = ("--prices", str(CLONE / "examples" / "prices.json"))
    file = written(deployment("api", 60, tolerations=[ARM64]))
    simulated = run("simulate", "payments-prod", "--manifests", file, *prices, "-o", "json").json
    nodes = {each["name"]: each["existing"] + each["new"] for each in simulated["groups"]}
    found = run("capacity", "payments-prod", "--manifests", file, *prices, "-o", "json").json
    lost = {
        name: sum(row["nodes"] for row in each["lost"] if row["group"] == name)
        for each in found["failures"]
        for name in each["groups"]
    }
    assert lost == {name: nodes[name] for name in lost}
    without = run("capacity", "payments-prod", "--manifests", file, "-o", "json").json
    assert [each["lost"] for each in without["failures"]] != [each["lost"] for each in found["failures"]]
    words = "Karpenter's nodes are of the {} instance type that holds their pods"
    assert [each for each in without["assumptions"] if each.startswith(words.format("smallest"))]
    assert [each for each in found["assumptions"] if each.startswith(words.format("cheapest"))]
