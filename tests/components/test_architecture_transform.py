"""Workloads of a Pulumi program are changed on their way to the engine.

The transform gets what the SDK makes of the engine's requests; ``tests/e2e`` has the engine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest
from pulumi.output import UNKNOWN

from components.architecture_transform import architecture_transform
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.patching.transform import SchedulingChange, transform_pod_spec
from tests.scheduling.manifests import ARM64_TOLERATION, expression, required

ARM = Architecture.ARM64
TOLERATE = SchedulingChange(tolerate=(parse_taint("arch=arm64:NoSchedule"),))
PREFER = SchedulingChange(prefer=ARM, tolerate=TOLERATE.tolerate)
REQUIRE = SchedulingChange(require=ARM)
CONTAINERS = [{"name": "a", "image": "b"}]
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
Json = dict[str, Any]


async def transformed(props: Mapping[str, Any], change: SchedulingChange, type_: str, name: str) -> Any:  # noqa: ANN401
    """What the transform makes of properties, ``None`` where it leaves them."""
    args = pulumi.ResourceTransformArgs(True, type_, name, props, pulumi.ResourceOptions())  # noqa: FBT003
    result = await architecture_transform(change, selects=lambda args: args.name == "api")(args)
    return None if result is None else result.props


def changed(props: Mapping[str, Any], change: SchedulingChange, type_: str = DEPLOYMENT, name: str = "api") -> Any:  # noqa: ANN401
    return asyncio.run(transformed(props, change, type_, name))


def deployment(**rules: Any) -> Json:
    return {"spec": {"selector": {}, "template": {"spec": {"containers": CONTAINERS, **rules}}}}


def pod_spec(props: Mapping[str, Any]) -> Json:
    found: Json = props["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize(
    ("rules", "change"),
    [
        (
            {"tolerations": [{"key": "x", "operator": "Exists", "tolerationSeconds": 3, "effect": "NoExecute"}]},
            PREFER,
        ),
        ({"affinity": required([expression("disk", "In", "ssd")], [expression("gpu", "Exists")])}, REQUIRE),
    ],
)
def test_a_deployment_is_changed_as_the_algebra_says(rules: Json, change: SchedulingChange) -> None:
    # The engine's protocol has floats only.
    props = json.loads(json.dumps(deployment(**rules)), parse_int=float)
    found = pod_spec(changed(props, change))
    assert found == transform_pod_spec({"containers": CONTAINERS, **rules}, change).spec


def test_pods_patches_and_custom_resources_are_changed_where_they_have_a_pod_spec() -> None:
    pod = changed({"spec": {"containers": CONTAINERS}}, TOLERATE, "kubernetes:core/v1:Pod")
    assert pod["spec"]["tolerations"] == [ARM64_TOLERATION]
    own = {"operator": "Exists", "key": "x"}
    patch = {"spec": {"template": {"spec": {"tolerations": [own]}}}}
    found = changed(patch, TOLERATE, "kubernetes:apps/v1:DeploymentPatch")
    assert pod_spec(found)["tolerations"] == [own, ARM64_TOLERATION]
    custom = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", **deployment()}
    found = changed(custom, TOLERATE, "kubernetes:argoproj.io/v1alpha1:Rollout")
    assert pod_spec(found)["tolerations"] == [ARM64_TOLERATION]
    for type_ in ("kubernetes:core/v1:ConfigMap", "kubernetes:helm.sh/v3:Release", "aws:s3/bucket:Bucket"):
        assert changed({"data": {"template": "spec"}}, PREFER, type_) is None


def test_secrets_and_outputs_on_the_way_keep_their_wrapping() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
    made = changed({"spec": {**secret, "value": deployment()["spec"]}}, TOLERATE)["spec"]
    assert made.items() >= secret.items()
    assert made["value"]["template"]["spec"]["tolerations"] == [ARM64_TOLERATION]

    async def through_an_output() -> tuple[Any, bool]:
        rules = pulumi.Output.secret([{"key": "x", "operator": "Exists"}])
        output = pod_spec(await transformed(deployment(tolerations=rules), TOLERATE, DEPLOYMENT, "api"))["tolerations"]
        return await output.future(), await output.is_secret()

    assert asyncio.run(through_an_output()) == ([{"key": "x", "operator": "Exists"}, ARM64_TOLERATION], True)


def test_a_preview_shows_the_change_unless_the_pods_rules_are_unknown(capfd: pytest.CaptureFixture[str]) -> None:
    found = pod_spec(changed(deployment(containers=[{"name": "a", "image": UNKNOWN}]), TOLERATE))
    assert found["tolerations"] == [ARM64_TOLERATION]
    assert found["containers"][0]["image"] is UNKNOWN
    assert changed(deployment(tolerations=UNKNOWN), TOLERATE) is None
    assert "left unchanged until its pod's scheduling fields are known" in capfd.readouterr().err


def test_what_contradicts_stops_the_program_and_names_the_resource() -> None:
    rules = {"containers": CONTAINERS, "nodeSelector": {"kubernetes.io/arch": "amd64"}}
    with pytest.raises(pulumi.RunError) as raised:
        changed({"spec": {"template": {"spec": rules}}}, REQUIRE)
    said = str(raised.value)
    assert said.startswith("kubernetes:apps/v1:Deployment api: ")
    assert "can't require architecture arm64: nodeSelector requires kubernetes.io/arch=amd64" in said


def test_only_what_is_selected_is_changed() -> None:
    assert changed(deployment(), TOLERATE) is not None
    assert changed(deployment(), TOLERATE, name="web") is None
