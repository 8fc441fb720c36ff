from __future__ import annotations

from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.owners import WorkloadKey
from multiarch.verify.pods.containers import PodReader
from multiarch.verify.pods.model import StartFailure
from tests.verify.pods.made import INDEX, crashing, pod, read, status

API = f"example.com/api@{INDEX}"


def test_containers_of_all_three_lists_are_read_with_their_roles() -> None:
    made = pod(
        status("app", "api:1", API, 1),
        spec={
            "initContainers": [
                {"name": "migrate", "image": "m:1"},
                {"name": "p", "image": "p:1", "restartPolicy": "Always"},
            ],
            "containers": [{"name": "app", "image": "api:1"}],
            "ephemeralContainers": [{"name": "debug", "image": "d:1"}],
        },
        initContainerStatuses=[
            status("migrate", "m:1", API, 2, state={"terminated": {"reason": "Completed", "exitCode": 0}}),
            status("p", "p:1", API, 3),
        ],
        ephemeralContainerStatuses=[status("debug", "d:1", API, 4)],
    )
    found = read(made).containers
    assert [(each.name, each.role, each.state, each.running) for each in found] == [
        ("app", ContainerRole.CONTAINER, "running", True),
        ("migrate", ContainerRole.INIT, "Completed", False),
        ("p", ContainerRole.SIDECAR, "running", True),
        ("debug", ContainerRole.EPHEMERAL, "running", True),
    ]
    assert found[0].container_id == f"{1:064x}"


def test_the_image_is_the_specs_and_the_status_may_say_another_name() -> None:
    made = pod(status("app", "mirror.example.com/api:1", API), spec={"containers": [{"name": "app", "image": "api:1"}]})
    (found,) = read(made).containers
    assert (found.image, found.reported, found.image_id) == ("api:1", "mirror.example.com/api:1", API)


def test_pods_are_their_workloads_whichever_is_read_first() -> None:
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "api-5d4f",
            "namespace": "shop",
            "ownerReferences": [{"kind": "Deployment", "name": "api", "controller": True}],
        },
    }
    made = pod(status("app", "api:1", API), owner=("ReplicaSet", "api-5d4f"))
    for objects in ((made, replica_set), (replica_set, made)):
        (found,) = read(*objects).containers
        assert found.workload == WorkloadKey("shop", "Deployment", "api")
    (alone,) = read(made).containers
    assert str(alone.workload) == "ReplicaSet/api-5d4f"


def test_what_failed_to_start_for_its_architecture_is_told_by_its_message() -> None:
    (found,) = read(pod(status("app", "api:1", API, **crashing()))).containers
    assert (found.running, found.state, found.failure) == (False, "CrashLoopBackOff", StartFailure.EXEC_FORMAT)
    message = 'failed to pull and unpack image "api:1": no match for platform in manifest: not found'
    waiting: dict[str, Any] = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": message}}}
    (found,) = read(pod(status("app", "api:1", "", **waiting))).containers
    assert (found.state, found.failure) == ("ImagePullBackOff", StartFailure.NO_PLATFORM)


@pytest.mark.parametrize(
    ("more", "failure", "exit_code"),
    [
        # A container that crash-loops runs for a moment again and again.
        ({"lastState": crashing()["lastState"]}, StartFailure.EXEC_FORMAT, 128),
        (crashing(""), None, 128),
        ({}, None, 0),
    ],
)
def test_the_latest_run_that_ended_says_how(more: dict[str, Any], failure: StartFailure | None, exit_code: int) -> None:
    (found,) = read(pod(status("app", "api:1", API, **more))).containers
    assert (found.failure, found.exit_code) == (failure, exit_code)


def test_containers_that_have_not_started_are_counted() -> None:
    waiting: dict[str, Any] = {"state": {"waiting": {"reason": "ContainerCreating"}}}
    pods = read(
        pod(status("app", "api:1", "", **waiting), status("b", "b:1", API)),
        pod(spec={"nodeName": "", "containers": [{"name": "a"}, {"name": "b"}]}, name="pending", phase="Pending"),
    )
    assert ([each.name for each in pods.containers], pods.not_started) == (["b"], 3)


def test_pods_that_have_ended_are_omitted_unless_their_architecture_ended_them() -> None:
    done: dict[str, Any] = {"state": {"terminated": {"reason": "Completed"}}}
    failed: dict[str, Any] = {
        "state": {"terminated": {"reason": "StartError", "message": "exec /app: exec format error"}}
    }
    pods = read(
        pod(status("app", "api:1", API, **done), name="done", phase="Succeeded"),
        pod(status("app", "api:1", API, **failed), name="failed", phase="Failed"),
    )
    assert ([each.pod for each in pods.containers], pods.not_started) == (["failed"], 0)


def test_what_no_api_server_would_have_names_its_place() -> None:
    made = pod(status("app", "api:1", API))
    made["status"]["containerStatuses"][0]["imageID"] = 7
    reader = PodReader()
    with pytest.raises(MultiarchError, match=r"status\.containerStatuses\[0\]\.imageID: must be a string") as caught:
        reader.read([LoadedObject(made, Source("pods.yaml", 1, 3))])
    assert str(caught.value).startswith("pods.yaml:3, document 1")
