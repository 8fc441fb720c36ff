"""Workloads of a Pulumi program are changed on their way to the engine.

The engine's side is a stand-in: it calls transforms back as the engine does, over the SDK's own callback server, and
records what comes of it. It does not show what the Kubernetes provider makes of the properties.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any

import grpc
import pulumi
import pytest
from pulumi.runtime.proto import callback_pb2, callback_pb2_grpc, resource_pb2
from pulumi.runtime.settings import Settings
from pulumi.runtime.stack import run_in_stack

from components.architecture_transform import architecture_transform
from components.rendering.marked_values import Where
from components.rendering.recording import Recorder
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.patching.transform import SchedulingChange, transform_pod_spec
from tests.scheduling.manifests import ARM64_TOLERATION, expression, required

# Imported by name: with the types of all its API groups, checking this file's would take gigabytes.
kubernetes: Any = importlib.import_module("pulumi_kubernetes")
ARM = Architecture.ARM64
TOLERATE = SchedulingChange(tolerate=(parse_taint("arch=arm64:NoSchedule"),))
PREFER = SchedulingChange(prefer=ARM, tolerate=TOLERATE.tolerate)
REQUIRE = SchedulingChange(require=ARM)
CONTAINERS = [{"name": "a", "image": "b"}]
Json = dict[str, Any]


class Engine(Recorder):
    """Calls a resource's transforms back before it records it, as the engine does."""

    def SupportsFeature(self, request: Any) -> Any:  # noqa: ANN401, N802  (the protocol's name)
        """The engine knows transforms."""
        known = request.id in {"transforms", "secrets", "outputValues"}
        return resource_pb2.SupportsFeatureResponse(hasSupport=known)

    def RegisterResource(  # noqa: N802  (the protocol's name)
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        for callback in request.transforms:
            with grpc.insecure_channel(callback.target) as channel:
                asked = resource_pb2.TransformRequest(
                    type=request.type, name=request.name, custom=request.custom, properties=request.object
                )
                answer = callback_pb2_grpc.CallbacksStub(channel).Invoke(
                    callback_pb2.CallbackInvokeRequest(token=callback.token, request=asked.SerializeToString())
                )
            changed = resource_pb2.TransformResponse.FromString(answer.response)
            request.object.CopyFrom(changed.properties)
        return super().RegisterResource(request)


def declared(
    program: Callable[[pulumi.ResourceOptions], object],
    change: SchedulingChange,
    *,
    preview: bool = False,
    named: str = "",
) -> Json:
    """The inputs, as they reach the provider, of the one resource that a program declares, or of the one ``named``."""

    def inside() -> Recorder:
        engine = Engine(Where.of("eu-west-1"))
        Settings(project="multiarch-eks", stack="shop-dev", monitor=engine, dry_run=preview)
        options = pulumi.ResourceOptions(transforms=[architecture_transform(change)])

        def run() -> None:
            program(options)

        asyncio.run(run_in_stack(run))
        return engine

    engine = copy_context().run(inside)
    (found,) = [each for each in engine.recorded() if each.custom and named in {"", each.name}]
    return dict(found.inputs)


def deployment(**rules: Any) -> Callable[[pulumi.ResourceOptions], object]:
    """A Deployment as a program has it, in plain values."""
    spec = {"selector": {}, "template": {"spec": {"containers": CONTAINERS, **rules}}}
    return lambda options: kubernetes.apps.v1.Deployment("api", spec=spec, opts=options)


def pod_spec(inputs: Mapping[str, Any]) -> Json:
    found: Json = inputs["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize(
    ("rules", "change"),
    [
        ({"tolerations": [{"key": "x", "operator": "Exists", "tolerationSeconds": 3, "effect": "NoExecute"}]}, PREFER),
        ({"affinity": required([expression("disk", "In", "ssd")], [expression("gpu", "Exists")])}, REQUIRE),
    ],
)
def test_a_deployment_reaches_the_engine_as_the_algebra_says(rules: Json, change: SchedulingChange) -> None:
    found = declared(deployment(**rules), change)
    assert pod_spec(found) == transform_pod_spec({"containers": CONTAINERS, **rules}, change).spec


def test_typed_arguments_are_changed_too() -> None:
    core = kubernetes.core.v1

    def program(options: pulumi.ResourceOptions) -> object:
        template = core.PodTemplateSpecArgs(
            spec=core.PodSpecArgs(
                containers=[core.ContainerArgs(name="a", image="b")],
                tolerations=[core.TolerationArgs(key="x", operator="Exists", effect="NoExecute", toleration_seconds=3)],
            )
        )
        job = kubernetes.batch.v1.JobTemplateSpecArgs(spec=kubernetes.batch.v1.JobSpecArgs(template=template))
        spec = kubernetes.batch.v1.CronJobSpecArgs(schedule="@daily", job_template=job)
        return kubernetes.batch.v1.CronJob("nightly", spec=spec, opts=options)

    found = declared(program, TOLERATE)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    first = {"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}
    assert found["tolerations"] == [first, ARM64_TOLERATION]


def test_pods_patches_and_custom_resources_are_changed_where_they_have_a_pod_spec() -> None:
    def pod(options: pulumi.ResourceOptions) -> object:
        return kubernetes.core.v1.Pod("one", spec={"containers": CONTAINERS}, opts=options)

    def patch(options: pulumi.ResourceOptions) -> object:
        spec = {"template": {"spec": {"tolerations": [{"operator": "Exists", "key": "x"}]}}}
        return kubernetes.apps.v1.DeploymentPatch("api", spec=spec, opts=options)

    def custom(options: pulumi.ResourceOptions) -> object:
        spec = {"template": {"spec": {"containers": CONTAINERS}}}
        return kubernetes.apiextensions.CustomResource(
            "r", api_version="argoproj.io/v1alpha1", kind="Rollout", spec=spec, opts=options
        )

    assert declared(pod, TOLERATE)["spec"]["tolerations"] == [ARM64_TOLERATION]
    assert pod_spec(declared(patch, TOLERATE))["tolerations"] == [{"operator": "Exists", "key": "x"}, ARM64_TOLERATION]
    assert pod_spec(declared(custom, TOLERATE))["tolerations"] == [ARM64_TOLERATION]


def test_what_has_no_pods_stays_as_it_is() -> None:
    def program(options: pulumi.ResourceOptions) -> object:
        return kubernetes.core.v1.ConfigMap("words", data={"template": "spec"}, opts=options)

    found = declared(program, PREFER)
    assert found == {"apiVersion": "v1", "kind": "ConfigMap", "data": {"template": "spec"}}


def changed(props: Mapping[str, Any], change: SchedulingChange, *, type_: str = "kubernetes:apps/v1:Deployment") -> Any:  # noqa: ANN401
    """What the transform alone makes of properties, ``None`` where it leaves them."""

    async def run() -> Any:  # noqa: ANN401
        args = pulumi.ResourceTransformArgs(True, type_, "api", props, pulumi.ResourceOptions())  # noqa: FBT003
        result = await architecture_transform(change)(args)
        return None if result is None else result.props

    return asyncio.run(run())


def test_secrets_and_outputs_on_the_way_keep_their_wrapping() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
    spec = {**secret, "value": {"template": {"spec": {"containers": CONTAINERS}}}}
    made = changed({"spec": spec}, TOLERATE)["spec"]
    assert made.items() >= secret.items()
    assert made["value"]["template"]["spec"]["tolerations"] == [ARM64_TOLERATION]

    async def through_an_output() -> tuple[Any, bool]:
        rules = pulumi.Output.secret([{"key": "x", "operator": "Exists"}])
        props = {"spec": {"template": {"spec": {"containers": CONTAINERS, "tolerations": rules}}}}
        args = pulumi.ResourceTransformArgs(True, "kubernetes:apps/v1:Deployment", "a", props, pulumi.ResourceOptions())  # noqa: FBT003
        result = await architecture_transform(TOLERATE)(args)
        assert result is not None
        found: Any = result.props
        output = found["spec"]["template"]["spec"]["tolerations"]
        return await output.future(), await output.is_secret()

    assert asyncio.run(through_an_output()) == ([{"key": "x", "operator": "Exists"}, ARM64_TOLERATION], True)


@pytest.mark.parametrize("unknown", ["image", "replicas"])
def test_a_preview_shows_the_change_though_other_values_are_unknown(unknown: str) -> None:
    def program(options: pulumi.ResourceOptions) -> object:
        first = kubernetes.core.v1.ConfigMap("first")
        image = first.metadata.apply(lambda _: "b") if unknown == "image" else "b"
        replicas = first.metadata.apply(lambda _: 3) if unknown == "replicas" else 3
        spec = {"replicas": replicas, "template": {"spec": {"containers": [{"name": "a", "image": image}]}}}
        return kubernetes.apps.v1.Deployment("api", spec=spec, opts=options)

    found = declared(program, TOLERATE, preview=True, named="api")
    assert pod_spec(found)["tolerations"] == [ARM64_TOLERATION]
    assert "<known once it runs>" in str(found)


def test_a_preview_leaves_alone_what_it_does_not_know() -> None:
    def program(options: pulumi.ResourceOptions) -> object:
        rules = kubernetes.core.v1.ConfigMap("first").metadata.apply(lambda _: [])
        return deployment(tolerations=rules)(options)

    assert pod_spec(declared(program, TOLERATE, preview=True, named="api"))["tolerations"] == "<known once it runs>"


def test_what_contradicts_stops_the_program_and_names_the_resource() -> None:
    rules = {"containers": CONTAINERS, "nodeSelector": {"kubernetes.io/arch": "amd64"}}
    with pytest.raises(pulumi.RunError) as raised:
        changed({"spec": {"template": {"spec": rules}}}, REQUIRE)
    said = str(raised.value)
    assert said.startswith("kubernetes:apps/v1:Deployment api: ")
    assert "can't require architecture arm64: nodeSelector requires kubernetes.io/arch=amd64" in said


def test_only_what_is_selected_is_changed() -> None:
    async def run(name: str) -> bool:
        props = {"spec": {"containers": CONTAINERS}}
        args = pulumi.ResourceTransformArgs(True, "kubernetes:core/v1:Pod", name, props, pulumi.ResourceOptions())  # noqa: FBT003
        chosen = architecture_transform(TOLERATE, selects=lambda args: args.name.startswith("api"))
        return await chosen(args) is not None

    assert asyncio.run(run("api-1"))
    assert not asyncio.run(run("web"))
