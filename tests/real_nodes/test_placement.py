"""Where pods really run, and what the commands say about them: nodes of the stack checkout-dev."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from sandbox.cluster import images
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Kube
from sandbox.cluster.programs import wait_for
from tests.cli.running import type_of_run
from tests.cluster.objects import workload_of
from tests.cluster.scenario_pods import preferred
from tests.real_nodes.groups import GROUPS, restart, user_data
from tests.real_nodes.pods import SHORT, SPACE, TOLERATES, namespace
from tests.scheduling.manifests import expression

STACK = "checkout-dev"
GENERAL, GRAVITON = "general", "graviton"


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
    wanted = {**preferred((100, expression("kubernetes.io/arch", "In", "arm64"))), "tolerations": TOLERATES}
    made = workload_of("Deployment", "reports", SPACE, replicas=1, image=images.BROKEN, **wanted, **SHORT)
    file.write_text(yaml.safe_dump(made))
    kube.create(made)
    end_at(kube, "reports", {GRAVITON: "exec format error"})
    assert groups_of(run, file) == {GRAVITON}
    assert run("workload", "patch", str(file), "--require", "amd64", "--in-place").code == 0
    kube.apply(yaml.safe_load(file.read_text()))
    end_at(kube, "reports", {GENERAL: "running"})
    assert groups_of(run, file) == {GENERAL}
