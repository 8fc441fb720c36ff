import re
from functools import cache

import botocore.model
import botocore.session
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.facts.limits import (
    NameKind,
    check_name,
    explain_forbidden_label,
    explain_forbidden_taint,
)


@cache
def service(name: str) -> botocore.model.ServiceModel:
    return botocore.session.get_session().get_service_model(name)


# kind, service, shape; the AWS models' own statement of the limit
MODELLED = [
    (NameKind.CLUSTER, "eks", "ClusterName"),
    (NameKind.MANAGED_LABEL_KEY, "eks", "labelKey"),
    (NameKind.MANAGED_LABEL_VALUE, "eks", "labelValue"),
    (NameKind.MANAGED_TAINT_KEY, "eks", "taintKey"),
    (NameKind.TAG_KEY, "eks", "TagKey"),
    (NameKind.TAG_VALUE, "eks", "TagValue"),
    (NameKind.TAG_KEY, "iam", "tagKeyType"),
    (NameKind.TAG_VALUE, "iam", "tagValueType"),
]


def test_lengths_are_those_of_the_aws_model() -> None:
    for kind, api, shape in MODELLED:
        metadata = service(api).shape_for(shape).metadata
        assert (kind.value.shortest, kind.value.longest) == (metadata.get("min", 0), metadata["max"]), shape


@settings(deadline=None)  # the first example loads a service model
@given(name=st.text(max_size=140) | st.text("aZ09-_./+=,@()# :é\n", max_size=140))
def test_a_clusters_name_is_accepted_exactly_when_the_aws_model_accepts_it(name: str) -> None:
    metadata = service("eks").shape_for("ClusterName").metadata
    fits = metadata["min"] <= len(name) <= metadata["max"]
    accepted = fits and re.fullmatch(metadata["pattern"], name, re.ASCII) is not None
    assert (check_name(NameKind.CLUSTER, name) is None) == accepted


@given(st.text(max_size=300) | st.text("abcZ09 _.:/=+-@,;\n\té٣ß", max_size=140))
def test_an_accepted_tag_is_made_of_what_iam_allows(text: str) -> None:
    if check_name(NameKind.TAG_VALUE, text) is None:
        assert all(char.isalnum() or char in " _.:/=+-@" for char in text)
    if check_name(NameKind.TAG_KEY, text) is None:
        assert 1 <= len(text) <= 128
        assert not text.lower().startswith("aws:")


GOOD = [
    (NameKind.NODE_GROUP, "0api_arm64-a"),
    (NameKind.TAG_KEY, "kubernetes.io/cluster/payments-prod"),
    (NameKind.TAG_VALUE, ""),
    (NameKind.TAG_VALUE, "größe 1 @ team/x"),
    (NameKind.LABEL_KEY, "x." * 125 + "xyz/" + "a" * 63),
    (NameKind.LABEL_VALUE, "v1.2_3-x"),
]


def test_a_good_name_has_no_reason_against_it() -> None:
    assert [check_name(kind, name) for kind, name in GOOD] == [None] * len(GOOD)


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        (NameKind.CLUSTER, "a" * 101, "has 101 characters; a cluster name has at most 100"),
        (NameKind.CLUSTER, "", "a cluster name cannot be empty"),
        (NameKind.NODE_GROUP, "-api", "begins with a letter or digit"),
        (NameKind.TAG_KEY, "AWS:team", "which AWS keeps for itself"),
        (NameKind.TAG_VALUE, "a,b", "takes letters, digits, spaces"),
        (NameKind.LABEL_KEY, "Prefix.io/x", "takes [PREFIX/]NAME"),
        (NameKind.LABEL_KEY, "x." * 126 + "xy/a", "takes [PREFIX/]NAME"),
        (NameKind.LABEL_KEY, "a\n", "takes [PREFIX/]NAME"),
        (NameKind.LABEL_VALUE, "-a", "begins and ends with a letter or digit"),
        (NameKind.MANAGED_LABEL_KEY, "example.com/" + "a" * 60, "at most 63"),
        (NameKind.MANAGED_LABEL_VALUE, "", "cannot be empty"),
        (NameKind.TAINT_VALUE, "a b", "begins and ends with a letter or digit"),
    ],
)
def test_a_bad_name_is_rejected_with_the_reason_in_words(kind: NameKind, name: str, reason: str) -> None:
    rejection = check_name(kind, name)
    assert rejection is not None
    assert reason in rejection


@given(kind=st.sampled_from(NameKind), name=st.text(max_size=400))
def test_every_kind_answers_for_any_text(kind: NameKind, name: str) -> None:
    reason = check_name(kind, name)
    assert reason is None or kind.value.what in reason


def test_a_node_may_give_itself_such_a_label() -> None:
    for key in (
        "team",
        "example.com/pool",
        "kubernetes.io/arch",
        "node.kubernetes.io/pool",
        "x.kubelet.kubernetes.io/y",
    ):
        assert explain_forbidden_label(key) is None


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("node-role.kubernetes.io/worker", "kubelet does not start"),
        ("k8s.io/x", "kubelet does not start"),
        ("eks.amazonaws.com/nodegroup", "which EKS keeps for its own"),
    ],
)
def test_a_node_may_not_give_itself_a_label_of_kubernetes_or_eks(key: str, reason: str) -> None:
    rejection = explain_forbidden_label(key)
    assert rejection is not None
    assert reason in rejection


def test_a_managed_group_rejects_taints_in_reserved_domains_alone() -> None:
    for key in ("arch", "example.com/arch", "notkubernetes.io/arch", "kubernetes.io"):
        assert explain_forbidden_taint(key) is None
    for key in ("kubernetes.io/arch", "node.kubernetes.io/x", "k8s.io/x", "eks.amazonaws.com/x"):
        assert explain_forbidden_taint(key) is not None
