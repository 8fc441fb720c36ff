"""Karpenter's own chart, rendered by the real Helm with the values that a stack gives it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ruamel.yaml import YAML

from components.rendering.files import contents
from tests.cluster import charts
from tests.components import autoscaled
from tests.components.declared import World

pytestmark = pytest.mark.tools

Objects = dict[tuple[str, str], dict[str, Any]]


def template(chart: str, found: World) -> Objects:
    """Objects of a chart by kind and name, with the values as a rendering of the stack shows them."""
    values = contents(found.resources, {"kubeconfig": ""})[f"helm/{chart}.yaml"]
    return {(each["kind"], each["metadata"]["name"]): each for each in charts.template(chart, values)}


@pytest.fixture(scope="module")
def objects(with_karpenter: World) -> Objects:
    return template("karpenter", with_karpenter)


@pytest.fixture(scope="module")
def pod(objects: Objects) -> dict[str, Any]:
    deployment = objects["Deployment", "karpenter"]
    assert deployment["spec"]["replicas"] == 2
    return dict(deployment["spec"]["template"]["spec"])


def test_every_value_that_is_given_is_one_that_the_chart_has(with_karpenter: World) -> None:
    known = YAML(typ="safe", pure=True).load(charts.folder() / "karpenter" / "values.yaml")
    text = contents(with_karpenter.resources, {"kubeconfig": ""})["helm/karpenter.yaml"]
    given = YAML(typ="safe", pure=True).load(text)
    assert set(given) <= set(known)
    for key in ("settings", "serviceAccount", "serviceMonitor", "podDisruptionBudget", "controller", "affinity"):
        assert set(given[key]) <= set(known[key]), key


def test_the_controller_learns_cluster_and_queue(pod: dict[str, Any], with_karpenter: World) -> None:
    environment = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert environment["CLUSTER_NAME"] == with_karpenter.plan.cluster.name
    karpenter = with_karpenter.plan.autoscaling.karpenter
    assert karpenter is not None
    assert environment["INTERRUPTION_QUEUE"] == karpenter.queue
    assert environment["EKS_CONTROL_PLANE"] == "true"
    assert "ISOLATED_VPC" not in environment


def test_without_internet_access_the_controller_spares_iam_and_its_image_keeps_the_digest(pod: dict[str, Any]) -> None:
    wanted = replace(autoscaled.KARPENTER, isolated=True)
    copied = {"charts": {"imageRegistries": {"public.ecr.aws": "registry.example.com/public"}}}
    found = autoscaled.world(replace(autoscaled.autoscaling(karpenter=True), karpenter=wanted), copied)
    (container,) = template("karpenter", found)["Deployment", "karpenter"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "ISOLATED_VPC", "value": "true"} in container["env"]
    (usual,) = pod["containers"]
    assert container["image"] == usual["image"].replace("public.ecr.aws/", "registry.example.com/public/")
    assert container["image"] != usual["image"]


def test_the_controller_goes_to_its_group_and_not_to_nodes_of_its_own(pod: dict[str, Any]) -> None:
    rule = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = rule["nodeSelectorTerms"]
    assert sorted((each["key"], each["operator"]) for each in term["matchExpressions"]) == [
        ("eks.amazonaws.com/nodegroup", "In"),
        ("karpenter.sh/nodepool", "DoesNotExist"),
    ]
    assert {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"} in pod["tolerations"]
