"""Who gets into an EKS cluster, which pods get which role, and what RBAC allows, after a change and not before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from multiarch.observed.resources.paths import UNKNOWN
from multiarch.review.model import Operation, Step
from tests.review.permissions.steps import ROLE, find, role, step, urn

CLUSTER, ENTRY = "aws:eks/cluster:Cluster", "aws:eks/accessEntry:AccessEntry"
ASSOCIATION = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
PODS, ACCOUNT = "aws:eks/podIdentityAssociation:PodIdentityAssociation", "kubernetes:core/v1:ServiceAccount"
ADA_ARN = "arn:aws:iam::111122223333:role/ada"
CLUSTER_INPUTS = {"name": "shop", "vpcConfig": {"endpointPublicAccess": False}}
SHOP = step(CLUSTER, "cluster", CLUSTER_INPUTS, CLUSTER_INPUTS)
GETS = f"widen-cluster-access: {ADA_ARN} in EKS cluster shop gets: "
API = "kubernetes:rbac.authorization.k8s.io/v1:"
ADA, OPS = {"kind": "User", "name": "ada"}, {"kind": "Group", "name": "ops"}
DANGEROUS = (
    "* */* secrets pods/exec pods/attach pods/ephemeralcontainers nodes/proxy serviceaccounts/token "
    "validatingwebhookconfigurations mutatingwebhookconfigurations certificatesigningrequests/approval"
)
WEB = {"kind": "ServiceAccount", "name": "web", "namespace": "shop"}


def policy(name: str, *namespaces: str) -> dict[str, Any]:
    scope = {"type": "namespace", "namespaces": list(namespaces)} if namespaces else {"type": "cluster"}
    arn = f"arn:aws:eks::aws:cluster-access-policy/AmazonEKS{name}Policy"
    return {"clusterName": "shop", "principalArn": ADA_ARN, "policyArn": arn, "accessScope": scope}


def access(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[str]:
    return find(SHOP, step(ASSOCIATION, "ada", old, new))


def test_an_access_policy_is_named_with_its_scope() -> None:
    assert access(None, policy("ClusterAdmin")) == [f"HIGH {GETS}AmazonEKSClusterAdminPolicy in the whole cluster"]
    assert access(None, policy("Admin", "shop")) == [f"HIGH {GETS}AmazonEKSAdminPolicy in shop"]
    assert access(None, policy("View", "shop")) == [f"MEDIUM {GETS}AmazonEKSViewPolicy in shop"]
    unknown = policy("View") | {"policyArn": UNKNOWN}
    assert access(policy("View"), unknown) == [f"HIGH {GETS}an access policy that is known only after the update"]


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        (policy("Edit"), policy("Admin", "shop"), True),
        (policy("View", "shop"), policy("View"), True),
        (policy("View", "shop", "web"), policy("View", "web"), False),
        (policy("View", "shop-*"), policy("View", "shop-dev"), False),
        (policy("Edit"), policy("Auto"), True),
    ],
)
def test_an_access_policy_for_the_cluster_covers_it_in_a_namespace(old: Any, new: Any, wider: bool) -> None:  # noqa: ANN401, FBT001
    assert access(old, new)[0].split()[1] == ("widen-cluster-access:" if wider else "narrow-permissions:")


def test_access_to_a_deleted_cluster_is_not_reported() -> None:
    gone = step(ASSOCIATION, "a", policy("View"), None, depends={"clusterName": urn(CLUSTER, "cluster")})
    assert find(step(CLUSTER, "cluster", CLUSTER_INPUTS, None), gone) == []


def test_groups_of_kubernetes_and_types_of_entries_count() -> None:
    entry = {"clusterName": "shop", "principalArn": ADA_ARN}
    for more, expected in (
        ({"kubernetesGroups": ["system:masters"]}, "HIGH {}the Kubernetes group system:masters in the whole cluster"),
        ({"kubernetesGroups": ["viewers"]}, "MEDIUM {}the Kubernetes group viewers in the whole cluster"),
        ({"type": "EC2_LINUX"}, "LOW {}the rights of EC2_LINUX nodes in the whole cluster"),
    ):
        assert find(SHOP, step(ENTRY, "ada", None, entry | more)) == [expected.format(GETS)]
    assert find(SHOP, step(ENTRY, "ada", None, entry)) == []


def test_pods_that_get_another_role_are_reported_and_a_replaced_role_is_the_same() -> None:
    inputs = {"clusterName": "shop", "namespace": "web", "serviceAccount": "api"}
    old, new = (inputs | {"roleArn": f"arn:aws:iam::111122223333:role/{each}-1a2b"} for each in ("read", "write"))
    gets = "widen-cluster-access: pods of web/api in EKS cluster shop gets: "
    write = "arn:aws:iam::111122223333:role/write-1a2b"
    assert find(SHOP, role("read"), role("write"), step(PODS, "api", old, new))[0] == f"MEDIUM {gets}{write}"
    arn = {"arn": old["roleArn"]}
    replaced = step(ROLE, "read", {"name": "read-1a2b"}, {}, operation=Operation.REPLACE, outputs=arn)
    later = inputs | {"roleArn": UNKNOWN}
    assert find(SHOP, replaced, step(PODS, "api", old, later, depends={"roleArn": urn(ROLE, "read")})) == []
    assert find(SHOP, replaced, step(PODS, "api", old, later)) == [
        f"HIGH {gets}an IAM role that is known only after the update"
    ]


def test_pods_that_get_another_role_by_an_annotation_are_reported() -> None:
    def found(*roles: str | None) -> list[str]:
        notes = [{} if each is None else {"eks.amazonaws.com/role-arn": each} for each in roles]
        metadata = [{"metadata": {"name": "api", "namespace": "shop", "annotations": each}} for each in notes]
        return find(step(ACCOUNT, "api", *metadata))

    more = f"MEDIUM widen-cluster-access: pods of shop/api gets: {ADA_ARN}"
    assert found(None, ADA_ARN) == [more]
    assert found("arn:aws:iam::111122223333:role/old", ADA_ARN)[0] == more
    assert found(ADA_ARN, UNKNOWN)[0].endswith("an IAM role that is known only after the update")
    assert found(ADA_ARN, None)[0].startswith("LOW narrow-permissions: pods of shop/api")


def test_a_cluster_that_reads_aws_auth_again_is_reported() -> None:
    modes = [{**CLUSTER_INPUTS, "accessConfig": {"authenticationMode": each}} for each in ("API", "API_AND_CONFIG_MAP")]
    assert find(step(CLUSTER, "cluster", *modes)) == [
        (
            "HIGH widen-cluster-access: EKS cluster shop becomes weaker: "
            "accessConfig.authenticationMode is API_AND_CONFIG_MAP: the ConfigMap aws-auth counts"
        )
    ]
    assert find(step(CLUSTER, "cluster", *modes[::-1])) == []


def test_entries_of_the_config_map_of_older_clusters_are_compared() -> None:
    def found(old: str, new: str) -> list[str]:
        maps = [{"metadata": {"name": "aws-auth"}, "data": {"mapRoles": each}} for each in (old, new)]
        return find(step("kubernetes:core/v1:ConfigMap", "aws-auth", *maps))

    old, more = f"- rolearn: {ADA_ARN}\n  groups: [viewers]\n", "- rolearn: x\n  groups:\n  - system:masters\n"
    head = "HIGH widen-cluster-access: ConfigMap aws-auth gets: "
    assert found(old, old + more) == [f'{head}mapRoles {{"rolearn": "x", "groups": ["system:masters"]}}']
    assert found(old + more, old)[0].startswith("LOW narrow-permissions: ConfigMap aws-auth")
    assert found(old, UNKNOWN)[0].endswith("mapRoles that is known only after the update")


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **more}


def reader(old: Sequence[Any] | None, new: Sequence[Any] | None, **more: Any) -> Step:
    before, after = (None if each is None else {"rules": list(each), **more} for each in (old, new))
    return step(f"{API}ClusterRole", "reader", before, after)


def test_verbs_and_resources_more_are_named() -> None:
    head = "HIGH widen-kubernetes-rbac: ClusterRole reader allows: "
    new = [rule("get list watch", "pods"), rule("get", "pods secrets", "apps")]
    assert find(reader([rule("get list", "pods")], new)) == [
        f"{head}watch on pods of API group core; and 1 more",
        "get on pods, secrets of API group apps",
    ]
    named = rule("get", "secrets", resourceNames=["token"])
    assert find(reader([named], [rule("get", "secrets", resourceNames=["token", "key"])])) == [
        f"{head}get on secrets of API group core if name is key; before only if name is token"
    ]
    assert find(reader([rule("get", "secrets")], [named]))[0].startswith("LOW narrow-permissions: ClusterRole reader")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([rule("*", "pods", "*")], [rule("get", "pods"), rule("list", "pods", "apps")]),
        ([rule("get", "*")], [rule("get", "pods pods/log")]),
        ([rule("update", "*/scale", "apps")], [rule("update", "deployments/scale", "apps")]),
    ],
)
def test_what_a_wildcard_covered_is_not_reported(old: list[Any], new: list[Any]) -> None:
    assert find(reader(old, new))[0].startswith("LOW narrow-permissions: ClusterRole reader no longer allows: ")
    assert find(reader(new, old))[0].startswith(("HIGH", "MEDIUM"))


def test_a_path_of_the_api_server_is_not_covered_by_a_resource() -> None:
    paths = {"nonResourceURLs": ["/metrics", "/healthz/*"], "verbs": ["get"]}
    assert find(reader([rule("*", "*", "*")], [rule("*", "*", "*"), paths])) == [
        "HIGH widen-kubernetes-rbac: paths of ClusterRole reader allows: get on /metrics, /healthz/*"
    ]
    assert find(reader([paths], [{"nonResourceURLs": ["/healthz/ready"], "verbs": ["get"]}]))[0].startswith("LOW")


@pytest.mark.parametrize(
    ("new", "risk"),
    [
        (rule("get list", "pods"), "MEDIUM"),
        (rule("get", "secrets"), "HIGH"),
        (rule("escalate", "clusterroles", "rbac.authorization.k8s.io"), "HIGH"),
        (rule("*", "pods"), "HIGH"),
        *((rule(each, "clusterroles"), "HIGH") for each in ("escalate", "bind", "impersonate")),
        *((rule("create", each), "HIGH") for each in DANGEROUS.split()),
    ],
)
def test_a_new_role_is_as_risky_as_what_it_allows(new: dict[str, Any], risk: str) -> None:
    assert [each.partition(":")[0] for each in find(reader(None, [new]))] == [f"{risk} widen-kubernetes-rbac"]


def test_rules_that_are_not_known_are_reported() -> None:
    head = "HIGH widen-kubernetes-rbac: ClusterRole reader allows: "
    for new, reason in (
        (rule("get", UNKNOWN), "an element of resources that is known only after the update"),
        ("pods", "a rule that is not an object"),
    ):
        assert find(reader([rule("get", "pods")], [new]))[0] == f"{head}{reason}"
    aggregated = find(reader(None, [], aggregationRule={"clusterRoleSelectors": []}))[0]
    assert aggregated.startswith("HIGH widen-kubernetes-rbac: ClusterRole reader allows: what Kubernetes adds")


def binding(
    old: Sequence[Any] | None, new: Sequence[Any] | None, to: Sequence[str] = ("view",), space: str = ""
) -> Step:
    """A binding of a ClusterRole; ``to`` are its names before and after."""
    kind = "RoleBinding" if space else "ClusterRoleBinding"
    before, after = (
        None if subjects is None else {"roleRef": {"kind": "ClusterRole", "name": name}, "subjects": list(subjects)}
        for subjects, name in zip((old, new), (to[0], to[-1]), strict=True)
    )
    metadata = {"metadata": {"name": "b", "namespace": space}}
    return step(f"{API}{kind}", f"b-{space}", before and before | metadata, after and after | metadata)


def test_a_subject_more_is_named_with_role_and_scope() -> None:
    view = "gets: ClusterRole view in"
    assert find(binding([ADA], [ADA, OPS, WEB])) == [
        f"MEDIUM widen-kubernetes-rbac: group ops {view} the whole cluster",
        f"MEDIUM widen-kubernetes-rbac: service account shop/web {view} the whole cluster",
    ]
    everywhere = f"MEDIUM widen-kubernetes-rbac: user ada {view} the whole cluster"
    assert find(binding([ADA], [ADA], space="shop"), binding(None, [ADA])) == [everywhere]
    assert find(binding([ADA], [UNKNOWN]))[0].endswith("gets: a subject that is known only after the update")


def test_administrators_and_everybody_are_alarming() -> None:
    assert find(binding([ADA], [ADA], ("view", "cluster-admin")))[0].startswith("HIGH widen-kubernetes-rbac: user ada")
    for group in ("system:masters", "system:unauthenticated"):
        assert find(binding(None, [{"kind": "Group", "name": group}]))[0].startswith("HIGH")


def test_administrators_and_everybody_are_a_high_risk() -> None:
    for name in ("admin", "cluster-admin"):
        assert find(binding(None, [ADA], [name]))[0].startswith("HIGH widen-kubernetes-rbac: user ada gets: ")
    for group in ("system:masters", "system:authenticated", "system:unauthenticated", "system:anonymous"):
        found = find(binding(None, [{"kind": "Group", "name": group}]))
        assert found[0].startswith(f"HIGH widen-kubernetes-rbac: group {group} gets: ")
