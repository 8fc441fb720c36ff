"""`make up` installs a stack's webhook, the CronJob that rebalances and more add-ons; they go in a safe order."""

from __future__ import annotations

import json

import pytest

import multiarch
from tests.e2e.cluster_records import identities, records, releases
from tests.e2e.order import times
from tests.e2e.world import NO_REFRESH, World

pytestmark = pytest.mark.e2e

STACK = "gke-parity"
IMAGE = f"123456789012.dkr.ecr.eu-west-3.amazonaws.com/multiarch@sha256:{'0' * 64}"
NAME = "multiarch-webhook"
REBALANCE = "multiarch-rebalance"


def test_they_come_with_a_release_and_a_role_and_go_in_a_safe_order(platform: World) -> None:
    platform.edit(STACK, "admissionWebhook", value={"enabled": True, "image": IMAGE})
    platform.edit(STACK, "rebalance", value={"enabled": True, "namespaces": ["shop"], "memoryMib": 1024})
    # Its autoscaler needs the one; the other has a role.
    extra = {
        "metrics-server": {},
        "external-dns": {"policies": ["arn:aws:iam::aws:policy/AmazonRoute53ReadOnlyAccess"]},
    }
    platform.edit(STACK, "addons", value={"extra": extra})
    reads = {"policies": ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]}
    accounts = {
        "orders": {"namespace": "shop", **reads},
        "batch": {"namespace": "jobs", "credentials": "irsa", **reads},
    }
    platform.edit(STACK, "iam", value={"serviceAccounts": accounts})
    selectors = [{"namespace": "jobs-*", "labels": {"size": "small"}}]
    platform.edit(STACK, "fargateProfiles", value={"small": {"selectors": selectors}})
    platform.up(STACK, NO_REFRESH)
    _gives_roles_to_service_accounts(platform)
    _comes_as_a_release_with_a_role_that_reads_repositories(platform)
    assert platform.preview(STACK) == []
    _goes_before_its_role_and_its_namespace(platform)


def _comes_as_a_release_with_a_role_that_reads_repositories(installed: World) -> None:
    release = releases(installed, STACK)[NAME]
    assert (release["chart"], release["version"]) == (f"charts/{NAME}", multiarch.__version__)
    assert release["values"]["image"] == IMAGE
    taints = {str(each) for group in installed.plan(STACK).node_groups for each in group.taints}
    assert release["values"]["configuration"]["taints"] == [*taints]
    assert "pod-security.kubernetes.io/enforce" in records(installed, STACK)["Namespace", NAME]["metadata"]["labels"]
    role = identities(installed, STACK)[NAME].rpartition("/")[2]
    iam = installed.aws(STACK).client("iam")
    (trust,) = iam.get_role(RoleName=role)["Role"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-namespace"] == NAME
    policy = iam.get_role_policy(RoleName=role, PolicyName=NAME)["PolicyDocument"]
    assert "arn:aws:ecr:eu-west-3:123456789012:repository/*" in json.dumps(policy)


def _gives_roles_to_service_accounts(installed: World) -> None:
    roles, eks = installed.outputs(STACK)["serviceAccountRoles"], installed.aws(STACK).client("eks")
    (found,) = eks.list_pod_identity_associations(clusterName=STACK, namespace="shop")["associations"]
    one = eks.describe_pod_identity_association(clusterName=STACK, associationId=found["associationId"])
    assert one["association"]["roleArn"] == roles["orders"]
    role = installed.aws(STACK).client("iam").get_role(RoleName=roles["batch"].rpartition("/")[2])["Role"]
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    issuer = eks.describe_cluster(name=STACK)["cluster"]["identity"]["oidc"]["issuer"].removeprefix("https://")
    assert statement["Principal"]["Federated"].endswith(f":oidc-provider/{issuer}")
    assert statement["Condition"]["StringEquals"][f"{issuer}:sub"] == "system:serviceaccount:jobs:batch"
    (name,) = eks.list_fargate_profiles(clusterName=STACK)["fargateProfileNames"]
    profile = eks.describe_fargate_profile(clusterName=STACK, fargateProfileName=name)["fargateProfile"]
    assert profile["selectors"] == [{"namespace": "jobs-*", "labels": {"size": "small"}}]


def _goes_before_its_role_and_its_namespace(installed: World) -> None:
    installed.edit(STACK, "admissionWebhook", "enabled", value=False)
    installed.edit(STACK, "rebalance", "enabled", value=False)
    installed.edit(STACK, "addons", value={"extra": {}})
    installed.edit(STACK, "iam", value={})
    installed.edit(STACK, "fargateProfiles", value={})
    found = times(installed.pulumi(STACK, "up", "--yes", "--skip-preview", "--json", NO_REFRESH))
    release = ("delete", f"kubernetes:helm.sh/v3:Release {NAME}")
    for kind in ("aws:eks/podIdentityAssociation:PodIdentityAssociation", "kubernetes:core/v1:Namespace"):
        assert found.before(release, ("delete", f"{kind} {NAME}"))
    dns = ("delete", "aws:eks/addon:Addon external-dns")
    assert found.before(dns, ("delete", "aws:iam/role:Role external-dns"))
    job = ("delete", f"kubernetes:batch/v1:CronJob {REBALANCE}")
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        assert found.before(job, ("delete", f"kubernetes:rbac.authorization.k8s.io/v1:{kind} {REBALANCE}"))
    assert not [name for _, name in records(installed, STACK) if name.startswith((NAME, REBALANCE))]
