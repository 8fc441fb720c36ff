"""Images outside of pod specs, in the kinds that are known to have some, and what looks like one elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.manifests.image_fields import IMAGE_FIELDS, find_possible_images, list_field_images

Manifest = dict[str, Any]


def of(api_version: str, kind: str, spec: Manifest) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it"}, "spec": spec}


STEPS = {"steps": [{"image": "a"}, {"script": "x"}], "sidecars": [{"image": "b"}], "stepTemplate": {"image": "c"}}
KAFKA = {"kafka": {"image": "a"}, "entityOperator": {"topicOperator": {"image": "b"}}}
ARGO = {"templates": [{"name": "t", "container": {"image": "a"}}, {"script": {"image": "b"}}, {"dag": {}}]}


@pytest.mark.parametrize(
    ("content", "images"),
    [
        (of("tekton.dev/v1", "Task", STEPS), ["a", "b", "c"]),
        (of("tekton.dev/v1beta1", "Pipeline", {"tasks": [{"taskSpec": STEPS}, {"taskRef": {}}]}), ["a", "b", "c"]),
        (of("argoproj.io/v1alpha1", "Workflow", ARGO), ["a", "b"]),
        (of("kafka.strimzi.io/v1beta2", "Kafka", KAFKA), ["a", "b"]),
        (of("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"image": "a", "driver": {"image": "b"}}), ["a", "b"]),
        (of("postgresql.cnpg.io/v1", "Cluster", {"imageName": "a"}), ["a"]),
        (of("example.com/v1", "Task", STEPS), []),
        (of("tekton.dev/v1", "Task", {"steps": "none", "sidecars": [None]}), []),
    ],
)  # fmt: skip
def test_the_images_of_known_kinds_are_read(content: Manifest, images: list[str]) -> None:
    assert [value for _, value in list_field_images(content)] == images


def test_every_row_is_a_path_below_the_spec() -> None:
    assert all(path[0] == "spec" and path[-1] != "[]" for paths in IMAGE_FIELDS.values() for path in paths)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"image": "shop/api:1"}, ("spec", "image")),
        ({"values": {"image": {"repository": "shop/api", "tag": "1"}}}, ("spec", "values", "image")),
        ({"images": [{"name": "shop/api", "newTag": "2"}]}, ("spec", "images")),
        ({"images": ["shop/api:1"]}, ("spec", "images")),
        ({"jobs": [{"container_image": "shop/api"}]}, ("spec", "jobs", 0, "container_image")),
    ],
)
def test_what_looks_like_an_image_is_told(spec: Manifest, path: tuple[object, ...]) -> None:
    assert list(find_possible_images(of("example.com/v1", "Thing", spec))) == [path]


@pytest.mark.parametrize(
    "spec",
    [
        {"imagePullPolicy": "Always"},
        {"image": ""},
        {"image": {"type": "string"}},
        {"image": "two words"},
        {"template": {"spec": {"containers": [{"image": "read"}], "volumes": [{"image": {"reference": "read"}}]}}},
    ],
)
def test_what_is_read_or_is_not_an_image_is_not(spec: Manifest) -> None:
    assert list(find_possible_images(of("example.com/v1", "Thing", spec))) == []


def test_a_known_field_is_read_and_others_of_the_same_object_may_hold_some() -> None:
    content = of("monitoring.coreos.com/v1", "Prometheus", {"image": "a", "other": {"image": "b"}})
    assert list(find_possible_images(content)) == [("spec", "other", "image")]
