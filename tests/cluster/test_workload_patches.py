"""Patches of manifests do in a real API server what is done to the manifests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.patching.patches import (
    build_json_patch,
    build_strategic_merge_patch,
    list_changed_templates,
)
from multiarch.patching.transform import SchedulingChange, WhenUnsatisfiable, transform_pod_spec
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import stand_in_definition, workload_of
from tests.scheduling.manifests import expression

ARM = Architecture.ARM64
HOST = "kubernetes.io/hostname"
TAINT = parse_taint("arch=arm64:NoSchedule")


@pytest.fixture
def kube(control_plane: ControlPlane) -> Kube:
    return control_plane.kube


SSD = expression("disk", "In", "ssd")

RULES = {
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}, {"key": "x", "effect": "NoExecute", "tolerationSeconds": 3}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "x"}}}
            ]
        },
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [SSD]},
                    {},
                    {"matchExpressions": [expression("a", "Exists")]},
                ]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 3, "preference": {"matchExpressions": [SSD]}}
            ],
        },
    },
}
CHANGES = {
    "require": SchedulingChange(require=ARM),
    "prefer": SchedulingChange(prefer=ARM, tolerate=(TAINT,)),
    "tolerate": SchedulingChange(tolerate=(TAINT, parse_taint("b:NoExecute"))),
}


SPREAD = SchedulingChange(spread_zones=WhenUnsatisfiable.DO_NOT_SCHEDULE)


def dry(kube: Kube, method: str, item: Object, body: object, content_type: str) -> Object:
    """What the object would be afterwards."""
    return kube.request(
        method, kube.path_of(item), body=body, query={"dryRun": "All"}, content_type=f"application/{content_type}"
    )


@pytest.mark.parametrize("rules", [{}, RULES], ids=["without-rules", "with-rules"])
@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "CronJob"])
def test_patches_do_in_the_api_server_what_is_done_to_the_manifest(
    kube: Kube, kind: str, rules: Mapping[str, Any]
) -> None:
    item = workload_of(kind, f"patched-{kind.lower()}", "default", **rules)
    kube.create(item)
    try:
        spread = [SPREAD] if kind == "Deployment" else []
        for requested in [*CHANGES.values(), *spread]:
            here = live(kube, item)
            ((template, change),) = list_changed_templates(here, requested)
            merged = build_strategic_merge_patch(here, requested)
            expected = dry(kube, "PUT", item, with_spec(here, template.path, change.spec), "json")["spec"]
            assert expected != here["spec"]
            operations = build_json_patch(change.additions, template.path)
            assert dry(kube, "PATCH", item, operations, "json-patch+json")["spec"] == expected
            assert dry(kube, "PATCH", item, merged, "strategic-merge-patch+json")["spec"] == expected
            patch_type = "application/strategic-merge-patch+json"
            kube.request("PATCH", kube.path_of(item), body=merged, content_type=patch_type)
            assert build_strategic_merge_patch(live(kube, item), requested) is None
    finally:
        kube.delete(item)


def live(kube: Kube, item: Object) -> Object:
    """The object as it is, for an update that does not mind what controllers wrote into its status meanwhile."""
    found = kube.get(item["apiVersion"], item["kind"], item["metadata"]["name"], "default")
    assert found is not None
    del found["metadata"]["resourceVersion"]
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], **found}


def with_spec(item: Mapping[str, Any], path: Sequence[str | int], spec: object) -> Object:
    changed: Object = json.loads(json.dumps(item))
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = spec
    return changed


def test_a_custom_resource_takes_the_same_patch_as_a_json_merge_patch(kube: Kube) -> None:
    definition = stand_in_definition("tests.example.com/v1", "Rollout")
    template = {"spec": {"containers": [{"name": "a", "image": "a"}], **RULES}}
    item = {
        "apiVersion": "tests.example.com/v1",
        "kind": "Rollout",
        "metadata": {"name": "r", "namespace": "default"},
        "spec": {"template": template},
    }
    kube.create(definition)
    try:
        wait_for(lambda: created(kube, item), "the definition to be served", timeout=30, pause=0.2)
        for requested in CHANGES.values():
            patch = build_strategic_merge_patch(item, requested)
            after = dry(kube, "PATCH", item, patch, "merge-patch+json")
            assert after["spec"]["template"]["spec"] == transform_pod_spec(template["spec"], requested).spec
            with pytest.raises(KubeError) as raised:
                dry(kube, "PATCH", item, patch, "strategic-merge-patch+json")
            assert raised.value.code == 415
    finally:
        kube.delete(definition)


def created(kube: Kube, item: Object) -> bool:
    try:
        kube.create(item)
    except KubeError as error:
        if error.code in {404, 409}:
            return error.code == 409
        raise
    return True
