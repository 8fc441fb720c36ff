"""What the walk away from Karpenter builds on, seen of the real one: closed pools add no node and lose none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from multiarch.autoscaling.karpenter import build_node_pool
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import node_class, pod
from tests.cluster.placements import Placement, Rejected
from tests.cluster.rig import NODE_CLAIMS, Rig
from tests.stack.words import merged, plan

KARPENTER: Mapping[str, Any] = {
    "nodeGroups": {"web": {"minSize": 2}, "web-arm": {"minSize": 0}},
    "autoscaling": {
        "use": "karpenter",
        "karpenter": {
            "amiAlias": "al2023@v20260715",
            "nodePools": {"general": {"families": ["m7i", "m7g"], "sizes": ["large"], "cpuLimit": 64}},
        },
    },
}
LEAVING = merged(KARPENTER, {"autoscaling": {"use": "cluster-autoscaler", "migrateFrom": "karpenter"}})


def pools(words: Mapping[str, Any]) -> list[Object]:
    karpenter = plan(words).autoscaling.karpenter
    assert karpenter is not None
    return [build_node_pool(each) for each in karpenter.pools]


def test_pools_that_are_closed_keep_their_nodes_and_make_no_more(rig: Rig) -> None:
    rig.apply([node_class(rig.aws.cluster, rig.aws.node_role), *pools(KARPENTER)])
    before = rig.run_pods([pod("there", cpu="1500m", tolerates_arm64=True)])["there"]
    assert isinstance(before, Placement)
    assert before.pool == "general-arm64-spot"
    instances = {row["InstanceId"] for row in rig.aws.running_instances()}

    rig.apply(pools(LEAVING))
    late = rig.run_pods([pod("late", cpu="1400m", tolerates_arm64=True), pod("legacy", cpu="1200m")])
    for rejected in late.values():
        assert isinstance(rejected, Rejected)
        assert "limit" in rejected.reason
    assert {row["InstanceId"] for row in rig.aws.running_instances()} == instances
    claim = rig.kube.get(*NODE_CLAIMS, before.claim)
    assert claim is not None
    assert "deletionTimestamp" not in claim["metadata"]
    assert "Drifted" not in {each["type"] for each in claim["status"]["conditions"]}

    # Open again they make nodes: the rejections were the limit's doing.
    rig.apply(pools(KARPENTER))
    for name in late:
        wait_for(partial(_node, rig, name), f"a node for {name}", timeout=180)


def _node(rig: Rig, name: str) -> str | None:
    found = rig.kube.get("v1", "Pod", name, "default")
    return found["spec"].get("nodeName") if found else None
