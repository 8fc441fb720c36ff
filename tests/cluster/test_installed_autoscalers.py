"""A stack beside autoscalers that the cluster has already: real objects, and the real Karpenter chooses."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from components.rendering import declare
from multiarch.stack.load import load_file
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from multiarch.verify.nodes.autoscaler import judge_autoscaler
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from sandbox.layout import CLONE
from tests.cli.running import Ran, type_of_run
from tests.cluster import installed
from tests.cluster.collected import collected
from tests.cluster.installed import describe
from tests.cluster.objects import pod
from tests.cluster.placements import Placement
from tests.cluster.rig import Rig
from tests.cluster.temporary import applied, remove
from tests.stack.words import EXISTING_CLUSTER, TODAY, merged, plan

STACK = "shop-prod"


@dataclass(frozen=True, slots=True)
class Place:
    """A project's folder beside the rig's cluster, with credentials and a kubeconfig.

    ``karpenter`` is to be applied; at its end are a node class and a NodePool.
    """

    rig: Rig
    run: type_of_run
    file: Path
    karpenter: Sequence[Object]

    def well(self, *words: str) -> Ran:
        ran = self.run(*words)
        assert ran.code == 0, ran.err
        return ran

    def wait_for_autoscaler(self) -> tuple[str, str]:
        """Return namespace and name of the cluster autoscaler's pod, once there is one."""
        select = {"namespace": "kube-system", "selector": "app.kubernetes.io/instance=ca"}
        (found,) = wait_for(lambda: self.rig.kube.list("v1", "Pod", **select), "the pod", timeout=30, pause=0.1)
        return "kube-system", str(found["metadata"]["name"])

    def plan(self) -> Plan:
        return make_plan(load_file(self.file), today=TODAY)

    def placed(self, name: str, *, cpu: str = "1500m", tolerates_arm64: bool) -> str:
        """Return the NodePool that Karpenter chooses for a pod."""
        made = self.rig.run_pods([pod(name, cpu=cpu, tolerates_arm64=tolerates_arm64)], bound=False)[name]
        assert isinstance(made, Placement), made
        return made.pool


@pytest.fixture(scope="module")
def karpenter(session_rig: Rig) -> list[Object]:
    """Karpenter's objects, rendered before ``run`` hides Helm with the cache."""
    return installed.karpenter(session_rig.aws.cluster)


@pytest.fixture
def place(
    karpenter: Sequence[Object], rig: Rig, run: type_of_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Place:
    shutil.copy(CLONE / "Pulumi.yaml", tmp_path)
    (tmp_path / "config" / "stacks").mkdir(parents=True)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**rig.aws.environ(), "KUBECONFIG": str(rig.plane.kubeconfig)}.items():
        if value:
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return Place(rig, run, tmp_path / "config" / "stacks" / f"Pulumi.{STACK}.yaml", karpenter)


def test_karpenter_chooses_the_pool_that_a_stack_adds_and_the_objects_of_others_stay(place: Place) -> None:
    rig, kube, cluster = place.rig, place.rig.kube, place.rig.aws.cluster
    scaler, pool = installed.cluster_autoscaler(cluster), place.karpenter[-1]
    theirs = [*scaler, *place.karpenter]
    with applied(kube, place.karpenter):
        rig.apply(place.karpenter[-2:])  # waits for them to be ready
        for each in scaler:
            kube.apply(each)
        rig.placements([place.wait_for_autoscaler()])  # the cluster has a node: for a pod of the cluster autoscaler
        before = describe(kube, theirs)
        ran = place.well("stack", "new", "--from-cluster", cluster, "--team", "shop", "--env", "prod")
        assert "cluster-autoscaler, found by the Deployment kube-system/ca-aws-cluster-autoscaler" in ran.err
        assert "weight" not in ran.err
        place.well("stack", "pin", STACK)
        found = place.plan().autoscaling.karpenter
        assert found
        assert (found.settings.installed, found.node_class.role) == (True, f"KarpenterNodeRole-{cluster}")

        ours = collected(declare(place.plan()).resources)
        assert [each["kind"] for each in ours] == ["EC2NodeClass", "NodePool"]
        rig.apply(ours)
        assert place.placed("new", tolerates_arm64=True) == "default-arm64-on-demand"
        assert place.placed("old", tolerates_arm64=False) == installed.POOL
        assert describe(kube, theirs) == before

        # A pool of theirs that comes before ours is told, and Karpenter does take it.
        verify = partial(place.run, "verify", "nodes", STACK, "--no-ssm", "--join-minutes", "60", "-o", "json")
        assert "pool-weight" not in verify().out
        kube.patch(pool, {"spec": {"weight": 100}})
        before = describe(kube, theirs)
        assert "comes before default-arm64-on-demand (70)" in verify().out
        assert place.placed("heavy", cpu="3", tolerates_arm64=True) == installed.POOL

        for name in ("new", "old", "heavy"):
            kube.delete(pod(name), grace=0)
        remove(kube, ours)
        assert describe(kube, theirs) == before
        rig.reset()  # sooner than Karpenter drains its nodes
        remove(kube, scaler)


def test_priorities_go_where_the_autoscaler_reads_them_and_its_objects_stay(control_plane: ControlPlane) -> None:
    scaling = {"use": "cluster-autoscaler", "clusterAutoscaler": {"installed": True}}
    made = plan(merged(EXISTING_CLUSTER, {"autoscaling": scaling}))
    assert made.autoscaling.cluster_autoscaler
    theirs, kube = installed.cluster_autoscaler(made.cluster.name), control_plane.kube
    with applied(kube, theirs):
        # The controller adds the revision.
        wait_for(lambda: "/revision" in str(describe(kube, theirs)), "the Deployment's revision", timeout=30)
        before = describe(kube, theirs)
        with applied(kube, collected(declare(made).resources)) as stored:
            (priorities,) = stored
            found = kube.list("apps/v1", "Deployment", priorities["metadata"]["namespace"])
            assert list(judge_autoscaler(found, made.autoscaling.cluster_autoscaler, made.cluster.name)) == []
            assert describe(kube, theirs) == before
        assert describe(kube, theirs) == before
