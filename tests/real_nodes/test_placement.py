"""Where pods really run, and what the commands say about them: nodes of the stack checkout-dev."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.cluster import images
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cli.running import type_of_run
from tests.real_nodes.groups import GROUPS, restart, user_data
from tests.real_nodes.pods import SPACE, TOLERATES, namespace, template

STACK = "checkout-dev"
GENERAL, GRAVITON = "general", "graviton"
PREFERS_ARM64 = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "preference": {
                    "matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]
                },
            }
        ]
    }
}


@pytest.fixture(scope="module")
def nodes(real_nodes: Nodes) -> Iterator[Nodes]:
    """Nodes that registered with the user data of the stack's groups."""
    started = [restart(real_nodes, group, user_data(group)) for (name, _), group in GROUPS.items() if name == STACK]
    for node in started:
        node.ready()
    with namespace(real_nodes.plane.kube):
        yield real_nodes
    for node in started:
        node.stop_kubelet()


@pytest.fixture
def kube(nodes: Nodes) -> Kube:
    return nodes.plane.kube


def workload(kind: str, name: str, image: str, **spec: Any) -> Object:
    labels = {"app": name}
    inner = template(image) | spec
    inner["containers"][0]["resources"] = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    made: Object = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": inner}},
    }
    return made


def states(kube: Kube, name: str) -> dict[str, str]:
    """What became of a workload's pods, by the node group of the node: ``running``, or the reason of the end."""
    groups = {
        each["metadata"]["name"]: GRAVITON if each["metadata"]["labels"]["kubernetes.io/arch"] == "arm64" else GENERAL
        for each in kube.list("v1", "Node")
    }
    found = {}
    for item in kube.list("v1", "Pod", SPACE, selector=f"app={name}"):
        if "deletionTimestamp" in item["metadata"] or "nodeName" not in item["spec"]:
            continue
        (status,) = item["status"].get("containerStatuses") or [{}]
        ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated")
        running = "running" if "running" in status.get("state", {}) else ""
        path = f"/api/v1/namespaces/{SPACE}/pods/{item['metadata']['name']}/log"
        said = str(kube.request("GET", path)["text"]).strip() if ended else running
        found[groups[item["spec"]["nodeName"]]] = said.rpartition(": ")[2]
    return found


def end_at(kube: Kube, name: str, expected: Mapping[str, str]) -> None:
    wait_for(lambda: states(kube, name) == expected, f"{name} to be {expected}", timeout=60, pause=0.3)


def groups_of(run: type_of_run, file: Path) -> set[str]:
    """The groups that ``simulate`` gives the pods of a manifest."""
    ran = run("simulate", STACK, "--manifests", str(file), "-o", "json")
    assert ran.code == 0, ran.err
    return {place["group"] for each in ran.json["workloads"] for place in each["places"]}


def test_a_pod_that_fails_on_arm64_runs_once_its_manifest_requires_amd64(
    kube: Kube, run: type_of_run, tmp_path: Path
) -> None:
    file = tmp_path / "reports.yaml"
    made = workload("Deployment", "reports", images.BROKEN, tolerations=TOLERATES, affinity=PREFERS_ARM64)
    file.write_text(yaml.safe_dump(made))
    kube.create(made)
    end_at(kube, "reports", {GRAVITON: "exec format error"})
    assert groups_of(run, file) == {GRAVITON}
    assert run("workload", "patch", str(file), "--require", "amd64", "--in-place").code == 0
    kube.apply(yaml.safe_load(file.read_text()))
    end_at(kube, "reports", {GENERAL: "running"})
    assert groups_of(run, file) == {GENERAL}


def test_a_pod_comes_to_arm64_nodes_once_its_manifest_tolerates_and_prefers_them(
    kube: Kube, run: type_of_run, nodes: Nodes, tmp_path: Path
) -> None:
    file = tmp_path / "api.yaml"
    made = workload("Deployment", "api", images.BOTH)
    file.write_text(yaml.safe_dump(made))
    kube.create(made)
    end_at(kube, "api", {GENERAL: "running"})
    assert groups_of(run, file) == {GENERAL}
    where = ("--kubeconfig", str(nodes.plane.kubeconfig), "-n", SPACE, "--hosts-dir", str(nodes.hosts))
    audit = ("audit", "workloads", *where, "-o", "json")
    assert state_of(run(*audit).json, "api") == "ready"
    assert run("workload", "patch", str(file), "--prefer", "arm64", "--tolerate", "arm64", "--in-place").code == 0
    kube.apply(yaml.safe_load(file.read_text()))
    end_at(kube, "api", {GRAVITON: "running"})
    assert groups_of(run, file) == {GRAVITON}
    assert state_of(run(*audit).json, "api") == "already there"


def state_of(audited: Mapping[str, Any], name: str) -> str:
    return next(str(row["state"]) for row in audited["workloads"] if row["name"] == name)
