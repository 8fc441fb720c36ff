"""Patches' forms; what they do in an API server is in ``tests/cluster``."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.patching.patches import (
    build_json_patch,
    build_kustomize_component,
    build_strategic_merge_patch,
    get_target,
)
from multiarch.patching.transform import SchedulingChange
from multiarch.yaml_text.additions import Addition, add_values
from tests.scheduling.manifests import ARM64_TOLERATION, expression, required, spec, workload

TOLERATE = SchedulingChange(tolerate=(parse_taint("arch=arm64:NoSchedule"),))
REQUIRE = SchedulingChange(require=Architecture.ARM64)


def deployment(**rules: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", **workload("Deployment", pod=spec(**rules))}


def test_a_strategic_merge_patch_carries_the_whole_list_and_nothing_else() -> None:
    first = {"key": "gpu", "operator": "Exists"}
    assert build_strategic_merge_patch(deployment(tolerations=[first], nodeSelector={"a": "b"}), TOLERATE) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "api", "namespace": "shop"},
        "spec": {"template": {"spec": {"tolerations": [first, ARM64_TOLERATION]}}},
    }


def test_terms_are_a_list_too_and_preferences_beside_them_are_not_repeated() -> None:
    rules = required([expression("disk", "Exists")], [])
    rules["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = []
    patch = build_strategic_merge_patch(deployment(affinity={**rules, "podAffinity": {}}), REQUIRE)
    assert patch is not None
    inner: Any = patch["spec"]
    affinity = inner["template"]["spec"]["affinity"]
    assert list(affinity) == ["nodeAffinity"]
    assert list(affinity["nodeAffinity"]) == ["requiredDuringSchedulingIgnoredDuringExecution"]
    (terms,) = affinity["nodeAffinity"].values()
    assert [len(term["matchExpressions"]) for term in terms["nodeSelectorTerms"]] == [2, 0]


def test_what_does_not_change_has_no_patch() -> None:
    assert build_strategic_merge_patch(deployment(tolerations=[{"operator": "Exists"}]), TOLERATE) is None
    assert (
        build_strategic_merge_patch({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, TOLERATE)
        is None
    )


def test_what_can_t_be_patched_is_rejected() -> None:
    nameless = deployment()
    nameless["metadata"] = {"generateName": "x-"}
    with pytest.raises(MultiarchError, match=r"A Deployment without metadata\.name can't be patched"):
        build_strategic_merge_patch(nameless, TOLERATE)
    with pytest.raises(MultiarchError, match="A list of objects can't be patched"):
        build_strategic_merge_patch({"apiVersion": "v1", "kind": "List", "items": [deployment()]}, TOLERATE)
    inner = {"parts": [{"template": {"spec": spec()}}]}
    custom = {"apiVersion": "x.io/v1", "kind": "Many", "metadata": {"name": "m"}, "spec": inner}
    with pytest.raises(MultiarchError, match=r"Many default/m: spec\.parts\[0\]\.template\.spec: is in a list"):
        build_strategic_merge_patch(custom, TOLERATE)


def test_json_patch_paths_are_pointers() -> None:
    operations = build_json_patch([Addition(("a/b", 0, "c~d", "-"), 1)], ("spec",))
    assert operations == [{"op": "add", "path": "/spec/a~1b/0/c~0d/-", "value": 1}]


def test_a_component_of_kustomize_names_its_targets() -> None:
    made = build_kustomize_component([(deployment(), "text")])
    target = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "api", "namespace": "shop"}
    assert made["patches"] == [{"target": target, "patch": "text"}]
    assert get_target({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}) == {
        "version": "v1",
        "kind": "Pod",
        "name": "x",
    }


@pytest.mark.parametrize(
    ("target", "addition"),
    [
        ({"a": 1}, Addition(("a",), 2)),
        ({"a": 1}, Addition(("a", "b"), 2)),
        ({"a": []}, Addition(("a", 0, "b"), 2)),
        ({}, Addition(("a", "b"), 2)),
    ],
)
def test_an_addition_that_would_replace_something_or_leads_nowhere_is_an_error(
    target: dict[str, Any], addition: Addition
) -> None:
    with pytest.raises(ValueError, match=r"has a value already|nothing can be added"):
        add_values(target, [addition])
