"""``multiarch simulate --live`` against a real API server: pods that kube-scheduler itself found no node for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object, condition
from sandbox.cluster.programs import wait_for
from tests.cli.running import type_of_run
from tests.cluster.objects import pod
from tests.cluster.reading import namespace
from tests.cluster.temporary import applied

SPACE = "pending"
FULL = "full-node"


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A namespace with pods that wait, one behind a gate, and a full node of the group ``general``."""
    kube = control_plane.kube
    with applied(kube, [namespace(SPACE), full_node()]):
        for made in (
            pod("asks", cpu="500m", tolerates_arm64=True),
            pod("asks-too", cpu="500m", tolerates_arm64=True),
            pod("gated", schedulingGates=[{"name": "example.com/quota"}]),
        ):
            made["metadata"]["namespace"] = SPACE
            kube.create(made)
        wait_for(lambda: judged(kube), "kube-scheduler to look at the pods", timeout=20)
        yield control_plane


def full_node() -> Object:
    labels = {"eks.amazonaws.com/nodegroup": "general-14f859c", "kubernetes.io/arch": "amd64"}
    room = {"cpu": "100m", "memory": "1Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": FULL, "labels": labels},
        "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def judged(kube: Kube) -> bool:
    found = kube.list("v1", "Pod", SPACE, selector="app!=gated")
    return bool(found) and all(condition(item, "PodScheduled").get("reason") == "Unschedulable" for item in found)


def test_pods_that_kube_scheduler_gave_up_on_get_new_nodes(plane: ControlPlane, run: type_of_run) -> None:
    where = ("--kubeconfig", str(plane.kubeconfig), "--context", "sandbox", "--namespace", SPACE)
    ran = run("simulate", "checkout-dev", "--live", *where, "--output", "json")
    assert (ran.code, ran.err) == (0, "")
    places = [place for workload in ran.json["workloads"] for place in workload["places"]]
    assert sorted(place["pod"] for place in places) == ["asks", "asks-too"]
    assert all(place["new"] for place in places)
    assert {"why": "with a scheduling gate", "pods": 1} in ran.json["omitted"]
    there = {group["name"]: (group["existing"], group["new"]) for group in ran.json["groups"]}
    assert there["general"] == (1, 0)
    assert there["graviton"][0] == 0
    assert there["graviton"][1] > 0
    assert any("the room that their pods leave" in note for note in ran.json["notes"])
