from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes.manifests import read_manifests, read_objects
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.manifests.containers import ContainerRole
from multiarch.observed.workloads import FileLine, ImageUse, NotRead, list_uses

LIVE = Source("cluster here")
Manifest = dict[str, Any]


def spec(*images: str, **more: Any) -> Manifest:
    return {"containers": [{"name": f"c{number}", "image": image} for number, image in enumerate(images)], **more}


def of(kind: str, name: str, *, owner: tuple[str, str] | None = None, namespace: str = "shop", **more: Any) -> Manifest:
    metadata: Manifest = {"name": name, "namespace": namespace}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    return {"kind": kind, "metadata": metadata, **more}


def deployment(name: str, *images: str, **more: Any) -> Manifest:
    return of("Deployment", name, spec={"template": {"spec": spec(*images)}}, **more)


def uses(*objects: Manifest) -> list[ImageUse]:
    return list_uses(LoadedObject(each, LIVE) for each in objects)


def told(*objects: Manifest) -> list[tuple[str, str]]:
    return [(str(use.workload), use.image) for use in uses(*objects)]


def test_init_ephemeral_and_sidecar_containers_are_told_apart() -> None:
    pod = of(
        "Pod",
        "one",
        spec={
            "initContainers": [
                {"name": "prepare", "image": "init"},
                {"name": "proxy", "image": "mesh", "restartPolicy": "Always"},
            ],
            "containers": [{"name": "main", "image": "app"}],
            "ephemeralContainers": [{"name": "debug", "image": "tools"}],
        },
    )
    assert {(use.container, use.role) for use in uses(pod)} == {
        ("prepare", ContainerRole.INIT),
        ("proxy", ContainerRole.SIDECAR),
        ("main", ContainerRole.CONTAINER),
        ("debug", ContainerRole.EPHEMERAL),
    }


def test_a_pod_spec_is_found_wherever_an_unknown_kind_embeds_it() -> None:
    rollout = of("Rollout", "web", spec={"strategy": {"canary": {}}, "template": {"spec": spec("web")}})
    workflow = of("Pipeline", "ci", spec={"steps": [{"podTemplate": {"spec": spec("build")}}, {"pod": spec("push")}]})
    template = {"kind": "PodTemplate", "metadata": {"name": "t"}, "template": {"spec": spec("templated")}}
    assert told(rollout, workflow, template) == [
        ("PodTemplate/t", "templated"),
        ("Pipeline/ci", "build"),
        ("Pipeline/ci", "push"),
        ("Rollout/web", "web"),
    ]


def test_a_definitions_schema_and_an_objects_status_are_not_pods() -> None:
    schema = {"properties": {"containers": {"type": "array", "items": {"properties": {"image": {}}}}}}
    definition = of("CustomResourceDefinition", "x", spec={"versions": [{"schema": schema}]})
    assert told(definition, of("Thing", "y", status={"template": spec("gone")})) == []


def test_pods_count_as_the_workload_at_the_end_of_their_owners() -> None:
    replica_set = of("ReplicaSet", "api-1", owner=("Deployment", "api"), spec={"template": {"spec": spec("api:1")}})
    pods = [of("Pod", f"api-1-{n}", owner=("ReplicaSet", "api-1"), spec=spec("api:1")) for n in range(3)]
    assert told(*pods, replica_set, deployment("api", "api:1")) == [("Deployment/api", "api:1")]


def test_a_container_that_was_injected_into_pods_is_the_workloads_too() -> None:
    replica_set = of("ReplicaSet", "api-1", owner=("Deployment", "api"), spec={"template": {"spec": spec("api")}})
    pod = of("Pod", "api-1-x", owner=("ReplicaSet", "api-1"), spec=spec("api", "mesh"))
    assert told(deployment("api", "api"), replica_set, pod) == [("Deployment/api", "api"), ("Deployment/api", "mesh")]


def test_the_images_of_old_replica_sets_and_ended_jobs_are_not_in_use() -> None:
    old = of("ReplicaSet", "api-0", owner=("Deployment", "api"), spec={"template": {"spec": spec("api:0")}})
    cron = of("CronJob", "night", spec={"jobTemplate": {"spec": {"template": {"spec": spec("job:2")}}}})
    job = of("Job", "night-1", owner=("CronJob", "night"), spec={"template": {"spec": spec("job:1")}})
    pod = of("Pod", "night-1-a", owner=("Job", "night-1"), spec=spec("job:1"), status={"phase": "Succeeded"})
    assert told(old, deployment("api", "api:1"), cron, job, pod) == [
        ("CronJob/night", "job:2"),
        ("Deployment/api", "api:1"),
    ]


def test_a_replica_set_whose_owner_is_not_there_counts_as_its_owners() -> None:
    alone = of("ReplicaSet", "web-1", owner=("Rollout", "web"), spec={"template": {"spec": spec("web")}})
    assert told(alone) == [("Rollout/web", "web")]


def test_a_static_pod_is_its_own_workload() -> None:
    assert told(of("Pod", "kube-proxy-n1", owner=("Node", "n1"), spec=spec("proxy"))) == [
        ("Pod/kube-proxy-n1", "proxy")
    ]


def test_owners_that_own_each_other_end_somewhere() -> None:
    a = of("A", "a", owner=("B", "b"), spec={"template": {"spec": spec("x")}})
    b = of("B", "b", owner=("A", "a"))
    assert [image for _, image in told(a, b, of("Pod", "p", owner=("A", "a"), spec=spec("y")))] == ["y"]


