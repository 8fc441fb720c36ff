from __future__ import annotations

from typing import Any

import pytest

from multiarch.manifests.values import ManifestError
from multiarch.scheduling.affinity import NodeAffinity
from tests.scheduling.manifests import expression, pod, required


def affinity(**more: Any) -> NodeAffinity:
    return pod(**more).spec.affinity


ARM = {"kubernetes.io/arch": "arm64", "cpus": "8"}

# Beside what the brute force below tries: expression, labels, met.
# https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#operators
OPERATORS = [
    (expression("disk", "In", ""), {"disk": ""}, True),
    (expression("disk", "In", ""), {}, False),
    (expression("cpus", "Gt", "4"), {"cpus": "16"}, True),
    (expression("cpus", "Lt", "4"), {"cpus": "4"}, False),
    (expression("cpus", "Lt", "4"), {"cpus": "99999999999999999999"}, False),
    (expression("cpus", "Lt", "many"), {"cpus": "1"}, False),
]


@pytest.mark.parametrize(("written", "labels", "met"), OPERATORS)
def test_an_operator_compares_as_kubernetes_documents(
    written: dict[str, Any], labels: dict[str, str], *, met: bool
) -> None:
    rule = affinity(affinity=required([written]))
    assert rule.allows(labels) is met
    assert (rule.unmet_terms(labels) is None) is met


def test_an_empty_term_matches_no_node_and_leaves_the_others_alone() -> None:
    assert affinity(affinity=required([])).unmet_terms(ARM) == "affinity term 1 is empty, which matches no node"
    assert affinity(affinity=required([], [expression("cpus", "Exists")])).allows(ARM)


def test_a_field_requires_a_node_by_name_and_no_new_node_has_one() -> None:
    def by_name(operator: str) -> NodeAffinity:
        terms = [{"matchFields": [{"key": "metadata.name", "operator": operator, "values": ["ip-10-0-0-1"]}]}]
        rules = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        return affinity(affinity={"nodeAffinity": rules})

    assert by_name("In").allows({}, "ip-10-0-0-1")
    assert not by_name("In").allows({}, "ip-10-0-0-2")
    assert not by_name("In").allows({})
    assert by_name("In").unmet_terms({}) == "the node named ip-10-0-0-1 required by affinity term 1"
    assert by_name("NotIn").allows({})
    assert not by_name("NotIn").allows({}, "ip-10-0-0-1")


WORDS = [
    ([expression("kubernetes.io/arch", "In", "amd64")], "architecture amd64 required by affinity term 1"),
    (
        [expression("kubernetes.io/arch", "NotIn", "arm64")],
        "architecture other than arm64 required by affinity term 1",
    ),
    ([expression("disk", "In", "ssd")], "disk=ssd required by affinity term 1"),
    ([expression("disk", "In", "ssd", "nvme")], "disk in [ssd, nvme] required by affinity term 1"),
    ([expression("cpus", "NotIn", "8")], "cpus!=8 required by affinity term 1"),
    ([expression("disk", "Exists")], "a label disk required by affinity term 1"),
    ([expression("cpus", "DoesNotExist")], "no label cpus required by affinity term 1"),
    ([expression("cpus", "Gt", "16")], "cpus>16 required by affinity term 1"),
    ([expression("cpus", "Exists"), expression("cpus", "Lt", "4")], "cpus<4 required by affinity term 1"),
]


@pytest.mark.parametrize(("term", "words"), WORDS)
def test_the_requirement_that_excludes_a_node_is_said_in_words(term: list[dict[str, Any]], words: str) -> None:
    assert affinity(affinity=required(term)).unmet_terms(ARM) == words


def test_the_pair_of_the_node_selector_is_named() -> None:
    rule = affinity(nodeSelector={"kubernetes.io/arch": "amd64"})
    assert rule.unmet_selector(ARM) == "nodeSelector requires kubernetes.io/arch=amd64"
    assert rule.unmet_selector({"kubernetes.io/arch": "amd64"}) is None


@pytest.mark.parametrize(
    ("rules", "path", "words"),
    [
        (required([expression("a", "in", "x")]), "[0].operator", "'in' is not an operator here"),
        (required([expression("a", "In")]), "[0].values", "In needs at least one value"),
        (required([expression("a", "Exists", "x")]), "[0].values", "Exists takes no values"),
        (required([expression("a", "Gt", "1", "2")]), "[0].values", "Gt takes exactly one value"),
        (required([expression("", "Exists")]), "[0].key", "is missing or empty"),
    ],
)
def test_an_expression_that_the_api_server_rejects_is_rejected(rules: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(ManifestError, match=words) as caught:
        affinity(affinity=rules)
    assert caught.value.path.endswith(f"nodeSelectorTerms[0].matchExpressions{path}")


def test_required_affinity_without_terms_is_rejected() -> None:
    with pytest.raises(ManifestError, match="needs at least one term"):
        affinity(affinity=required())
