"""Objects and releases are declared without the SDK's typed classes: the engine must not be able to tell."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import Settings
from pulumi.runtime.stack import run_in_stack

from components import kubernetes_api
from components.component import Component, Naming
from components.kubernetes_api import Chart, ChildInCluster, InCluster
from components.rendering.marked_values import Where
from components.rendering.recording import Recorder
from multiarch.errors import OutsideError
from multiarch.facts.taints import parse_taint
from multiarch.observed.resources.declared import DeclaredResource
from tests.components import autoscaled
from tests.components.declared import World
from tests.kubernetes.api_server import serving
from tests.kubernetes.certificates import Authority, authority

VALUES = {"replicas": 2, "settings": {"clusterName": "shop-dev"}, "tolerations": [{"operator": "Exists"}]}
STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "gp3"},
    "provisioner": "ebs.csi.aws.com",
}


class Engine(Recorder):
    """Answers for a release with a status too."""

    def __init__(self, status: Mapping[str, Any]) -> None:
        super().__init__(Where.of("eu-west-1"))
        self._status = {"status": status} if status else {}

    def RegisterResource(  # noqa: N802  (the protocol's name)
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        response = super().RegisterResource(request)
        if request.type.endswith(":Release"):
            response.object.update(self._status)
        return response

    def run(self, declare: Callable[[ChildInCluster], object], *, preview: bool) -> list[DeclaredResource]:
        """What a program declares in the cluster."""

        def program() -> None:
            platform = Component("platform", Naming("shop-dev", ()))
            provider = kubernetes.Provider("cluster", kubeconfig="{}")
            declare(ChildInCluster("owner", platform, InCluster("shop-dev", provider, ())))

        def inside() -> None:
            Settings(project="multiarch-eks", stack="shop-dev", monitor=self, dry_run=preview)
            asyncio.run(run_in_stack(program))

        copy_context().run(inside)
        return self.declared()

    def declared(self) -> list[DeclaredResource]:
        return [each for each in self.recorded() if each.type.startswith("kubernetes:")]


def release(owner: ChildInCluster) -> object:
    chart = Chart("karpenter", "1.14.1", repository="https://charts.example.com", skip_crds=True)
    return owner.declare_release("karpenter", chart, VALUES)


def sdks_release(owner: ChildInCluster) -> object:
    return kubernetes.helm.v3.Release(
        "karpenter",
        chart="karpenter",
        version="1.14.1",
        name="karpenter",
        namespace="kube-system",
        repository_opts=kubernetes.helm.v3.RepositoryOptsArgs(repo="https://charts.example.com"),
        skip_crds=True,
        values=VALUES,
        max_history=10,
        timeout=600,
        opts=owner.place(),
    )


def sdks_object(owner: ChildInCluster) -> object:
    return kubernetes.storage.v1.StorageClass(
        "gp3", metadata={"name": "gp3"}, provisioner="ebs.csi.aws.com", opts=owner.place()
    )


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (release, sdks_release),
        (lambda owner: owner.declare_object("gp3", STORAGE_CLASS), sdks_object),
    ],
)
def test_what_is_declared_is_what_the_sdks_class_declares(
    ours: Callable[[ChildInCluster], object], theirs: Callable[[ChildInCluster], object]
) -> None:
    assert Engine({}).run(ours, preview=True) == Engine({}).run(theirs, preview=True) != []


def test_a_controller_tolerates_each_taint_once() -> None:
    arm64 = parse_taint("arch=arm64:NoSchedule")
    assert kubernetes_api.system_tolerations([arm64, parse_taint("batch:NoExecute"), arm64]) == [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
        {"key": "batch", "operator": "Equal", "effect": "NoExecute"},
    ]


def test_charts_and_images_of_others_come_from_the_organisations_registries_in_the_same_version(
    charted: World, copied: World
) -> None:
    before, after = (
        {each.name: dict(each.inputs) for each in found.all(autoscaled.RELEASE)} for found in (charted, copied)
    )
    assert {name: release["chart"] for name, release in after.items()} == {
        name: release["chart"] if name == "multiarch-webhook" else f"oci://r.example:5000/c/{name}"
        for name, release in before.items()
    }
    assert len(after) == 7
    assert [name for name, release in after.items() if "repositoryOpts" in release] == []
    images = {
        "aws-efa-k8s-device-plugin": "r.example/p/eks/aws-efa-k8s-device-plugin",
        "aws-node-termination-handler": "r.example/p/aws-ec2/aws-node-termination-handler",
        "cluster-autoscaler": "r.example/k/autoscaling/cluster-autoscaler",
        "nvidia-device-plugin": "r.example/n/nvidia/k8s-device-plugin",
    }
    values: dict[str, Any] = {name: release["values"] for name, release in after.items()}
    assert {name: values[name]["image"]["repository"] for name in images} == images
    assert values["karpenter"]["controller"]["image"]["repository"].startswith("r.example/p/karpenter/")
    assert {name: release["version"] for name, release in after.items()} == {
        name: release["version"] for name, release in before.items()
    }


def release_and_pool(owner: ChildInCluster) -> None:
    """A release, and an object that needs what it installs."""
    owner.declare_object("gp3", STORAGE_CLASS, [owner.declare_release("karpenter", Chart("karpenter", "1.14.1"), {})])


STATUS = {"status": "pending-upgrade", "name": "karpenter", "namespace": "kube-system", "revision": 3}


@pytest.mark.parametrize("status", [STATUS, {**STATUS, "status": "failed"}])
def test_an_update_ends_at_a_release_that_is_not_deployed_and_a_preview_warns(
    status: Mapping[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    said = f"kube-system/karpenter is {status['status']} \\(revision 3\\), not deployed.*helm rollback karpenter 3 "
    update, preview = Engine(status), Engine(status)
    with pytest.raises(pulumi.RunError, match=said):
        update.run(release_and_pool, preview=False)
    assert [each.name for each in update.declared()] == ["karpenter"]  # without what needs it
    assert sorted(each.name for each in preview.run(release_and_pool, preview=True)) == ["gp3", "karpenter"]
    assert "helm rollback karpenter 3 --namespace kube-system --wait" in capfd.readouterr().err


@pytest.mark.parametrize("preview", [True, False])
def test_what_depends_on_a_deployed_release_comes_after_it(preview: bool) -> None:  # noqa: FBT001 (a parameter)
    engine = Engine({**STATUS, "status": "deployed"})
    first, pool = sorted(engine.run(release_and_pool, preview=preview), key=lambda each: each.type)
    assert pool.dependencies == {first.urn}


def hook(server: str, trusted: Authority) -> pulumi.ResourceHookArgs:
    """What the engine gives a hook before it creates a Kubernetes provider."""
    cluster = {
        "server": server,
        "certificate-authority-data": base64.b64encode(trusted.certificate.read_bytes()).decode(),
    }
    inputs = {"kubeconfig": json.dumps({"clusters": [{"name": "shop", "cluster": cluster}]})}
    return pulumi.ResourceHookArgs("urn", "", "cluster", "pulumi:providers:kubernetes", new_inputs=inputs)


def test_a_new_api_server_is_waited_for_until_the_time_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API server that rejects the request, 401 or 403, answers; one with another certificate does not."""
    monkeypatch.setattr(kubernetes_api, "_PAUSE", 0.01)
    own, other = authority(tmp_path), authority(tmp_path, "other")
    answers = iter([503, 503, 200, 503, 401, 403])
    with serving(lambda _: (next(answers), b"", {}), pair=own.issue("api", tmp_path)) as server:
        for requests in (3, 5, 6):
            asyncio.run(kubernetes_api.wait_for_api(hook(server.url, own)))
            assert [request.path for request in server.requests] == ["/readyz"] * requests
        monkeypatch.setattr(kubernetes_api, "_ANSWERS_WITHIN", 0.05)
        with pytest.raises(OutsideError, match="CERTIFICATE_VERIFY_FAILED"):
            asyncio.run(kubernetes_api.wait_for_api(hook(server.url, other)))
    with pytest.raises(OutsideError, match=r"did not answer within 0.05 s: .*refused.*networks that reach the VPC"):
        asyncio.run(kubernetes_api.wait_for_api(hook(server.url, own)))
