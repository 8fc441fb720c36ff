"""On a real API server: a pod of an autoscaler that EKS gave no credentials is rejected, and comes back with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from components.iam import pod_identity as component
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.programs import wait_for

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
    made = [*component.guard_manifests(ACCOUNT), *accounts]
    for each in made:
        kube.apply(dict(each))
    try:
        wait_for(lambda: SAID in rejected(kube, pod("early")), "the policy to be in effect", timeout=30)
        yield kube
    finally:
        for each in reversed(made):
            kube.delete(each)


def rejected(kube: Kube, item: Object) -> str:
    """What the API server says against a pod, in a dry run; empty if it would take it."""
    try:
        path = kube.path("v1", "Pod", item["metadata"]["namespace"])
        kube.request("POST", path, body=item, query={"dryRun": "All"})
    except KubeError as error:
        return f"{error.reason}: {error.message}"
    return ""


def test_a_pod_without_credentials_is_rejected_with_the_reason(kube: Kube) -> None:
    assert SAID in rejected(kube, pod("bare"))
    assert rejected(kube, pod("bare")).startswith("Forbidden: ")
    assert SAID in rejected(kube, pod("other-variables", env=[{"name": "AWS_REGION", "value": "eu-west-1"}]))
    assert SAID in rejected(kube, pod("two", containers=2))


def test_a_pod_with_credentials_is_taken_also_beside_a_container_that_came_later(kube: Kube) -> None:
    assert rejected(kube, pod("ready", env=CREDENTIALS)) == ""
    assert rejected(kube, pod("with-sidecar", containers=2, env=CREDENTIALS)) == ""


def test_pods_of_other_service_accounts_and_namespaces_are_not_looked_at(kube: Kube) -> None:
    assert rejected(kube, pod("other", account="other")) == ""
    assert rejected(kube, pod("elsewhere", namespace="default")) == ""
