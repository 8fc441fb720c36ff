"""``multiarch rebalance`` beside the real Karpenter: it says that nothing is needed, and Karpenter moves the pods."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from multiarch.autoscaling.karpenter import build_node_pool
from multiarch.yaml_text.dump import dump_yaml
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from tests.cli.running import runner
from tests.cluster.objects import node_class, pod, replica_set
from tests.cluster.rig import Rig
from tests.stack.words import SMALLEST, merged, plan

POOL = {"families": ["m7i", "m7g"], "sizes": ["large"], "capacityTypes": ["on-demand"], "consolidateAfter": "1s"}
WORDS: Mapping[str, Any] = {
    "nodeGroups": {"web": {"minSize": 2}, "web-arm": {"minSize": 0}},
    "autoscaling": {
        "use": "karpenter",
        "karpenter": {"amiAlias": "al2023@v20260715", "nodePools": {"general": {**POOL, "cpuLimit": 64}}},
    },
}


def pools() -> dict[str, Object]:
    karpenter = plan(WORDS).autoscaling.karpenter
    assert karpenter is not None
    return {each.capacities[0].architecture: build_node_pool(each) for each in karpenter.pools}


def architecture(rig: Rig) -> str:
    """That of the node of the workload's running pod, or an empty string."""
    found = rig.kube.list("v1", "Pod", "default", selector="app=web")
    running = [
        each for each in found if each["status"]["phase"] == "Running" and "deletionTimestamp" not in each["metadata"]
    ]
    if len(running) != 1:
        return ""
    node = rig.kube.get("v1", "Node", running[0]["spec"]["nodeName"])
    return "" if node is None else str(node["metadata"]["labels"]["kubernetes.io/arch"])


def test_it_leaves_nodes_that_karpenter_consolidates_alone_and_karpenter_moves_their_pods(
    rig: Rig, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "Pulumi.shop-dev.yaml"
    words = {f"multiarch-eks:{key}": value for key, value in merged(SMALLEST, WORDS).items()}
    file.write_text(dump_yaml({"config": {**words, "aws:region": "eu-west-1"}}))
    made = pools()
    rig.apply([node_class(rig.aws.cluster, rig.aws.node_role), made["amd64"]])
    rig.kube.apply(replica_set("web", 1, pod("web", cpu="1200m", tolerates_arm64=True)))
    wait_for(lambda: architecture(rig) == "amd64", "the pod to run on amd64", timeout=60)

    run = runner(capsys)
    where = ("--kubeconfig", str(rig.plane.kubeconfig))
    ran = run("rebalance", str(file), *where)
    assert ran.code == 0, ran.err
    assert "Karpenter consolidates NodePool general-amd64-on-demand" in ran.out
    assert "Nothing is needed." in ran.out
    said = json.loads(run("rebalance", str(file), *where, "--output", "json").out)
    assert (said["possible"], said["nodes"], len(said["skipped"])) == (1, [], 1)
    ran = run("rebalance", str(file), *where, "--apply")
    assert (ran.code, architecture(rig)) == (0, "amd64"), ran.err

    rig.apply([made["arm64"]])
    wait_for(lambda: architecture(rig) == "arm64", "Karpenter to move the pod", timeout=120, pause=0.5)
