"""Who gets into an EKS cluster, and which pods get which role, after a change and not before."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.review.model import UNKNOWN, Operation, Step
from multiarch.review.permissions.cluster_access import find
from tests.review.permissions.steps import ROLE, change, role, said, step, urn

CLUSTER, ENTRY = "aws:eks/cluster:Cluster", "aws:eks/accessEntry:AccessEntry"
ASSOCIATION = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
PODS = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
ADA = "arn:aws:iam::111122223333:role/ada"
CLUSTER_INPUTS = {"name": "shop", "accessConfig": {"authenticationMode": "API"}}


def cluster() -> Step:
    return step(CLUSTER, "cluster", CLUSTER_INPUTS, CLUSTER_INPUTS)


def policy(name: str, *namespaces: str) -> dict[str, Any]:
    scope = {"type": "namespace", "namespaces": list(namespaces)} if namespaces else {"type": "cluster"}
    arn = f"arn:aws:eks::aws:cluster-access-policy/AmazonEKS{name}Policy"
    return {"clusterName": "shop", "principalArn": ADA, "policyArn": arn, "accessScope": scope}


def access(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[str]:
    return said(find(change(cluster(), step(ASSOCIATION, "ada", old, new))))


def test_an_access_policy_is_named_with_its_scope() -> None:
    assert access(None, policy("ClusterAdmin")) == [
        (f"HIGH widen-cluster-access: {ADA} new in EKS cluster shop: AmazonEKSClusterAdminPolicy in the whole cluster"),
    ]
    assert access(None, policy("View", "shop")) == [
        f"MEDIUM widen-cluster-access: {ADA} new in EKS cluster shop: AmazonEKSViewPolicy in shop"
    ]


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        (policy("ClusterAdmin"), policy("View"), False),
        (policy("View"), policy("ClusterAdmin"), True),
        (policy("Admin"), policy("Edit", "shop"), False),
        (policy("Edit"), policy("Admin", "shop"), True),
        (policy("View", "shop"), policy("View"), True),
        (policy("View", "shop", "web"), policy("View", "web"), False),
        (policy("View", "shop-*"), policy("View", "shop-dev"), False),
        (policy("View", "shop-dev"), policy("View", "shop-*"), True),
        (policy("Edit"), policy("Auto"), True),
    ],
)
def test_a_policy_covers_its_parts_and_a_scope_its_namespaces(old: Any, new: Any, wider: bool) -> None:  # noqa: ANN401, FBT001
    assert access(old, new)[0].split()[1] == ("widen-cluster-access:" if wider else "narrow-permissions:")


def test_the_same_access_under_another_name_is_not_reported() -> None:
    steps = [step(ASSOCIATION, "a", policy("View"), None), step(ASSOCIATION, "b", None, policy("View"))]
    assert said(find(change(cluster(), *steps))) == []


def test_groups_of_kubernetes_and_types_of_entries_count() -> None:
    entry = {"clusterName": "shop", "principalArn": ADA}
    grouped = entry | {"kubernetesGroups": ["system:masters"]}
    assert said(find(change(cluster(), step(ENTRY, "ada", entry, grouped)))) == [
        f"HIGH widen-cluster-access: {ADA} new in EKS cluster shop: the Kubernetes group system:masters"
    ]
    assert said(find(change(cluster(), step(ENTRY, "ada", None, entry)))) == []
    nodes = entry | {"type": "EC2_LINUX"}
    assert said(find(change(cluster(), step(ENTRY, "ada", None, nodes)))) == [
        f"LOW widen-cluster-access: {ADA} new in EKS cluster shop: the rights of EC2_LINUX nodes"
    ]


def test_pods_that_get_another_role_are_reported() -> None:
    inputs = {"clusterName": "shop", "namespace": "web", "serviceAccount": "api"}
    old, new = (inputs | {"roleArn": f"arn:aws:iam::111122223333:role/{each}-1a2b"} for each in ("read", "write"))
    assert said(find(change(cluster(), role("read"), role("write"), step(PODS, "api", old, new)))) == [
        "MEDIUM widen-cluster-access: pods of web/api new in EKS cluster shop: IAM role write",
        "no longer in EKS cluster shop: IAM role read",
    ]


def test_a_role_that_is_replaced_is_the_same_role() -> None:
    inputs = {"clusterName": "shop", "namespace": "web", "serviceAccount": "api"}
    old, new = (inputs | {"roleArn": each} for each in ("arn:aws:iam::111122223333:role/read-1a2b", UNKNOWN))
    replaced = step(
        ROLE, "read", {"name": "read-1a2b"}, {}, operation=Operation.REPLACE, outputs={"arn": old["roleArn"]}
    )
    known = step(PODS, "api", old, new, depends={"roleArn": urn(ROLE, "read")})
    assert said(find(change(cluster(), replaced, known))) == []
    assert said(find(change(cluster(), replaced, step(PODS, "api", old, new)))) == [
        (
            "HIGH widen-cluster-access: pods of web/api new in EKS cluster shop: "
            "a roleArn that is known only after the update"
        ),
    ]


def test_what_is_not_known_is_reported() -> None:
    assert access(policy("View"), policy("View") | {"policyArn": UNKNOWN}) == [
        (
            f"HIGH widen-cluster-access: {ADA} new in EKS cluster shop: "
            "an access policy that is known only after the update"
        ),
    ]
    assert access(policy("View"), policy("View") | {"principalArn": UNKNOWN})[-1] == (
        "MEDIUM widen-cluster-access: the principal of EKS access policy association ada, which is not known yet new "
        "in EKS cluster shop: AmazonEKSViewPolicy in the whole cluster"
    )


def test_a_cluster_that_reads_aws_auth_again_is_reported() -> None:
    wider = CLUSTER_INPUTS | {"accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"}}
    assert said(find(change(step(CLUSTER, "cluster", CLUSTER_INPUTS, wider)))) == [
        (
            "HIGH widen-cluster-access: EKS cluster shop lets in more: "
            "authentication mode API_AND_CONFIG_MAP: the ConfigMap aws-auth lets principals in, too"
        ),
    ]
    assert said(find(change(step(CLUSTER, "cluster", wider, CLUSTER_INPUTS)))) == []


def test_a_cluster_that_is_deleted_lets_nobody_in() -> None:
    gone = step(CLUSTER, "cluster", CLUSTER_INPUTS, None)
    assert said(find(change(gone, step(ASSOCIATION, "ada", policy("View"), None)))) == []


def aws_auth(text: str | None) -> dict[str, Any]:
    return {"metadata": {"name": "aws-auth", "namespace": "kube-system"}, "data": {"mapRoles": text}}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (
            f"- {{rolearn: {ADA}, username: ada, groups: [system:masters]}}",
            f"HIGH widen-cluster-access: {ADA} new in the ConfigMap aws-auth: the Kubernetes group system:masters",
        ),
        (
            f"- {{rolearn: {ADA}, username: ada, groups: [viewers]}}",
            f"MEDIUM widen-cluster-access: {ADA} new in the ConfigMap aws-auth: the Kubernetes group viewers",
        ),
        (
            UNKNOWN,
            (
                "HIGH widen-cluster-access: mapRoles new in the ConfigMap aws-auth: entries with a value that is known "
                "only after the update"
            ),
        ),
        ("- [", "HIGH widen-cluster-access: mapRoles new in the ConfigMap aws-auth: entries that are not valid YAML"),
    ],
)
def test_the_config_map_of_older_clusters_is_compared(new: str, expected: str) -> None:
    old = aws_auth(f"- rolearn: {ADA}\n  username: ada\n")
    found = said(find(change(step("kubernetes:core/v1:ConfigMap", "aws-auth", old, aws_auth(new)))))
    assert expected in found
    assert len([each for each in found if "widen" in each]) == 1


def test_other_config_maps_are_not_looked_at() -> None:
    old, new = ({"metadata": {"name": "web"}, "data": {"mapRoles": each}} for each in ("", UNKNOWN))
    assert said(find(change(step("kubernetes:core/v1:ConfigMap", "web", old, new)))) == []


def test_pods_that_get_another_role_by_an_annotation_are_reported() -> None:
    def account(role_: str | None) -> dict[str, Any]:
        notes = {} if role_ is None else {"eks.amazonaws.com/role-arn": role_}
        return {"metadata": {"name": "api", "namespace": "shop", "annotations": notes}}

    def found(old: str | None, new: str | None) -> list[str]:
        return said(find(change(step("kubernetes:core/v1:ServiceAccount", "api", account(old), account(new)))))

    more = f"MEDIUM widen-cluster-access: pods of shop/api new in the cluster: {ADA}"
    assert found(None, ADA) == [more]
    assert found("arn:aws:iam::111122223333:role/old", ADA)[0] == more
    assert found(ADA, ADA) == []
    assert found(ADA, UNKNOWN)[0].endswith("a role that is known only after the update")
    assert found(ADA, None)[0].startswith("LOW narrow-permissions: pods of shop/api")
