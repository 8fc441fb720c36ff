"""``multiarch rebalance`` as the CronJob runs it, with its rights, on a real control plane: also when parts fail."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator

import pytest

from multiarch.facts.rebalance import PLACEHOLDER_LABEL, PLACEHOLDER_NAMESPACE
from multiarch.rebalance.install.policy import NAME, NAMESPACE
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import Programs, wait_for
from tests.cluster.kubelets import Healthy
from tests.cluster.rebalancing import (
    AMD64_NODES,
    ARM64_NODES,
    SPACE,
    Moving,
    budget,
    deployment,
    rebalance_plan,
    started,
    template,
)
from tests.cluster.scenario_pods import preferred
from tests.images.shapes import Repository
from tests.registry import server
from tests.scheduling.manifests import expression

PREFERS = preferred((1, expression("kubernetes.io/arch", "In", "arm64")))
FAST = {"pace": "1s", "maxPods": 10}
API, REPLICAS, AT_LEAST = "api", 4, 3


@pytest.fixture(scope="module")
def cluster(cluster_programs: Programs) -> Iterator[Moving]:
    """A control plane of its own, and a registry with ``app:both`` and ``app:amd64``."""
    with server.running(programs=cluster_programs) as registry:
        repository = Repository(registry, "team/app")
        repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
        repository.image("linux/amd64", tag="amd64")
        with started(f"{registry.host}/{repository.name}") as moving:
            yield moving


@pytest.fixture
def moving(cluster: Moving) -> Iterator[Moving]:
    """Four pods that prefer arm64 on two amd64 nodes, guarded by a budget, and two arm64 nodes that came later."""
    cluster.install(rebalance_plan(**FAST))
    cluster.add_nodes(AMD64_NODES)
    cluster.kube.apply(budget(API, at_least=AT_LEAST))
    # Large enough that kube-scheduler puts them on both nodes.
    cluster.run(deployment(API, f"{cluster.root}:both", REPLICAS, cpu="900m", **PREFERS), REPLICAS)
    assert set(cluster.places(API)) == set(AMD64_NODES)
    wait_for(lambda: allowed(cluster.kube) == REPLICAS - AT_LEAST, "the budget's status", timeout=30)
    yield cluster
    cluster.clear()


def allowed(kube: Kube) -> int:
    found = kube.get("policy/v1", "PodDisruptionBudget", API, SPACE) or {}
    return int(found.get("status", {}).get("disruptionsAllowed", -1))


def on_arm64(moving: Moving) -> int:
    return sum(each in ARM64_NODES for each in moving.places(API))


def moved(moving: Moving) -> bool:
    return on_arm64(moving) == REPLICAS


def test_pods_move_and_all_others_stay(moving: Moving) -> None:
    kube, both = moving.kube, f"{moving.root}:both"
    moving.run(deployment("old", f"{moving.root}:amd64", 2, **PREFERS), 2)
    moving.run(deployment("intolerant", both, 2, tolerates_arm64=False), 2)
    moving.run(deployment("unreadable", f"{moving.root}:nothing", 2, **PREFERS), 2)
    files = [{"name": "files", "emptyDir": {}}]
    moving.run(deployment("files", both, 2, volumes=files, **PREFERS), 2)
    bare = {"apiVersion": "v1", "kind": "Pod", **template("bare", both, **PREFERS)}
    bare["metadata"] |= {"name": "bare", "namespace": SPACE}
    kube.create(bare)
    wait_for(lambda: len(moving.places("bare")) == 1, "the bare pod", timeout=30)
    stay = ("old", "intolerant", "unreadable", "files", "bare")
    before = {name: uids(moving, name) for name in stay}
    moving.add_nodes(ARM64_NODES)
    code, planned = moving.rebalance(rebalance_plan(**FAST, dryRun=True))
    assert (code, on_arm64(moving), moving.marked()) == (0, 0, {}), planned
    code, said = moving.rebalance(rebalance_plan(**FAST))
    assert code == 0, said
    assert moved(moving), said
    assert {name: uids(moving, name) for name in stay} == before
    assert moving.marked() == {}
    lease = moving.lease()
    assert lease is not None
    assert not lease["spec"].get("holderIdentity")
    there = uids(moving, API)
    code, said = moving.rebalance(rebalance_plan(**FAST))
    assert (code, uids(moving, API)) == (0, there), said


def uids(moving: Moving, app: str) -> set[str]:
    return {str(each["metadata"]["uid"]) for each in moving.pods(app)}


def wait_for_a_move(moving: Moving) -> None:
    wait_for(lambda: on_arm64(moving) >= 1, "the first pod to move", timeout=60, pause=0.02)


def end_of(running: subprocess.Popen[str], timeout: float = 150) -> tuple[int, str]:
    said, _ = running.communicate(timeout=timeout)
    return running.returncode, said


def test_a_run_that_is_killed_leaves_what_the_next_one_clears_up(moving: Moving) -> None:
    moving.add_nodes(ARM64_NODES)
    with Healthy(moving.kube, SPACE, API).running() as healthy:
        running = moving.start(rebalance_plan(**FAST | {"pace": "5s"}))
        wait_for_a_move(moving)
        running.kill()
        end_of(running)
        ((node, (closed, note)),) = moving.marked().items()
        assert node in AMD64_NODES
        assert closed
        assert note
        end_lease(moving)
        code, said = moving.rebalance(rebalance_plan(**FAST))
    assert code == 0, said
    assert healthy.fewest is not None
    assert healthy.fewest >= AT_LEAST
    assert node in said
    assert moved(moving), said
    assert moving.marked() == {}


def end_lease(moving: Moving) -> None:
    """A run that did not end keeps the Lease for a minute: shorten it."""
    lease = moving.lease()
    assert lease is not None
    moving.kube.patch(lease, {"spec": {"leaseDurationSeconds": 3}})


def test_two_runs_do_not_meet_and_the_run_of_a_cron_job_that_is_deleted_uncordons_its_node(moving: Moving) -> None:
    """The CronJob is deleted as Pulumi does, in the foreground: then its rights are there until its pod has ended."""
    moving.add_nodes(ARM64_NODES)
    moving.start_job()
    running = moving.start(rebalance_plan(**FAST | {"pace": "5m"}))
    wait_for_a_move(moving)
    code, said = moving.rebalance(rebalance_plan(**FAST))
    assert code == 1, said
    assert "Lease" in said
    assert len(moving.marked()) == 1
    moving.kubelets.not_ending.add(NAMESPACE)
    moving.kube.delete(moving.cron_job() or {}, policy="Foreground")
    wait_for(lambda: ending(moving), "the pod of the run to be told to end", timeout=30)
    running.send_signal(signal.SIGTERM)
    code, said = end_of(running, timeout=30)
    assert code == 128 + signal.SIGTERM, said
    assert moving.marked() == {}
    assert len(moving.places(API)) == REPLICAS
    assert moving.cron_job() is not None, "it waits for its pod"
    moving.kubelets.not_ending.clear()
    wait_for(lambda: moving.cron_job() is None, "the CronJob to be gone", timeout=30)


def ending(moving: Moving) -> list[Object]:
    """Pods of the CronJob that have got SIGTERM, with the time that a run needs to end."""
    pods = moving.kube.list("v1", "Pod", NAMESPACE, selector=f"app.kubernetes.io/name={NAME}")
    return [each for each in pods if each["metadata"].get("deletionGracePeriodSeconds", 0) >= 120]


def test_the_api_server_restarts_in_the_middle(moving: Moving) -> None:
    moving.add_nodes(ARM64_NODES)
    running = moving.start(rebalance_plan(**FAST | {"maxPods": 3}))
    wait_for_a_move(moving)
    moving.restart_api_server()
    code, said = end_of(running)
    assert code == 0, said
    assert on_arm64(moving) == 3, said
    assert moving.marked() == {}


def test_where_the_autoscaler_has_to_add_nodes_there_is_room_before_a_pod_is_evicted(moving: Moving) -> None:
    """One arm64 node has room for one of the two pods of an amd64 node: the other's placeholder waits."""
    moving.add_nodes(ARM64_NODES[:1])
    on_arm64_only = {"nodeSelector": {"kubernetes.io/arch": "arm64"}}
    moving.run(deployment("there", f"{moving.root}:both", 1, cpu="900m", **on_arm64_only), 1)
    running = moving.start(rebalance_plan(autoscaler="cluster-autoscaler", **FAST | {"maxPods": 2}))
    wait_for(lambda: any(map(unschedulable, placeholders(moving))), "an autoscaler to be needed", timeout=60)
    assert moving.marked() == {}, "no node is cordoned while it waits"
    moving.add_nodes(ARM64_NODES[1:])
    code, said = end_of(running)
    assert (code, on_arm64(moving)) == (0, 2), said
    assert (placeholders(moving), moving.marked()) == ([], {})


def unschedulable(pod: Object) -> bool:
    """Whether an autoscaler adds a node for it."""
    return any(each.get("reason") == "Unschedulable" for each in pod["status"].get("conditions", ()))


def placeholders(moving: Moving) -> list[Object]:
    found = moving.kube.list("v1", "Pod", PLACEHOLDER_NAMESPACE, selector=PLACEHOLDER_LABEL)
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]
