"""``multiarch cost --live`` against an API server's stand-in: what runs, with the types and zones that nodes tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from multiarch.facts.labels import EKS_NODE_GROUP
from tests.cli.conftest import CLONE
from tests.cli.running import Ran, type_of_run
from tests.images.conftest import images_registry, repository
from tests.images.shapes import Repository
from tests.kubernetes import kubeconfigs
from tests.kubernetes.api_server import Answer, Request, rejected, serving
from tests.observed.test_cluster import HASH, node, pod

__all__ = ["images_registry", "repository"]

pytestmark = pytest.mark.usefixtures("clone")
PRICES = str(CLONE / "examples" / "prices.json")
Object = dict[str, Any]


def general(name: str, capacity: str = "ON_DEMAND", **more: Any) -> Object:
    return node(name, {EKS_NODE_GROUP: "general-14f859c", "eks.amazonaws.com/capacityType": capacity}, **more)


def uses(image: str, made: Object) -> Object:
    made["spec"]["containers"][0]["image"] = image
    return made


def deployment(image: str) -> Object:
    template = {"metadata": {"labels": {"app": "api"}}, "spec": {"containers": [{"name": "main", "image": image}]}}
    return {"metadata": {"name": "api", "namespace": "shop", "uid": "d"}, "spec": {"replicas": 1, "template": template}}


def owned(name: str, kind: str, owner: str) -> Object:
    references = [{"kind": kind, "name": owner, "controller": True}]
    return {"metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": references}}


def live(
    run: type_of_run,
    lists: Mapping[str, Sequence[Object]],
    *arguments: str,
    stack: str = "checkout-dev",
    forbidden: str = "",
) -> Ran:
    def answer(request: Request) -> Answer:
        plural = request.path.rpartition("/")[2]
        if plural == forbidden:
            return rejected(403, "Forbidden", "no")
        return 200, {"kind": "List", "metadata": {}, "items": list(lists.get(plural, []))}, {}

    with serving(answer) as server:
        file = kubeconfigs.write(Path("kubeconfig"), server.url)
        return run("cost", *filter(None, [stack]), "--prices", PRICES, "--live", "--kubeconfig", str(file), *arguments)


def test_nodes_cost_what_they_are_and_pods_are_compared_by_their_workloads(
    run: type_of_run, repository: Repository
) -> None:
    repository.image("linux/amd64", tag="amd64")
    image = f"{repository.server.host}/{repository.name}:amd64"
    lists = {
        "nodes": [general("one"), general("two", "SPOT", zone="eu-west-1b"), node("three")],
        "pods": [
            uses(image, pod("api-1", "one")),
            uses(image, pod("report-1", "one", ("Job", "report-29"))),
            uses(image, pod("pending")),
        ],
        "deployments": [deployment(image)],
        "replicasets": [owned(f"api-{HASH}", "Deployment", "api")],
        "jobs": [owned("report-29", "CronJob", "report")],
    }
    ran = live(run, lists, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    (stack,) = ran.json["stacks"]
    assert [(each["group"], each["capacityType"], each["monthly"]) for each in stack["nodes"]] == [
        ("", None, None),
        ("general", "on-demand", "82.052"),
        ("general", "spot", "34.456"),
    ]
    assert stack["unknown"] == ["the capacity type of node three is not known"]
    assert [(each["workload"], each["pods"], each["blockers"]) for each in stack["savings"]] == [
        ("CronJob/report", 1, [f"image {image}"]),
        ("Deployment/api", 1, [f"image {image}"]),
    ]
    # A pod has 1000m of the 1930m that the kubelet reports, and would have as much of an m7g.large.
    one = (Decimal("0.1124") - Decimal("0.0911")) * 730 * 1000 / 1930
    assert Decimal(stack["savings"][0]["monthly"]) == round(one, 6)
    assert any("no node group or NodePool of the stack are counted too: three." in note for note in stack["notes"])


def test_without_a_stack_the_nodes_are_grouped_by_their_labels(run: type_of_run) -> None:
    pool = {"karpenter.sh/nodepool": "batch", "karpenter.sh/capacity-type": "spot"}
    nodes = [general("one"), general("two"), node("three", pool, zone="eu-west-1b")]
    ran = live(run, {"nodes": nodes}, "-o", "json", stack="")
    (cluster,) = ran.json["stacks"]
    assert (cluster["stack"], cluster["team"], cluster["currency"]) == ("here", "", "USD")
    assert [(each["group"], each["nodes"], each["monthly"]) for each in cluster["nodes"]] == [
        ("batch", 1, "34.456"),
        ("general-14f859c", 2, "164.104"),
    ]
    assert (cluster["others"], cluster["fallback"]) == ([], None)
    elsewhere = live(run, {"nodes": [node("one", zone="moon-1a")]}, "-o", "json", stack="").json["stacks"][0]
    assert elsewhere["currency"] == ""