def test_a_container_without_an_image_is_told() -> None:
    merged = of("Prometheus", "main", spec={"containers": [{"name": "prometheus", "resources": {}}]})
    assert told(merged) == [("Prometheus/main", "")]


def test_labels_accounts_and_pull_secrets_are_the_pods() -> None:
    template = {
        "metadata": {"labels": {"app": "api"}},
        "spec": spec("api", imagePullSecrets=[{"name": "hub"}], serviceAccountName="runner"),
    }
    made = of("Deployment", "api", spec={"template": template})
    made["metadata"]["labels"] = {"team": "shop"}
    (use,) = uses(made)
    assert use.labels == (("app", "api"), ("team", "shop"))
    assert (use.service_account, use.pull_secrets) == ("runner", ("hub",))


TWO = """\
kind: Deployment
metadata: {name: one}
spec:
  template:
    spec:
      containers:
        - name: main
          image: shared
---
kind: Deployment
metadata: {name: two}
spec:
  template:
    spec:
      containers:
        - name: main
          image: shared
        - name: other
          image: &alias other
"""


def test_the_line_is_that_of_the_image_in_its_own_document(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TWO)
    found = list_uses(read_manifests([file]), lambda name: Path(name).read_text().splitlines())
    assert [(use.workload.name, use.image, use.location) for use in found] == [
        ("one", "shared", FileLine(str(file), 8)),
        ("two", "shared", FileLine(str(file), 17)),
        ("two", "other", FileLine(str(file), 19)),
    ]


def test_without_lines_the_place_is_the_documents() -> None:
    found = list_uses(read_objects(TWO, "two.yaml"))
    assert [(use.workload.name, use.location) for use in found][:2] == [
        ("one", FileLine("two.yaml", 1)),
        ("two", FileLine("two.yaml", 10)),
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (
            "namespace: off",
            "metadata.namespace: must be a string, not False. YAML reads true, false, yes, no, on, off, y and n as",
        ),
        ("name: 5", "metadata.name: must be a string, not 5. Put it in quotes."),
        ("generateName: [a]", "metadata.generateName: must be a string, not ['a']."),
    ],
)
def test_an_object_whose_name_is_not_a_text_is_rejected_and_not_taken_for_another(written: str, words: str) -> None:
    text = f"---\nkind: Deployment\nmetadata: {{{written}}}\nspec: {{template: {{spec: {{containers: []}}}}}}\n"
    with pytest.raises(MultiarchError) as caught:
        list_uses(read_objects(text, "shop.yaml"))
    assert str(caught.value).startswith("shop.yaml:2, document 1, Deployment: ")
    assert words in str(caught.value)


def test_image_volumes_are_uses_of_a_role_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  imagePullSecrets: [{name: hub}]\n"
        "  containers: [{name: main, image: app}]\n  volumes:\n    - name: cache\n      emptyDir: {}\n"
        "    - name: model\n      image:\n        reference: models/llm:1\n"
    )
    app, model = list_uses(read_manifests([file]), lambda name: Path(name).read_text().splitlines())
    assert (app.image, app.role) == ("app", ContainerRole.CONTAINER)
    assert (model.image, model.container, model.role) == ("models/llm:1", "model", ContainerRole.VOLUME)
    assert (model.pull_secrets, model.location) == (("hub",), FileLine(str(file), 12))


def test_an_image_that_is_not_a_text_is_told_with_the_fault() -> None:
    made = of("Pod", "p", spec={"containers": [{"name": "a", "image": 123}, {"name": "b", "image": ["x"]}]})
    assert [(use.image, use.fault) for use in uses(made)] == [
        ("123", "must be a string, not a number: put it in quotes"),
        ("", "must be a string, not a list"),
    ]


def test_the_images_of_known_kinds_have_their_path_in_place_of_a_container() -> None:
    task = {**of("Task", "build", spec={"steps": [{"name": "a", "image": "x"}]}), "apiVersion": "tekton.dev/v1"}
    (use,) = uses(task)
    assert (str(use.workload), use.image, use.container) == ("Task/build", "x", "spec.steps[0].image")


@pytest.mark.parametrize("image", ["$(params.image)", "builder:{{inputs.parameters.version}}"])
def test_an_image_that_a_controller_completes_is_unknown_for_that_reason(image: str) -> None:
    task = {**of("Task", "build", spec={"steps": [{"image": image}]}), "apiVersion": "tekton.dev/v1"}
    (use,) = uses(task)
    assert (use.image, use.fault) == (image, "has a variable, which a controller fills in")


def test_what_is_passed_over_is_counted_and_named() -> None:
    not_read = NotRead()
    objects = [
        deployment("api", "api"),
        of("Deployment", "empty", spec={"template": {"spec": {"containers": []}}}),
        of("Service", "web", spec={"ports": []}),
        of("Service", "other", spec={"ports": []}),
        {**of("Runner", "ci", spec={"runnerImage": "r:1"}), "apiVersion": "example.com/v1"},
    ]
    list_uses((LoadedObject(each, LIVE) for each in objects), not_read=not_read)
    assert not_read.without_images == {"Deployment": 1, "Service": 2, "Runner": 1}
    assert not_read.possible == {"Runner shop/ci": ("spec.runnerImage",)}
