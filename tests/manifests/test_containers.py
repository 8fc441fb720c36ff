from typing import Any

import pytest

from multiarch.manifests.containers import pod_specs_in

SPEC: dict[str, Any] = {"containers": [{"name": "main", "image": "shop/api:1"}]}


@pytest.mark.parametrize(
    ("content", "paths"),
    [
        ({"kind": "Pod", "spec": SPEC}, [("spec",)]),
        ({"spec": {"template": {"spec": SPEC}}}, [("spec", "template", "spec")]),
        ({"spec": {"workers": [{"pods": SPEC}, {"none": []}]}}, [("spec", "workers", 0, "pods")]),
        ({"spec": {"a": {"containers": [{"image": "x"}]}, "b": {"containers": [{"name": "x"}]}}}, ["ab"]),
        ({"spec": {"containers": []}}, []),
        ({"spec": {"containers": ["main"]}}, []),
        ({"spec": {"containers": {"main": {"image": "x"}}}}, []),
        ({"spec": {"containers": [{"size": 3}]}}, []),
        ({"metadata": {"annotations": {"before": SPEC}}, "status": SPEC}, []),
        ({"spec": {"status": SPEC, "metadata": SPEC}}, []),
        (SPEC, []),
    ],
)
def test_a_pod_spec_is_a_mapping_with_a_list_of_containers(content: dict[str, Any], paths: list[Any]) -> None:
    expected = [("spec", key) for key in "ab"] if paths == ["ab"] else paths
    found = list(pod_specs_in(content))
    assert [path for path, _ in found] == expected
    assert all("containers" in spec for _, spec in found)


def test_a_pod_spec_that_yaml_aliases_share_is_found_once() -> None:
    assert [path for path, _ in pod_specs_in({"spec": {"blue": SPEC, "green": SPEC}})] == [("spec", "blue")]


def test_what_refers_to_itself_ends() -> None:
    endless: dict[str, Any] = {"spec": {}}
    endless["spec"]["again"] = endless
    assert list(pod_specs_in(endless)) == []


def test_nesting_deeper_than_any_manifest_is_not_searched() -> None:
    content: dict[str, Any] = SPEC
    for _ in range(40):
        content = {"a": content}
    assert list(pod_specs_in(content)) == []
