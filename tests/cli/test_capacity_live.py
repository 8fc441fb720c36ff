"""What ``capacity --live`` and ``simulate --live`` say of nodes, pods and budgets of a stand-in for an API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import type_of_run
from tests.kubernetes import kubeconfigs
from tests.kubernetes.api_server import Answer, Request, rejected, serving
from tests.observed.test_cluster import node, pod

GENERAL = {"eks.amazonaws.com/nodegroup": "general-20260101000000000000000001"}
STACK = """\
config:
  aws:region: eu-west-1
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "1"
  multiarch-eks:network: {zones: [eu-west-1a, eu-west-1b]}
  multiarch-eks:nodeGroups:
    general: {instanceTypes: [m7i.large], minSize: 2, maxSize: 2, onePerZone: false}
"""


def api(name: str, on: str = "") -> dict[str, Any]:
    made = pod(name, on)
    made["spec"]["containers"][0]["image"] = "localhost:1/api:1"
    return made


def budget() -> dict[str, Any]:
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "api"}}}
    return {"metadata": {"name": "api", "namespace": "shop", "uid": "b"}, "spec": spec}


OBJECTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "nodes": (
        "NodeList",
        [
            node("one", GENERAL),
            node("two", GENERAL, zone="eu-west-1b"),
            node("alien", zone="eu-west-1b"),
        ],
    ),
    "pods": ("PodList", [api("api-1", "one"), api("api-2", "two"), api("api-3", "alien"), api("api-4")]),
    "daemonsets": ("DaemonSetList", []),
    "poddisruptionbudgets": ("PodDisruptionBudgetList", [budget()]),
}


def answer(request: Request) -> Answer:
    found = OBJECTS.get(request.path.rpartition("/")[2])
    if found is None:
        return rejected(403, "Forbidden", "no")
    return 200, {"kind": found[0], "metadata": {}, "items": found[1]}, {}


@pytest.fixture
def kubeconfig(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (clone / "config" / "stacks" / "Pulumi.shop-dev.yaml").write_text(STACK, encoding="utf-8")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(clone / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(clone / "docker"))
    return clone / "kubeconfig"


def test_the_pods_of_a_cluster_move_between_its_own_nodes(run: type_of_run, kubeconfig: Path) -> None:
    with serving(answer) as server:
        kubeconfigs.write(kubeconfig, server.url)
        asked = ("capacity", "shop-dev", "--live", "--kubeconfig", str(kubeconfig))
        found = run(*asked, "-o", "json").json
        text = run(*asked, "--check-images").out
    (nothing,) = found["withoutFailure"]["workloads"]
    assert (nothing["name"], nothing["replicas"], nothing["surviving"], nothing["pending"]) == (
        "Deployment/api",
        4,
        3,
        1,
    )
    (zone,) = (each for each in found["failures"] if each["name"] == "zone eu-west-1b")
    (api,) = zone["workloads"]
    # The group's second node comes back in its other zone; the node of no group does not.
    assert zone["lost"] == [{"group": "", "nodes": 1}, {"group": "general", "nodes": 1}]
    assert (api["surviving"], api["moved"], api["pending"]) == (1, 1, 2)
    assert api["minimum"]["source"] == "PodDisruptionBudget shop/api: minAvailable 2"
    assert api["keepsMinimum"]
    alien = (
        "Nodes outside the stack's managed node groups and NodePools: alien. They do not count towards maxSize, and "
    )
    assert f"{alien}nothing replaces them." in found["assumptions"]
    assert "shop Deployment/api: it is unknown which architectures localhost:1/api:1 supports" in text
    assert {request.method for request in server.requests} == {"GET"}


def test_a_recommendation_starts_with_the_nodes_of_the_cluster(run: type_of_run, kubeconfig: Path) -> None:
    stack = kubeconfig.parent / "config" / "stacks" / "Pulumi.shop-dev.yaml"

    def without_budgets(request: Request) -> Answer:
        if request.path.endswith("/poddisruptionbudgets"):
            return 200, {"kind": "PodDisruptionBudgetList", "metadata": {}, "items": []}, {}
        return answer(request)

    with serving(without_budgets) as server:
        kubeconfigs.write(kubeconfig, server.url)
        asked = (
            "capacity",
            "shop-dev",
            "--live",
            "--kubeconfig",
            str(kubeconfig),
            "--recommend",
            "--failure",
            "zone=b",
        )
        ran = run(*asked)
        assert ran.code == 2
        assert ran.err.startswith("error: --recommend with --live needs an autoscaler")
        stack.write_text(f"{STACK}  multiarch-eks:autoscaling: {{use: cluster-autoscaler}}\n", encoding="utf-8")
        found = run(*asked, "--headroom", "headroom.yaml", "-o", "json")
    # One pod waits already, and two are on nodes that are lost: each gets a node of its own in zone a.
    recommendation = found.json["recommendation"]
    assert recommendation["changes"] == [{"key": "nodeGroups.general.maxSize", "old": 2, "new": 4}]
    assert recommendation["unsolved"] == []
    assert "headroom.yaml: amd64: " in found.err
