"""An autoscaler that is there already: found by what its Deployments run, and NodePools by their weights."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.autoscaling.owner_flags import list_owner_flags
from multiarch.rules import Finding
from multiarch.verify.nodes.autoscaler import judge_autoscaler, judge_weights
from tests.autoscaling.test_owner_flags import installed
from tests.cluster.objects import node_pool
from tests.stack.words import EXISTING_CLUSTER, merged, plan


def deployment(command: list[str], **more: list[str]) -> dict[str, Any]:
    pod = {"containers": [{"name": "sidecar"}, {"command": command, **more}]}
    return {"metadata": {"namespace": "kube-system", "name": "theirs"}, "spec": {"template": {"spec": pod}}}


def judge(*deployments: dict[str, Any]) -> list[Finding]:
    return list(judge_autoscaler(deployments, installed(), "shop"))


def test_its_flags_are_those_of_command_and_args() -> None:
    flags = list(list_owner_flags(installed(), "shop"))
    other = deployment(["/metrics-server", "--expander=random"])
    assert judge(other, deployment(["./cluster-autoscaler", *flags])) == []
    assert judge(other, deployment(["/cluster-autoscaler"], args=flags)) == []
    (found,) = judge(other, deployment(["./cluster-autoscaler", *flags[1:]]))
    assert found.rule.name == "autoscaler-flags"
    assert found.text.startswith("kube-system/theirs: --expander is not set")


def test_a_missing_autoscaler_is_told() -> None:
    (found,) = judge(deployment(["/metrics-server"]))
    assert "no Deployment runs the cluster autoscaler" in found.text


@pytest.mark.parametrize(
    ("change", "weight", "before"),
    [
        ({}, 91, ["general-arm64-spot (90), general-arm64-on-demand (70)"]),
        ({}, 70, ["general-arm64-on-demand (70)"]),  # of the same weight: the later name comes first
        ({}, 69, []),
        ({"order": ["amd64-spot", "amd64-on-demand", "arm64-spot", "arm64-on-demand"]}, 91, []),
    ],
)
def test_a_node_pool_of_others_that_comes_before_arm64_is_told(
    change: dict[str, Any], weight: int, before: list[str]
) -> None:
    pools = {"general": {"architectures": ["arm64", "amd64"]}}
    karpenter = {"installed": True, "nodeRole": "nodes", "amiAlias": "al2023@v20260715", "nodePools": pools}
    scaling = {"autoscaling": {"use": "karpenter", "karpenter": karpenter, **change}}
    made = plan(merged(EXISTING_CLUSTER, scaling)).autoscaling
    theirs = node_pool("workers", "amd64", "on-demand", weight)
    tainted = node_pool("gpu", "amd64", "on-demand", 100, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    own = node_pool("general-amd64-spot", "amd64", "spot", 100)
    found = [each.text for each in judge_weights([theirs, tainted, own], made)]
    assert [text.partition(" before ")[2].partition(":")[0] for text in found] == before
