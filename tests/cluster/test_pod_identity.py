"""On a real API server: a pod of an autoscaler that EKS gave no credentials is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from components.iam import pod_identity as component
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.temporary import applied

ACCOUNT = "autoscaler"
"""Not Karpenter's own, which the other tests of the cluster use and these delete."""
NAMESPACE = "kube-system"
CREDENTIALS = [{"name": component.CREDENTIALS, "value": "http://169.254.170.23/v1/credentials"}]
SAID = f"EKS Pod Identity gave this pod of service account {NAMESPACE}/{ACCOUNT} no credentials"


def pod(name: str, *, namespace: str = NAMESPACE, account: str = ACCOUNT, containers: int = 1, **last: Any) -> Object:
    """A pod whose last container has ``last`` in addition."""
    images: list[Object] = [{"name": f"c{number}", "image": "app"} for number in range(containers)]
    images[-1].update(last)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": images, "serviceAccountName": account},
    }


@pytest.fixture(scope="module")
def kube(control_plane: ControlPlane) -> Iterator[Kube]:
    kube = control_plane.kube
    accounts = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
        for name, namespace in ((ACCOUNT, NAMESPACE), ("other", NAMESPACE), (ACCOUNT, "default"))
    ]
    with applied(kube, [*map(dict, component.guard_manifests(ACCOUNT)), *accounts]):
        wait_for(lambda: SAID in rejected(kube, pod("early")), "the policy to be in effect", timeout=30)
        yield kube


def rejected(kube: Kube, item: Object) -> str:
    """What the API server says against a pod, in a dry run; empty if it would take it."""
    try:
        path = kube.path("v1", "Pod", item["metadata"]["namespace"])
        kube.request("POST", path, body=item, query={"dryRun": "All"})
    except KubeError as error:
        return f"{error.reason}: {error.message}"
    return ""


@pytest.mark.parametrize(
    "item",
    [
        pod("bare"),
        pod("other-variables", env=[{"name": "AWS_REGION", "value": "eu-west-1"}]),
        pod("two", containers=2),
    ],
    ids=lambda item: item["metadata"]["name"],
)
def test_a_pod_without_credentials_is_rejected_with_the_reason(kube: Kube, item: Object) -> None:
    said = rejected(kube, item)
    assert said.startswith("Forbidden: ")
    assert SAID in said


@pytest.mark.parametrize(
    "item",
    [
        pod("ready", env=CREDENTIALS),
        pod("with-sidecar", containers=2, env=CREDENTIALS),
        pod("other-account", account="other"),
        pod("other-namespace", namespace="default"),
    ],
    ids=lambda item: item["metadata"]["name"],
)
def test_a_pod_with_credentials_and_those_of_others_are_taken(kube: Kube, item: Object) -> None:
    assert rejected(kube, item) == ""
