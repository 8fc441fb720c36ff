from typing import Any

import pytest

from multiarch.manifests.objects import Object, unpack_objects
from multiarch.manifests.owners import WorkloadKey
from multiarch.manifests.values import ManifestError


def objects(document: object, number: int = 1) -> list[Object]:
    return list(unpack_objects(document, number))


def test_an_object_has_a_kind_a_name_and_a_namespace() -> None:
    (written,) = objects({"kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}})
    assert written.key == WorkloadKey("shop", "Pod", "a")
    assert objects({"kind": "Pod", "metadata": {"name": "a"}})[0].namespace == "default"
    assert objects({"kind": "Pod", "metadata": {"generateName": "a-"}}, 7)[0].name == "a-7"
    assert objects(None) == []


def test_lists_of_objects_are_unpacked_at_any_depth() -> None:
    pod = {"metadata": {"name": "a"}}
    inner = {"kind": "PodList", "items": [pod]}
    found = objects({"kind": "List", "items": [inner, {"kind": "Service", "metadata": {"name": "b"}}]})
    assert [str(each.key) for each in found] == ["Pod/a", "Service/b"]
    assert found[0].value["spec"].path == "items[0].items[0].spec"


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ([], None),
        ([{"kind": "Job", "name": "j"}], WorkloadKey("default", "Job", "j")),
        (
            [{"kind": "Node", "name": "n"}, {"kind": "Job", "name": "j", "controller": True}],
            WorkloadKey("default", "Job", "j"),
        ),
    ],
)
def test_the_owner_is_the_controller_or_else_the_first(
    owners: list[dict[str, Any]], expected: WorkloadKey | None
) -> None:
    (found,) = objects({"kind": "Pod", "metadata": {"name": "a", "ownerReferences": owners}})
    assert found.owner == expected


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("text", "document 1: is a string, not a Kubernetes object."),
        (["a"], "document 1: is a list, not a Kubernetes object."),
        ({"metadata": {"name": "x"}}, "document 1: has no kind. A Kubernetes object has apiVersion and kind."),
        ({"kind": "List", "items": ["x"]}, "document 1: items[0]: is a string, not a Kubernetes object."),
        (
            {"kind": "Pod", "metadata": {"name": 5}},
            "document 1: metadata.name: must be a string, not 5. Put it in quotes.",
        ),
    ],
)
def test_what_is_not_an_object_is_rejected_with_its_path(document: object, words: str) -> None:
    with pytest.raises(ManifestError) as caught:
        objects(document)
    assert str(caught.value) == words
