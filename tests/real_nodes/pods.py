"""Pods for the real nodes, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from multiarch.facts.architectures import Architecture
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.pods import end_pods
from sandbox.cluster.programs import wait_for

SPACE = "real"
SHORT: Mapping[str, Any] = {
    "terminationGracePeriodSeconds": 1,
    "automountServiceAccountToken": False,
    "enableServiceLinks": False,
}
"""What makes a pod start and end soon."""
TOLERATES = [{"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}]


@contextmanager
def namespace(kube: Kube) -> Iterator[None]:
    """Provide the namespace of the tests' pods; its workloads and pods go at the end.

    The namespace stays as long as the cluster. Its deletion would fail while anything is left in it, and the namespace
    controller tries again after 5, 10, 20 and more seconds.
    """
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    wait_for(lambda: kube.get("v1", "ServiceAccount", "default", SPACE), "the service account", timeout=20)
    try:
        yield
    finally:
        end_pods(kube, SPACE)


def pod(name: str, image: str, architecture: Architecture) -> Object:
    """A pod of one container, for nodes of an architecture; it tolerates the taint of arm64."""
    selector = {"kubernetes.io/arch": str(architecture)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": SPACE, "labels": {"app": name}},
        "spec": template(image) | {"nodeSelector": selector, "tolerations": TOLERATES},
    }


def template(image: str) -> dict[str, Any]:
    """The specification of a pod of one container."""
    return {"containers": [{"name": "main", "image": image, "imagePullPolicy": "Always"}], **SHORT}


def wait_until_running(kube: Kube, name: str) -> None:
    """Wait until a pod's only container runs."""

    def is_running() -> bool:
        statuses = (kube.get("v1", "Pod", name, SPACE) or {}).get("status", {}).get("containerStatuses") or [{}]
        return "running" in statuses[0].get("state", {})

    wait_for(is_running, f"{name} to run", timeout=60)


def log(kube: Kube, name: str) -> str:
    """What a pod's container has printed, by way of the API server and the kubelet."""
    return str(kube.request("GET", f"/api/v1/namespaces/{SPACE}/pods/{name}/log")["text"])


def printed(kube: Kube, name: str) -> str:
    """What a running container has printed, once that is anything: "running" comes before its program's first line."""
    return wait_for(lambda: log(kube, name), f"{name} to print something", timeout=60)
