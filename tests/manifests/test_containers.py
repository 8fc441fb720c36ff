from typing import Any

import pytest

from multiarch.manifests.containers import find_pod_specs

SPEC: dict[str, Any] = {"containers": [{"name": "main", "image": "shop/api:1"}]}


@pytest.mark.parametrize(
    ("content", "paths"),
    [
        ({"kind": "Pod", "spec": SPEC}, [("spec",)]),
        ({"spec": {"template": {"spec": SPEC}}}, [("spec", "template", "spec")]),
        ({"spec": {"workers": [{"pods": SPEC}, {"none": []}]}}, [("spec", "workers", 0, "pods")]),
        ({"spec": {"a": {"containers": [{"image": "x"}]}, "b": {"containers": [{"name": "x"}]}}}, ["ab"]),
        ({"spec": {"containers": []}}, []),
        ({"spec": {"containers": {"main": {"image": "x"}}}}, []),
        ({"metadata": {"annotations": {"before": SPEC}}, "status": SPEC}, []),
        ({"spec": {"status": SPEC, "metadata": SPEC}}, []),
        (SPEC, []),
    ],
)
def test_a_pod_spec_is_a_mapping_with_a_list_of_containers(content: dict[str, Any], paths: list[Any]) -> None:
    expected = [("spec", key) for key in "ab"] if paths == ["ab"] else paths
    found = list(find_pod_specs(content))
    assert [path for path, _ in found] == expected
    assert all("containers" in spec for _, spec in found)


def test_a_pod_spec_that_yaml_aliases_share_is_found_once() -> None:
    assert [path for path, _ in find_pod_specs({"spec": {"blue": SPEC, "green": SPEC}})] == [("spec", "blue")]


def test_what_refers_to_itself_ends() -> None:
    endless: dict[str, Any] = {"spec": {}}
    endless["spec"]["again"] = endless
    assert list(find_pod_specs(endless)) == []


@pytest.mark.parametrize(("levels", "found"), [(100, 1), (300, 0)])
def test_only_nesting_deeper_than_yaml_may_have_is_not_searched(levels: int, found: int) -> None:
    content: dict[str, Any] = SPEC
    for _ in range(levels):
        content = {"a": content}
    assert len(list(find_pod_specs(content))) == found


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"image": "x"}]},
        {"ephemeralContainers": [{"image": "x"}]},
    ],
)
def test_no_spec_that_a_definition_may_allow_is_passed_over(spec: dict[str, Any]) -> None:
    content = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "spec": {"template": {"spec": spec}}}
    assert list(find_pod_specs(content)) == [(("spec", "template", "spec"), spec)]


@pytest.mark.parametrize("containers", [[], None])
def test_kubernetes_own_kinds_have_their_pod_spec_at_one_place_whatever_it_holds(containers: object) -> None:
    spec = {"containers": containers}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": spec}, "other": SPEC}}
    assert list(find_pod_specs(made)) == [(("spec", "template", "spec"), spec)]
    assert list(find_pod_specs({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}})) == []
