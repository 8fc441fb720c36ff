"""``multiarch audit images`` on a real API server, with a real registry that lets in nobody without credentials."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.control_plane import ControlPlane, write_kubeconfig
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import Programs, wait_for
from tests.cli.running import Ran, type_of_run
from tests.cluster.objects import pod
from tests.cluster.reading import account_token, namespace
from tests.cluster.temporary import applied
from tests.registry import images, server
from tests.registry.server import ACCOUNT, Auth, Server

SPACE = "audit-images"
REPOSITORIES = ("team/of-pod", "team/of-account", "team/of-nobody")
SECRET_TYPE = "kubernetes.io/dockerconfigjson"  # noqa: S105
READER = [
    {"apiGroups": [""], "resources": ["pods", "replicationcontrollers", "serviceaccounts"], "verbs": ["list"]},
    {
        "apiGroups": ["apps", "batch"],
        "resources": ["deployments", "statefulsets", "daemonsets", "replicasets", "jobs", "cronjobs"],
        "verbs": ["list"],
    },
]


@pytest.fixture(scope="module")
def registry(cluster_programs: Programs) -> Iterator[Server]:
    """A registry behind htpasswd with an image in each repository."""
    with server.running(auth=Auth.BASIC, programs=cluster_programs) as running:
        for repository in REPOSITORIES:
            images.push(running, repository)
        yield running


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane, registry: Server) -> Iterator[ControlPlane]:
    """A pod with a pull secret of its own, one whose ServiceAccount has one, and one without any."""
    kube = control_plane.kube
    account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller", "namespace": SPACE}}
    before = [
        namespace(SPACE),
        secret("for-pod", f"{registry.host}/{REPOSITORIES[0]}"),
        secret("for-account", f"{registry.host}/{REPOSITORIES[1]}"),
        {**account, "imagePullSecrets": [{"name": "for-account"}]},
    ]
    # The API server writes a ServiceAccount's secrets into a pod unless it has its own.
    missing = [{"name": "is-not-there"}]
    pods = [
        runs(registry, REPOSITORIES[0], imagePullSecrets=[{"name": "for-pod"}]),
        runs(registry, REPOSITORIES[1], serviceAccountName="puller", imagePullSecrets=missing),
        runs(registry, REPOSITORIES[2]),
    ]
    with applied(kube, before):
        wait_for(lambda: kube.get("v1", "ServiceAccount", "default", SPACE), "the service account", timeout=30)
        for each in pods:
            kube.create(each)
        yield control_plane


def secret(name: str, key: str) -> Object:
    """A pull secret for one repository."""
    config = {"auths": {key: {"username": ACCOUNT.user, "password": ACCOUNT.password}}}
    data = {".dockerconfigjson": base64.b64encode(json.dumps(config).encode()).decode()}
    meta = {"name": name, "namespace": SPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": SECRET_TYPE, "data": data}


def runs(registry: Server, repository: str, **spec: Any) -> Object:
    """A pod of one image that nobody schedules."""
    made = pod(repository.rpartition("/")[2], schedulerName="nobody", **spec)
    made["metadata"]["namespace"] = SPACE
    made["spec"]["containers"][0]["image"] = f"{registry.host}/{repository}:1.0"
    return made


def verdicts(ran: Ran) -> dict[str, str]:
    """The verdict for arm64 by repository."""
    assert ran.code == 0, ran.err
    return {
        row["image"].partition("/")[2].rpartition(":")[0]: each["verdict"]
        for row in ran.json["images"]
        for each in row["verdicts"]
        if each["architecture"] == "arm64"
    }


def test_pull_secrets_of_pods_and_of_their_accounts_open_the_registry(run: type_of_run, plane: ControlPlane) -> None:
    ran = run("audit", "images", "--kubeconfig", str(plane.kubeconfig), "-n", SPACE, "-o", "json")
    assert verdicts(ran) == dict(zip(REPOSITORIES, ("supported", "supported", "unknown"), strict=True))
    (rejected,) = (row for row in ran.json["images"] if REPOSITORIES[2] in row["image"])
    assert "denied" in rejected["verdicts"][0]["reason"]
    assert ACCOUNT.password not in ran.out + ran.err


def test_without_the_right_to_read_secrets_the_audit_goes_on(
    run: type_of_run, plane: ControlPlane, tmp_path: Path
) -> None:
    token = account_token(plane.kube, "reader", SPACE, READER)
    file = write_kubeconfig(tmp_path / "config", plane.kube.access, {"token": token})
    ran = run("audit", "images", "--kubeconfig", str(file), "-n", SPACE, "-o", "json")
    assert verdicts(ran) == dict.fromkeys(REPOSITORIES, "unknown")
    notes = [line for line in ran.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 3
    user = f"system:serviceaccount:{SPACE}:reader"
    for name, note in zip(("for-account", "for-pod", "is-not-there"), notes, strict=True):
        assert note.startswith(f"note: {user} may not get secrets {name} in namespace {SPACE}.")
        assert f'resourceNames: ["{name}"]' in note
