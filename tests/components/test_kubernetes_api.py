"""Objects and releases are declared without the SDK's typed classes: the engine must not be able to tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi.runtime.settings import Settings
from pulumi.runtime.stack import run_in_stack

from components import kubernetes_api
from components.kubernetes_api import Chart
from components.rendering.marked_values import Where
from components.rendering.recording import Recorded, Recorder
from multiarch.facts.taints import parse_taint

VALUES = {"replicas": 2, "settings": {"clusterName": "shop-dev"}, "tolerations": [{"operator": "Exists"}]}
STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "gp3"},
    "provisioner": "ebs.csi.aws.com",
}


def declared_by(declare: Callable[[], object]) -> Recorded:
    """What one program declares beside the stack."""

    def program() -> None:
        declare()

    def inside() -> Recorder:
        recorder = Recorder(Where.of("eu-west-1"))
        Settings(project="multiarch-eks", stack="shop-dev", monitor=recorder, dry_run=True)
        asyncio.run(run_in_stack(program))
        return recorder

    recorder = copy_context().run(inside)
    found = [resource for resource in recorder.recorded() if resource.custom]
    assert len(found) == 1
    return found[0]


def test_a_release_is_what_the_sdks_class_declares() -> None:
    def ours() -> object:
        chart = Chart("karpenter", "1.14.1", repository="https://charts.example.com", skip_crds=True)
        return kubernetes_api.declare_release("karpenter", chart, VALUES, pulumi.ResourceOptions())

    def theirs() -> object:
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
        )

    assert declared_by(ours) == declared_by(theirs)


def test_an_object_is_what_the_sdks_class_declares() -> None:
    def ours() -> object:
        return kubernetes_api.declare_object("gp3", STORAGE_CLASS, pulumi.ResourceOptions())

    def theirs() -> object:
        return kubernetes.storage.v1.StorageClass("gp3", metadata={"name": "gp3"}, provisioner="ebs.csi.aws.com")

    assert declared_by(theirs) == declared_by(ours)


def test_a_custom_object_is_what_the_sdks_class_declares() -> None:
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}, "spec": {"weight": 9}}

    def theirs() -> object:
        return kubernetes.apiextensions.CustomResource(
            "a", api_version="karpenter.sh/v1", kind="NodePool", metadata={"name": "a"}, spec={"weight": 9}
        )

    ours = declared_by(lambda: kubernetes_api.declare_object("a", pool, pulumi.ResourceOptions()))
    assert ours == declared_by(theirs)


def test_a_controller_tolerates_each_taint_once() -> None:
    arm64 = parse_taint("arch=arm64:NoSchedule")
    assert kubernetes_api.system_tolerations([arm64, parse_taint("batch:NoExecute"), arm64]) == [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
        {"key": "batch", "operator": "Equal", "effect": "NoExecute"},
    ]
