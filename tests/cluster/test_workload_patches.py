"""What is changed in manifests means to the real scheduler and API server what it is said to mean."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.patching.patches import (
    build_json_patch,
    build_strategic_merge_patch,
    change_object,
    list_changed_templates,
)
from multiarch.patching.transform import ContradictionError, SchedulingChange, WhenUnsatisfiable, transform_pod_spec
from multiarch.scheduling.affinity import read_node_affinity
from multiarch.scheduling.architectures import wrap_pod_spec
from multiarch.scheduling.tolerations import find_untolerated, read_tolerations
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import workload_of
from tests.cluster.temporary import applied
from tests.scheduling.manifests import expression, required

ARM, AMD = Architecture.ARM64, Architecture.AMD64
KEY, OLD_KEY, HOST = "kubernetes.io/arch", "beta.kubernetes.io/arch", "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
TAINT = parse_taint("arch=arm64:NoSchedule")
WRITTEN_TAINT = {"key": "arch", "value": "arm64", "effect": "NoSchedule"}
ALL_CHANGES = [
    SchedulingChange(require=ARM),
    SchedulingChange(require=AMD),
    SchedulingChange(prefer=ARM),
    SchedulingChange(tolerate=(TAINT,)),
]


@pytest.fixture
def kube(control_plane: ControlPlane) -> Kube:
    return control_plane.kube


# -- the scheduler -----------------------------------------------------------------------------------------------------

NODES: dict[str, tuple[dict[str, str], bool]] = {
    f"n-{architecture or 'none'}-{disk}-{'tainted' if tainted else 'free'}": (
        {"disk": disk, **({KEY: architecture, OLD_KEY: architecture} if architecture else {})},
        tainted,
    )
    for architecture, disk, tainted in itertools.product(("", "amd64", "arm64"), ("ssd", "9"), (False, True))
}
ARCH_IN = {value: expression(KEY, "In", value) for value in ("amd64", "arm64")}
SSD = expression("disk", "In", "ssd")
SAMPLES: dict[str, dict[str, Any]] = {
    "no-rule": {},
    "two-terms": {"affinity": required([SSD], [ARCH_IN["amd64"]])},
    "empty-term": {"affinity": required([], [expression("disk", "Exists")])},
    "not-arm64": {"affinity": required([expression(KEY, "NotIn", "arm64")])},
    "no-label": {"affinity": required([expression(KEY, "DoesNotExist")], [expression(KEY, "Exists"), SSD])},
    "number": {"affinity": required([expression("disk", "Gt", "3")], [expression("disk", "Lt", "many")])},
    "old-label": {"affinity": required([expression(OLD_KEY, "In", "arm64")])},
    "selector": {"nodeSelector": {KEY: "arm64"}, "affinity": required([SSD])},
    "tolerant": {"tolerations": [{"key": "arch", "operator": "Exists"}], "nodeSelector": {"disk": "ssd"}},
    "nearly": {"tolerations": [{"key": "arch", "operator": "Equal", "value": "amd64", "effect": "NoSchedule"}]},
}


def node(name: str, labels: Mapping[str, str], *, tainted: bool) -> Object:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now}
    room = {"cpu": "64", "memory": "64Gi", "pods": "500"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **labels}},
        "spec": {"taints": [WRITTEN_TAINT] if tainted else []},
        "status": {"capacity": room, "allocatable": room, "conditions": [condition]},
    }


@pytest.fixture
def nodes(kube: Kube) -> Iterator[None]:
    def only_ours() -> bool:
        found = {item["metadata"]["name"]: item["spec"].get("taints", []) for item in kube.list("v1", "Node")}
        return all(len(found[name]) == tainted for name, (_, tainted) in NODES.items())

    with applied(kube, [node(name, labels, tainted=tainted) for name, (labels, tainted) in NODES.items()]):
        wait_for(only_ours, "nodes to be ready", timeout=30)
        yield
        for item in kube.list("v1", "Pod", "default", selector="probe=yes"):
            kube.delete({"apiVersion": "v1", "kind": "Pod", **item}, grace=0)


def probe(number: int, spec: Mapping[str, Any], target: str) -> Object:
    """A pod with a spec's rules that requests one node besides; affinity and tolerations are as they are."""
    written = copy.deepcopy(dict(spec))
    written["nodeSelector"] = {**(written.get("nodeSelector") or {}), HOST: target}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"probe-{number}", "namespace": "default", "labels": {"probe": "yes"}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "a", "image": "a"}], **written},
    }


def allowed_by_scheduler(kube: Kube, specs: Sequence[Mapping[str, Any]]) -> list[set[str]]:
    """For each spec the names of the nodes onto which the scheduler puts a pod that has it."""
    asked = list(itertools.product(range(len(specs)), NODES))
    for number, (which, target) in enumerate(asked):
        kube.create(probe(number, specs[which], target))

    def decided() -> dict[str, str] | None:
        found = {}
        for item in kube.list("v1", "Pod", "default", selector="probe=yes"):
            conditions = item.get("status", {}).get("conditions", [])
            if "nodeName" in item["spec"] or any(each["reason"] == "Unschedulable" for each in conditions):
                found[item["metadata"]["name"]] = item["spec"].get("nodeName", "")
        return found if len(found) == len(asked) else None

    bound = wait_for(decided, "the scheduler to judge all probes", timeout=90, pause=0.3)
    allowed: list[set[str]] = [set() for _ in specs]
    for number, (which, target) in enumerate(asked):
        if bound[f"probe-{number}"]:
            assert bound[f"probe-{number}"] == target
            allowed[which].add(target)
    return allowed


