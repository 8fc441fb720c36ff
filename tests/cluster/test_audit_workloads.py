"""``multiarch audit workloads`` on a real API server with real controllers, and its patches sent there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import Programs, wait_for
from tests.cli.running import Ran, type_of_run
from tests.cluster.objects import ARM64_TOLERATION, workload_of
from tests.cluster.reading import namespace
from tests.cluster.temporary import applied
from tests.images.shapes import Repository
from tests.registry import server

SPACE = "audit-workloads"
GPU = {"key": "gpu", "operator": "Exists"}
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture(scope="module")
def root(cluster_programs: Programs) -> Iterator[str]:
    """A repository with an image for both architectures, ``1.1``, and one for amd64, ``1.0``."""
    with server.running(programs=cluster_programs) as running:
        repository = Repository(running, "team/app")
        repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="1.1")
        repository.image("linux/amd64", tag="1.0")
        yield f"{running.host}/{repository.name}"


@pytest.fixture
def kube(control_plane: ControlPlane) -> Iterator[Kube]:
    """The session's API server with a namespace for the test, gone afterwards."""
    kube = control_plane.kube
    with applied(kube, [namespace(SPACE)]):
        wait_for(lambda: kube.get("v1", "ServiceAccount", "default", SPACE), "the service account", timeout=30)
        yield kube


def workload(kind: str, name: str, image: str, **spec: Any) -> Object:
    return workload_of(kind, name, SPACE, replicas=2, image=image, schedulerName="nobody", **spec)


def audited(run: type_of_run, plane: ControlPlane, *more: str) -> Ran:
    ran = run("audit", "workloads", "--kubeconfig", str(plane.kubeconfig), "-n", SPACE, "-o", "json", *more)
    assert ran.code == 0, ran.err
    return ran


def rows(ran: Ran) -> dict[str, Any]:
    return {row["name"]: row for row in ran.json["workloads"]}


def pods_of(kube: Kube, name: str) -> list[Object]:
    return list(kube.list("v1", "Pod", SPACE, selector=f"app={name}"))


def test_what_is_ready_is_there_once_its_patch_is_applied(
    run: type_of_run, control_plane: ControlPlane, kube: Kube, root: str, tmp_path: Path
) -> None:
    for kind in ("Deployment", "StatefulSet", "DaemonSet", "CronJob"):
        kube.create(workload(kind, f"a-{kind.lower()}", f"{root}:1.1", tolerations=[GPU]))
    kube.create(workload("Job", "a-job", f"{root}:1.1"))
    wait_for(lambda: len(pods_of(kube, "a-deployment")) == 2, "the Deployment's pods", timeout=30)
    folder = tmp_path / "patches"
    before = rows(audited(run, control_plane, "--patch", str(folder)))
    assert {row["state"] for row in before.values()} == {"ready"}
    assert (before["a-deployment"]["pods"], len(before)) == (2, 5)
    assert before["a-job"]["noPatch"] == "a Job in a cluster can't be changed: recreate it"
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [
        f"{SPACE}_{kind}_a-{kind}.yaml" for kind in ("cronjob", "daemonset", "deployment", "statefulset")
    ]
    for file in files:
        patch = yaml.safe_load(file.read_text())
        kube.request("PATCH", kube.path_of(patch), body=patch, content_type=STRATEGIC)

    def there() -> bool:
        states = {name: row["state"] for name, row in rows(audited(run, control_plane, "--no-cache")).items()}
        return states == {**dict.fromkeys(before, "already there"), "a-job": "ready"}

    wait_for(there, "new pods in place of the old ones", timeout=60, pause=0.5)
    found = kube.get("apps/v1", "Deployment", "a-deployment", SPACE)
    assert found is not None
    pod_spec = found["spec"]["template"]["spec"]
    assert pod_spec["tolerations"] == [GPU, ARM64_TOLERATION]
    assert [each["image"] for each in pod_spec["containers"]] == [f"{root}:1.1"]
