"""Karpenter's charts while a stack lives: another version, and the end.

The releases are records here, so this shows what the engine does and in which order, not what the charts install.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from multiarch.facts.autoscalers import KARPENTER_CHART
from tests.e2e.cluster_records import node_pools, records, releases
from tests.e2e.conftest import watched
from tests.e2e.order import one_after_the_other, times
from tests.e2e.world import Step, World, done, names
from tests.migration_steps import STACK, TO_KARPENTER, steps, write

pytestmark = pytest.mark.e2e

RELEASE = "kubernetes:helm.sh/v3:Release"
CRDS, CONTROLLER = f"{RELEASE} karpenter-crd", f"{RELEASE} karpenter"
OLDER = "1.14.0"


def charts(world: World) -> dict[str, Any]:
    return {name: row["version"] for name, row in releases(world, STACK).items()}


@pytest.fixture(scope="module")
def held_back(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A stack whose Karpenter is held back at an older version."""
    assert OLDER != KARPENTER_CHART
    with watched(tmp_path_factory.mktemp("upgrade") / "clone") as made:
        write(made.stack_file(STACK), *steps(TO_KARPENTER))
        made.edit(STACK, "autoscaling", "karpenter", "version", value=OLDER)
        made.sandbox("up", STACK)
        yield made


def test_a_new_chart_brings_its_crds_before_its_controller_and_touches_no_node(held_back: World) -> None:
    assert charts(held_back) == {"karpenter": OLDER, "karpenter-crd": OLDER}
    nodes, pools = held_back.instance_ids(STACK), node_pools(held_back, STACK)
    assert pools
    held_back.edit(STACK, "autoscaling", "karpenter", "version", value=KARPENTER_CHART)
    previewed = held_back.preview(STACK)
    assert sorted(previewed, key=lambda step: step.what) == [
        Step("update", CONTROLLER, frozenset({"version"})),
        Step("update", CRDS, frozenset({"version"})),
    ]
    said = held_back.pulumi(STACK, "up", "--yes", "--skip-preview", "--json")
    assert names(done(said)) == names(previewed)
    one_after_the_other(times(said), [[("update", CRDS)], [("update", CONTROLLER)]])
    assert charts(held_back) == {"karpenter": KARPENTER_CHART, "karpenter-crd": KARPENTER_CHART}
    # Helm leaves CRDs of a chart's own folder as they are, so the controller's chart must not bring any.
    assert releases(held_back, STACK)["karpenter"]["skipCrds"] is True
    assert (held_back.instance_ids(STACK), node_pools(held_back, STACK)) == (nodes, pools)


def test_a_destroy_ends_nodes_while_karpenter_is_there_to_do_it(held_back: World) -> None:
    pools = [("delete", f"kubernetes:karpenter.sh/v1:NodePool {name}") for name in node_pools(held_back, STACK)]
    assert len(pools) == 4
    said = held_back.pulumi(STACK, "destroy", "--yes", "--skip-preview", "--json")
    order = times(said)
    controller = ("delete", CONTROLLER)
    groups = order.of("delete", "aws:eks/nodeGroup:NodeGroup")
    one_after_the_other(
        order,
        [
            pools,
            [("delete", "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass default")],
            [controller],
            [("delete", CRDS)],
            groups,
            [("delete", "aws:eks/cluster:Cluster cluster-eksCluster")],
        ],
    )
    # Until the controller is gone it needs its rights, the events about its nodes, and a way to AWS.
    needed = [
        ("delete", "aws:eks/podIdentityAssociation:PodIdentityAssociation karpenter"),
        ("delete", "aws:sqs/queue:Queue interruption"),
        ("delete", "aws:eks/addon:Addon eks-pod-identity-agent"),
        ("delete", "aws:eks/addon:Addon coredns"),
        *(
            step
            for step in order.of("delete", "aws:iam/rolePolicyAttachment:RolePolicyAttachment")
            if step[1].split(" ")[1].startswith("karpenter-") and " karpenter-nodes-" not in step[1]
        ),
        *order.of("delete", "aws:ec2/natGateway:NatGateway"),
    ]
    assert len(needed) == 4 + 6 + 1
    one_after_the_other(order, [[controller], needed])
    assert records(held_back, STACK) == {}
