"""Organisations with guard rails: every role has the boundary and the path, or is one that exists already."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.iam.access import format_aws_auth
from multiarch.stack.roles import format_role_prefix, list_roles
from tests.components import declared
from tests.components.declared import World, world
from tests.stack.words import AUTO_MODE, merged

POLICY = "aws:iam/policy:Policy"
OIDC = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
OWNER = "arn:aws:iam::111122223333"
BOUNDARY, EXTRA = (
    f"{OWNER}:policy/boundary",
    [f"{OWNER}:policy/teams/scan", "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"],
)
KARPENTER: dict[str, Any] = {
    "nodeGroups": {"web": {"minSize": 2, "maxSize": 3}},
    "addons": {"ebsCsi": {"enabled": False}},
    "autoscaling": {"use": "karpenter", "karpenter": {"controllerGroup": "web"}},
}
CENTRAL = "arn:aws:ecr:eu-west-1:999988887777:repository/hub/*"
IAM = {
    "iam": {
        "permissionsBoundary": BOUNDARY,
        "path": "/teams/shop/",
        "nodePolicies": EXTRA,
        "pullThroughRepositories": ["k8s/*", CENTRAL],
    }
}
IMAGE = f"111122223333.dkr.ecr.eu-west-1.amazonaws.com/multiarch@sha256:{'a' * 64}"
PODS = {
    "network": {"flowLogs": {}},
    "admissionWebhook": {"enabled": True, "image": IMAGE, "ecrRepositories": ["shop"]},
    "rebalance": {"enabled": True, "ecrRepositories": ["shop"]},
}
EXTRA_ADDON = {
    "statements": [{"actions": ["route53:List*"], "resources": ["*"]}],
    "policies": [f"{OWNER}:policy/dns"],
}
STACKS: dict[str, dict[str, Any]] = {
    "groups": merged(
        declared.FULL,
        {**PODS, "addons": {"extra": {"external-dns": EXTRA_ADDON}}, "autoscaling": {"use": "cluster-autoscaler"}},
    ),
    "karpenter": KARPENTER,
    "auto-mode": dict(AUTO_MODE),
}


def guarded(found: World) -> set[tuple[Any, Any]]:
    return {(role.inputs.get("permissionsBoundary"), role.inputs.get("path")) for role in found.all(declared.ROLE)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("stack", STACKS.values(), ids=list(STACKS))
def test_every_role_has_boundary_and_path_and_is_listed(stack: dict[str, Any]) -> None:
    found = world(merged(stack, IAM))
    listed = set(list_roles(found.plan))
    assert guarded(found) == {(BOUNDARY, "/teams/shop/")}
    assert {role.name for role in found.all(declared.ROLE)} == listed
    paths = {each.inputs.get("path") for each in found.resources if each.type in {declared.PROFILE, POLICY}}
    assert paths <= {"/teams/shop/"}
    nodes = {name for name in listed if name.endswith("-nodes")}
    given = [each.inputs for each in found.all(declared.ATTACHMENT) if "-nodes" in each.name]
    attached = [(each["role"], each["policyArn"]) for each in given]
    assert [policy for _, policy in attached].count(EXTRA[0]) == len(nodes)
    # AWS's policy is attached once, though it is also in the list.
    assert len(attached) == len(set(attached))
    # Nodes may create the repositories of pull-through caches; AWS's policy for Fargate has no rights of these at all.
    both = ["ecr:CreateRepository", "ecr:BatchImportUpstreamImage"]
    created = {each.name: each.inputs for each in found.all(declared.ROLE_POLICY) if "-pull-through" in each.name}
    assert set(created) == {f"{name}-pull-through" for name in {*nodes, *({"fargate"} & listed)}}
    for name, inputs in created.items():
        (statement,) = json.loads(str(inputs["policy"]))["Statement"]
        assert statement["Action"] == (both if name == "fargate-pull-through" else both[0])
        assert statement["Resource"] == ["arn:aws:ecr:eu-west-1:111122223333:repository/k8s/*", CENTRAL]


def test_without_settings_no_role_has_a_boundary_or_a_path(full: World, with_karpenter: World, auto: World) -> None:
    assert guarded(full) | guarded(with_karpenter) | guarded(auto) == {(None, None)}


def test_existing_roles_are_used_and_left_as_they_are() -> None:
    names = ("cluster", "managed-nodes", "karpenter-nodes", "karpenter", "external-dns")
    roles = {name: f"{OWNER}:role/platform/{name}-role" for name in names}
    addons = {"addons": {"extra": {"external-dns": EXTRA_ADDON}}}
    found = world(merged(merged(KARPENTER, addons), {"iam": {"roles": roles}}))
    made = {declared.ROLE, declared.ATTACHMENT, declared.ROLE_POLICY, POLICY}
    assert [each for each in found.resources if each.type in made] == []
    assert {each.inputs["nodeRoleArn"] for each in found.all(declared.MANAGED)} == {roles["managed-nodes"]}
    (entry,) = found.all(declared.ACCESS_ENTRY)
    assert entry.inputs["principalArn"] == roles["karpenter-nodes"]
    (node_class,) = found.all("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    spec: Any = node_class.inputs["spec"]
    assert spec["role"] == "karpenter-nodes-role"
    (association,) = found.all("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    assert association.inputs["roleArn"] == roles["karpenter"]
    of_dns: Any = found.inputs(declared.ADDON, "external-dns")["podIdentityAssociations"]
    assert [each["roleArn"] for each in of_dns] == [roles["external-dns"]]


def test_a_stack_s_own_roles_are_known_by_their_names_which_fit_though_the_clusters_is_long(full: World) -> None:
    name = "s" * 60
    extra = {"amazon-cloudwatch-observability-x": {**EXTRA_ADDON, "serviceAccount": "a", "namespace": "a"}}
    long = world({"clusterName": name, "addons": {"extra": extra}})
    for cluster, found in (("shop-dev", full), (name, long)):
        for role in found.all(declared.ROLE):
            assert role.inputs["namePrefix"] == format_role_prefix(cluster, role.name)
            assert len(str(role.inputs["namePrefix"])) <= 38


def test_aws_auth_has_roles_without_their_path() -> None:
    written = format_aws_auth([f"{OWNER}:role/teams/shop/nodes"])
    assert written.startswith(f"- rolearn: {OWNER}:role/nodes\n  username: system:node:{{{{EC2PrivateDNSName}}}}\n")


def test_pods_of_a_service_account_get_a_role_by_pod_identity_or_by_the_clusters_oidc_provider(
    small: World, changed: World
) -> None:
    association = changed.one("aws:eks/podIdentityAssociation:PodIdentityAssociation", "shop/orders")
    assert (association.inputs["namespace"], association.inputs["serviceAccount"]) == ("shop", "orders")
    assert changed.one(declared.ROLE_POLICY, "orders-pods").urn in association.dependencies
    provider = changed.one(OIDC, "cluster").inputs
    assert provider["clientIdLists"] == ["sts.amazonaws.com"]
    assert changed.inputs(declared.ATTACHMENT, "batch-pods-111122223333-teams/scan")["policyArn"] == EXTRA[0]
    (statement,) = json.loads(changed.inputs(declared.ROLE, "batch-pods")["assumeRolePolicy"])["Statement"]
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    issuer = str(provider["url"]).removeprefix("https://")
    wanted = {f"{issuer}:aud": "sts.amazonaws.com", f"{issuer}:sub": "system:serviceaccount:jobs:default"}
    assert statement["Condition"] == {"StringEquals": wanted}
    assert not small.all(OIDC)
