"""What roles of Kubernetes allow, and to whom they are bound, after a change and not before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.review.model import UNKNOWN, Step
from multiarch.review.permissions.kubernetes_rbac import find
from tests.review.permissions.steps import change, said, step

API = "kubernetes:rbac.authorization.k8s.io/v1:"


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **more}


def role(old: Sequence[Any] | None, new: Sequence[Any] | None, kind: str = "ClusterRole", **more: Any) -> Step:
    before, after = (
        None if each is None else {"metadata": {"name": "reader"}, "rules": list(each), **more} for each in (old, new)
    )
    return step(API + kind, "reader", before, after)


def widened(old: Sequence[Any] | None, new: Sequence[Any], **more: Any) -> list[str]:
    return said(find(change(role(old, new, **more))))


def test_a_verb_and_a_resource_more_are_named() -> None:
    assert widened([rule("get list", "pods")], [rule("get list watch", "pods"), rule("get", "pods secrets")]) == [
        "HIGH widen-kubernetes-rbac: ClusterRole reader allows more: watch on pods; and 1 more",
        "get on secrets",
    ]


def test_what_a_wildcard_covered_is_not_reported() -> None:
    for old, new in [
        ([rule("*", "pods", "*")], [rule("get", "pods"), rule("list", "pods", "apps")]),
        ([rule("get", "*")], [rule("get", "pods pods/log")]),
        ([rule("update", "*/scale", "apps")], [rule("update", "deployments/scale", "apps")]),
    ]:
        assert widened(old, new)[0].startswith("LOW narrow-permissions: ClusterRole reader no longer allows: ")
    assert widened([rule("get", "pods"), rule("list", "pods")], [rule("list get", "pods")]) == []


def test_names_of_resources_limit_a_rule() -> None:
    named = rule("get", "secrets", resourceNames=["token"])
    assert widened([named], [rule("get", "secrets")]) == [
        "HIGH widen-kubernetes-rbac: ClusterRole reader allows more: get on secrets"
    ]
    assert widened([named], [rule("get", "secrets", resourceNames=["token", "key"])]) == [
        "HIGH widen-kubernetes-rbac: ClusterRole reader allows more: get on secrets, only key"
    ]
    assert widened([rule("get", "secrets")], [named])[0].startswith("LOW narrow-permissions: ClusterRole reader")


def test_paths_of_the_api_server_are_no_resources() -> None:
    paths = {"nonResourceURLs": ["/metrics", "/healthz/*"], "verbs": ["get"]}
    assert widened([rule("*", "*", "*")], [rule("*", "*", "*"), paths]) == [
        "HIGH widen-kubernetes-rbac: ClusterRole reader allows more: get on the paths /metrics, /healthz/*"
    ]
    assert widened([paths], [{"nonResourceURLs": ["/healthz/ready"], "verbs": ["get"]}])[0].startswith("LOW")


@pytest.mark.parametrize(
    ("new", "risk"),
    [
        (rule("get list", "pods"), "MEDIUM"),
        (rule("get", "secrets"), "HIGH"),
        (rule("create", "pods/exec"), "HIGH"),
        (rule("escalate", "clusterroles", "rbac.authorization.k8s.io"), "HIGH"),
        (rule("impersonate", "users"), "HIGH"),
        (rule("*", "pods"), "HIGH"),
    ],
)
def test_a_new_role_is_as_risky_as_what_it_allows(new: dict[str, Any], risk: str) -> None:
    assert [each.partition(":")[0] for each in widened(None, [new])] == [f"{risk} widen-kubernetes-rbac"]


def test_rules_that_are_not_known_are_reported() -> None:
    head = "HIGH widen-kubernetes-rbac: ClusterRole reader allows more"
    assert widened([rule("get", "pods")], [rule("get", UNKNOWN)])[0] == (
        f"{head}: a rule with a value that is known only after the update"
    )
    assert widened([], ["pods"]) == [f"{head}: a rule with a value that is not an object"]
    both = rule("get", "pods", nonResourceURLs=["/x"])
    assert widened([], [both]) == [
        f"{head}: a rule with both resources and nonResourceURLs, which Kubernetes does not take"
    ]
    aggregated = role(None, [], aggregationRule={"clusterRoleSelectors": []})
    assert said(find(change(aggregated))) == [
        (
            "HIGH widen-kubernetes-rbac: ClusterRole reader allows: "
            "what Kubernetes adds to it from other ClusterRoles, by its aggregationRule"
        ),
    ]


def binding(
    old: Sequence[Any] | None,
    new: Sequence[Any] | None,
    to: str | tuple[str, str] = "view",
    namespace: str = "",
) -> Step:
    """A binding of a ClusterRole; ``to`` are its names before and after."""
    names = (to, to) if isinstance(to, str) else to
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    before, after = (
        None
        if subjects is None
        else {
            "metadata": {"name": "b", **({"namespace": namespace} if namespace else {})},
            "roleRef": {"kind": "ClusterRole", "name": name},
            "subjects": list(subjects),
        }
        for subjects, name in zip((old, new), names, strict=True)
    )
    return step(API + kind, f"b-{namespace}", before, after)


ADA, OPS = {"kind": "User", "name": "ada"}, {"kind": "Group", "name": "ops"}
WEB = {"kind": "ServiceAccount", "name": "web", "namespace": "shop"}


def test_a_subject_more_is_named_with_role_and_scope() -> None:
    assert said(find(change(binding([ADA], [ADA, OPS, WEB])))) == [
        "MEDIUM widen-kubernetes-rbac: group ops gets: ClusterRole view in the whole cluster",
        "MEDIUM widen-kubernetes-rbac: service account shop/web gets: ClusterRole view in the whole cluster",
    ]
    assert said(find(change(binding([], [WEB], namespace="shop")))) == [
        "MEDIUM widen-kubernetes-rbac: service account shop/web gets: ClusterRole view in namespace shop"
    ]


def test_a_binding_of_the_whole_cluster_covers_every_namespace() -> None:
    everywhere = binding([ADA], [ADA])
    assert said(find(change(everywhere, binding(None, [ADA], namespace="shop")))) == []
    only_there = change(binding([ADA], [ADA], namespace="shop"), binding(None, [ADA]))
    assert said(find(only_there)) == [
        "MEDIUM widen-kubernetes-rbac: user ada gets: ClusterRole view in the whole cluster"
    ]


def test_administrators_and_everybody_are_alarming() -> None:
    assert said(find(change(binding(None, [ADA], "cluster-admin"))))[0].startswith("HIGH")
    for group in ("system:masters", "system:unauthenticated"):
        assert said(find(change(binding(None, [{"kind": "Group", "name": group}]))))[0].startswith("HIGH")


def test_another_role_is_compared_by_what_it_allows_where_that_is_known() -> None:
    reader = role([rule("get", "pods")], [rule("get", "pods")])
    assert said(find(change(reader, binding([ADA], [ADA], ("cluster-admin", "reader"))))) == [
        "LOW narrow-permissions: user ada no longer has: ClusterRole cluster-admin in the whole cluster"
    ]
    assert said(find(change(reader, binding([ADA], [ADA], ("reader", "cluster-admin"))))) == [
        "HIGH widen-kubernetes-rbac: user ada gets: ClusterRole cluster-admin in the whole cluster"
    ]
    assert said(find(change(binding([ADA], [ADA], ("cluster-admin", "view")))))[0].startswith("LOW")


def test_bindings_that_are_not_known_are_reported() -> None:
    assert said(find(change(binding([ADA], [UNKNOWN]))))[-1] == (
        "HIGH widen-kubernetes-rbac: ClusterRoleBinding b- binds: "
        "ClusterRole view to a subject that is known only after the update"
    )
    lists = step(f"{API}RoleList", "some", None, {"items": []})
    assert said(find(change(lists))) == [
        "HIGH widen-kubernetes-rbac: RoleList some binds: a list of objects, which is not compared; read it"
    ]


GROUPS, RESOURCES, NAMES, VERBS = (
    ["", "apps", "*"],
    ["pods", "pods/log", "*", "*/log"],
    ["a", "b"],
    ["get", "list", "*"],
)


def some(values: list[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=2, unique=True)


RULES = st.lists(
    st.fixed_dictionaries(
        {"apiGroups": some(GROUPS), "resources": some(RESOURCES), "verbs": some(VERBS), "resourceNames": some(NAMES, 0)}
    )
    | st.fixed_dictionaries({"nonResourceURLs": some(["/a", "/a/*", "*"]), "verbs": some(VERBS)}),
    max_size=3,
)
REQUESTS = [
    *product(
        ("", "apps", "batch"), ("pods", "pods/log", "jobs", "jobs/log", "log"), ("a", "b", "c"), ("get", "list", "x")
    ),
    *product(("(path)",), ("/a", "/a/b", "/b"), ("",), ("get", "list", "x")),
]


def allows(rules: Sequence[Mapping[str, Any]], request: tuple[str, str, str, str]) -> bool:
    """As RBAC's authorizer decides: pkg/registry/rbac/validation of Kubernetes."""
    group, resource, name, verb = request

    def one(each: Mapping[str, Any]) -> bool:
        if not {"*", verb} & set(each["verbs"]):
            return False
        if group == "(path)":
            urls = each.get("nonResourceURLs", [])
            return any(url == resource or (url.endswith("*") and resource.startswith(url[:-1])) for url in urls)
        part = resource.partition("/")[2]
        wanted = {"*", resource, f"*/{part}"} if part else {"*", resource}
        return (
            bool({"*", group} & set(each.get("apiGroups", [])))
            and bool(wanted & set(each.get("resources", [])))
            and (not each.get("resourceNames") or name in each["resourceNames"])
        )

    return any(map(one, rules))


@given(RULES, RULES)
def test_exactly_those_requests_are_reported_that_the_old_rules_did_not_allow(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    better = [request for request in REQUESTS if allows(new, request) and not allows(old, request)]
    found = [each for each in widened(old, new) if "widen" in each]
    assert bool(found) is bool(better)
