"""Pods and nodes as the API server has them, made from a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.owners import WorkloadKey
from multiarch.observed.nodes import ObservedNode
from multiarch.verify.pods.containers import PodReader
from multiarch.verify.pods.model import PodContainer, Pods

INDEX, MANIFEST = (f"sha256:{letter * 64}" for letter in "ab")
RUNNING: Mapping[str, Any] = {"state": {"running": {"startedAt": "2026-11-21T10:00:00Z"}}}
EXEC_FORMAT = 'failed to start: exec: "/app": exec format error: unknown'


def crashing(message: str = EXEC_FORMAT) -> dict[str, Any]:
    """The status of a container that the runtime could not start."""
    ended = {"reason": "StartError", "exitCode": 128, "message": message}
    return {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}


def ended(exit_code: int) -> dict[str, Any]:
    """The status of a container that is not started again."""
    return {"state": {"terminated": {"reason": "Error" if exit_code else "Completed", "exitCode": exit_code}}}


def status(name: str, image: str, image_id: str, number: int = 1, **more: Any) -> dict[str, Any]:
    """A container's status; it runs unless ``more`` says otherwise."""
    here = {"name": name, "image": image, "imageID": image_id, "containerID": f"containerd://{number:064x}"}
    return {**here, **RUNNING, **more}


def pod(
    *statuses: Mapping[str, Any],
    name: str = "api-1",
    node: str = "arm",
    owner: tuple[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    phase: str = "Running",
    **status_more: Any,
) -> dict[str, Any]:
    """A pod in namespace shop whose containers are as their statuses say."""
    owners = [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []
    containers = [{"name": each["name"], "image": each["image"]} for each in statuses]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", "ownerReferences": owners},
        "spec": {"nodeName": node, "containers": containers, **(spec or {})},
        "status": {"phase": phase, "containerStatuses": list(statuses), **status_more},
    }


def node(
    name: str = "arm", architecture: str = "arm64", *, label: str | None = None, provider: str = "", **info: str
) -> dict[str, Any]:
    """A node; its label says its architecture unless ``label`` says otherwise."""
    labels = {"kubernetes.io/arch": architecture if label is None else label, "topology.kubernetes.io/region": "x"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {key: text for key, text in labels.items() if text}},
        "spec": {"providerID": provider} if provider else {},
        "status": {"nodeInfo": {"architecture": architecture, "operatingSystem": "linux", **info}},
    }


def read(*objects: Mapping[str, Any]) -> Pods:
    """What is read of objects."""
    reader = PodReader()
    reader.read(LoadedObject(dict(each), Source("cluster here")) for each in objects)
    return reader.result()


def container(image_id: str = "", **more: Any) -> PodContainer:
    """A running container ``app`` of Deployment shop/api on node ``arm``."""
    given: dict[str, Any] = {
        "workload": WorkloadKey("shop", "Deployment", "api"),
        "pod": "api-1",
        "name": "app",
        "role": ContainerRole.CONTAINER,
        "node": "arm",
        "image": "example.com/team/image:1",
        "reported": "example.com/team/image:1",
        "image_id": image_id,
        "container_id": "1" * 64,
        "state": "running",
        "running": True,
    }
    return PodContainer(**given | more)


def host(architecture: str = "arm64", **more: Any) -> ObservedNode:
    """A Linux node ``arm``."""
    return ObservedNode("arm", architecture, **more)


def every(value: Sequence[Any]) -> list[str]:
    """The texts of several values."""
    return [str(each) for each in value]