def transformed(spec: Mapping[str, Any], requested: SchedulingChange) -> Mapping[str, Any] | None:
    try:
        return transform_pod_spec(spec, requested).spec
    except ContradictionError:
        return None


def allowed_without_the_taint(spec: Mapping[str, Any]) -> set[str]:
    affinity = read_node_affinity(wrap_pod_spec(spec))
    return {name for name, (labels, _) in NODES.items() if affinity.allows(labels)}


@pytest.mark.usefixtures("nodes")
def test_the_scheduler_puts_changed_pods_exactly_where_they_should_go(kube: Kube) -> None:
    asked: list[tuple[str, SchedulingChange | None, Mapping[str, Any]]] = []
    for name, spec in SAMPLES.items():
        asked.append((name, None, spec))
        for one in ALL_CHANGES:
            made = transformed(spec, one)
            if made is not None:
                asked.append((name, one, made))
    answers = allowed_by_scheduler(kube, [spec for _, _, spec in asked])
    before = {name: answer for (name, requested, _), answer in zip(asked, answers, strict=True) if requested is None}
    for (name, requested, changed), after in zip(asked, answers, strict=True):
        if requested is None:
            borne = find_untolerated(read_tolerations(wrap_pod_spec(changed)["tolerations"]), (TAINT,)) is None
            free = {each for each in allowed_without_the_taint(changed) if borne or not NODES[each][1]}
            assert after == free, f"the reading side differs from the scheduler about {name}"
        elif requested.require:
            assert after == {each for each in before[name] if NODES[each][0].get(KEY) == requested.require}, (
                name,
                requested,
            )
        elif requested.prefer:
            assert after == before[name], (name, requested)
        else:
            assert after == allowed_without_the_taint(SAMPLES[name]), (name, requested)
    rejected = {
        (name, one.require)
        for name, one in itertools.product(SAMPLES, ALL_CHANGES)
        if one.require and transformed(SAMPLES[name], one) is None
    }
    assert rejected == {("not-arm64", ARM), ("old-label", AMD), ("selector", AMD)}
    for name, architecture in rejected:
        assert not [each for each in before[name] if NODES[each][0].get(KEY) == architecture]


def in_zone(name: str, zone: str) -> Object:
    return node(name, {ZONE: zone, "spread": "yes"}, tainted=False)


def database(when: WhenUnsatisfiable) -> tuple[Object, Object]:
    """A StatefulSet of three pods that is spread, and the rules of its pods."""
    item = workload_of("StatefulSet", f"db-{when.lower()}", f"db-{when.lower()}", nodeSelector={"spread": "yes"})
    item["spec"] |= {"replicas": 3, "podManagementPolicy": "Parallel", "serviceName": "db"}
    return item, {**change_object(item, SchedulingChange(spread_zones=when))}


@pytest.mark.parametrize("when", WhenUnsatisfiable)
def test_the_scheduler_spreads_new_replicas_and_keeps_one_with_a_volume_pending_if_told(
    kube: Kube, when: WhenUnsatisfiable
) -> None:
    plain, spread = database(when)
    name = plain["metadata"]["name"]
    in_first = {"nodeSelectorTerms": [{"matchExpressions": [expression(ZONE, "In", "zone-a")]}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "hostPath": {"path": "/data"},
            "nodeAffinity": {"required": in_first},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "volumeName": name,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }

    def zones() -> list[str]:
        found = kube.list("v1", "Pod", name)
        return sorted(each["spec"].get("nodeName", "") for each in found)

    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    three = [in_zone(f"{zone}-{name}", zone) for zone in ("zone-a", "zone-b", "zone-c")]

    def usable() -> bool:
        found = [kube.get("v1", "Node", each["metadata"]["name"]) for each in three]
        return all(each and not each["spec"].get("taints") for each in found)

    with applied(kube, [*three, volume, space, claim]):
        wait_for(usable, "nodes to be ready", timeout=30)
        kube.apply(spread)
        wait_for(lambda: len(list(filter(None, zones()))) == 3, "the scheduler to place the pods", timeout=60)
        assert [each.removesuffix(f"-{name}") for each in zones()] == ["zone-a", "zone-b", "zone-c"]
        template: Any = spread["spec"]["template"]
        attached = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}
        late: Any = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"late-{name}", "namespace": name, "labels": template["metadata"]["labels"]},
            "spec": {**template["spec"], **attached},
        }
        beside = copy.deepcopy(late)
        beside["metadata"]["name"] = f"beside-{name}"
        # One more pod in the first zone than elsewhere: a second one would be two more.
        with applied(kube, [beside]):
            wait_for(lambda: len(list(filter(None, zones()))) == 4, "the first pod with the volume", timeout=60)
            with applied(kube, [late]):
                wait_for(lambda: decided(kube, late), "the scheduler to decide", timeout=60)
                assert bool(decided(kube, late) == "bound") is (when is WhenUnsatisfiable.SCHEDULE_ANYWAY)


def decided(kube: Kube, item: Object) -> str:
    found = kube.get("v1", "Pod", item["metadata"]["name"], item["metadata"]["namespace"]) or {}
    if found.get("spec", {}).get("nodeName"):
        return "bound"
    conditions = found.get("status", {}).get("conditions", [])
    return "pending" if any(each.get("reason") == "Unschedulable" for each in conditions) else ""


# -- the API server ----------------------------------------------------------------------------------------------------

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
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.tests.example.com"},
        "spec": {
            "group": "tests.example.com",
            "scope": "Namespaced",
            "names": {"plural": "rollouts", "singular": "rollout", "kind": "Rollout", "listKind": "RolloutList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
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
