"""Add-ons, access entries and pod identity associations."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from multiarch.facts.addons import add_ons
from sandbox.aws.facts import CLUSTER_VERSIONS
from tests.sandbox.served import Served

ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@pytest.fixture
def eks(aws: Served) -> Any:  # noqa: ANN401 (botocore makes its clients at run time)
    aws.cluster()
    return aws.client("eks")


def test_an_addon_lives(eks: Any) -> None:  # noqa: ANN401 (as above)
    made = eks.create_addon(clusterName="shop", addonName="coredns", configurationValues="{}", tags={"a": "b"})["addon"]
    versions = eks.describe_addon_versions(addonName="coredns", kubernetesVersion="1.35")["addons"][0]["addonVersions"]
    assert made["addonVersion"] in [row["addonVersion"] for row in versions]
    newest = versions[0]["addonVersion"]
    update = eks.update_addon(clusterName="shop", addonName="coredns", addonVersion=newest)["update"]
    assert update["type"] == "AddonUpdate"
    addon = eks.describe_addon(clusterName="shop", addonName="coredns")["addon"]
    assert (addon["addonVersion"], addon["configurationValues"], addon["tags"]) == (newest, "{}", {"a": "b"})
    assert eks.list_addons(clusterName="shop")["addons"] == ["coredns"]
    eks.delete_addon(clusterName="shop", addonName="coredns")
    assert eks.list_addons(clusterName="shop")["addons"] == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"addonName": "nonsense"}, "ResourceNotFoundException"),
        ({"addonName": "coredns", "addonVersion": "latest"}, "not supported"),
        ({"addonName": "kube-proxy", "addonVersion": "v1.30.1-eksbuild.1"}, "not supported"),
        ({"addonName": "coredns", "configurationValues": "{"}, "not in valid JSON"),
    ],
)
def test_an_addon_that_eks_would_reject_is_rejected(eks: Any, settings: dict[str, Any], message: str) -> None:  # noqa: ANN401 (as above)
    with pytest.raises(ClientError, match=message):
        eks.create_addon(clusterName="shop", **settings)


def test_every_addon_has_versions_for_every_minor(aws: Served) -> None:
    for minor in CLUSTER_VERSIONS:
        addons = aws.client("eks").describe_addon_versions(kubernetesVersion=minor)["addons"]
        assert [addon["addonName"] for addon in addons] == list(add_ons())
        for addon in addons:
            fits = [fit for version in addon["addonVersions"] for fit in version["compatibilities"]]
            assert {fit["clusterVersion"] for fit in fits} == {minor}
            assert sum(fit["defaultVersion"] for fit in fits) == 1


def test_kube_proxy_follows_the_minor(aws: Served) -> None:
    for minor in ("1.31", "1.36"):
        addon = aws.client("eks").describe_addon_versions(addonName="kube-proxy", kubernetesVersion=minor)["addons"][0]
        assert addon["addonVersions"][0]["addonVersion"].startswith(f"v{minor}.")


def test_an_access_entry_lives(aws: Served, eks: Any) -> None:  # noqa: ANN401 (as above)
    role = aws.role(["team/with/a", "path"][-1])
    entry = eks.create_access_entry(clusterName="shop", principalArn=role, kubernetesGroups=["devs"])["accessEntry"]
    assert (entry["type"], entry["username"]) == ("STANDARD", role)
    scope = {"type": "namespace", "namespaces": ["shop"]}
    eks.associate_access_policy(clusterName="shop", principalArn=role, policyArn=ADMIN, accessScope=scope)
    rows = eks.list_associated_access_policies(clusterName="shop", principalArn=role)["associatedAccessPolicies"]
    assert [(row["policyArn"], row["accessScope"]) for row in rows] == [(ADMIN, scope)]
    assert eks.list_access_entries(clusterName="shop", associatedPolicyArn=ADMIN)["accessEntries"] == [role]
    eks.disassociate_access_policy(clusterName="shop", principalArn=role, policyArn=ADMIN)
    assert eks.list_access_entries(clusterName="shop", associatedPolicyArn=ADMIN)["accessEntries"] == []
    eks.delete_access_entry(clusterName="shop", principalArn=role)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        eks.describe_access_entry(clusterName="shop", principalArn=role)


def test_principals_in_a_path_are_told_apart(eks: Any) -> None:  # noqa: ANN401 (as above)
    administrator = "aws-reserved/sso.amazonaws.com/us-west-2/AWSReservedSSO_a"
    arns = [f"arn:aws:iam::123456789012:role/{path}" for path in ("a", "x/a", administrator)]
    for arn in arns:
        eks.create_access_entry(clusterName="shop", principalArn=arn)
        eks.associate_access_policy(
            clusterName="shop", principalArn=arn, policyArn=ADMIN, accessScope={"type": "cluster"}
        )
    assert eks.list_access_entries(clusterName="shop")["accessEntries"] == sorted(arns)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"principalArn": "role/a"}, "principalArn parameter format"),
        ({"type": "NONSENSE"}, "type must be one of"),
        ({"type": "EC2_LINUX", "kubernetesGroups": ["devs"]}, "cannot be set"),
        ({"kubernetesGroups": ["system:masters"]}, "must not start with system:"),
    ],
)
def test_an_entry_that_eks_would_reject_is_rejected(eks: Any, settings: dict[str, Any], message: str) -> None:  # noqa: ANN401 (as above)
    with pytest.raises(ClientError, match=message):
        eks.create_access_entry(clusterName="shop", **{"principalArn": "arn:aws:iam::123456789012:role/a", **settings})


def test_an_entry_of_nodes_takes_no_policy(aws: Served, eks: Any) -> None:  # noqa: ANN401 (as above)
    role = aws.role("node")
    eks.create_access_entry(clusterName="shop", principalArn=role, type="EC2_LINUX")
    with pytest.raises(ClientError, match="InvalidRequestException"):
        eks.associate_access_policy(
            clusterName="shop", principalArn=role, policyArn=ADMIN, accessScope={"type": "cluster"}
        )


def test_a_cluster_with_config_map_authentication_takes_no_entries(aws: Served) -> None:
    aws.cluster("old", accessConfig={"authenticationMode": "CONFIG_MAP"})
    with pytest.raises(ClientError, match="authentication mode"):
        aws.client("eks").create_access_entry(clusterName="old", principalArn="arn:aws:iam::123456789012:role/a")


def test_a_pod_identity_association_lives(aws: Served, eks: Any) -> None:  # noqa: ANN401 (as above)
    role = aws.role("pod")
    key = {"clusterName": "shop", "namespace": "kube-system", "serviceAccount": "ebs"}
    made = eks.create_pod_identity_association(**key, roleArn=role)["association"]
    with pytest.raises(ClientError, match="ResourceInUseException"):
        eks.create_pod_identity_association(**key, roleArn=role)
    one = {"clusterName": "shop", "associationId": made["associationId"]}
    assert eks.describe_pod_identity_association(**one)["association"]["roleArn"] == role
    other = aws.role("pod-2")
    eks.update_pod_identity_association(**one, roleArn=other)
    assert eks.describe_pod_identity_association(**one)["association"]["roleArn"] == other
    assert len(eks.list_pod_identity_associations(clusterName="shop", namespace="kube-system")["associations"]) == 1
    eks.delete_pod_identity_association(**one)
    assert eks.list_pod_identity_associations(clusterName="shop")["associations"] == []


def test_an_addon_brings_and_takes_its_pod_identities(aws: Served, eks: Any) -> None:  # noqa: ANN401 (as above)
    pods = [{"serviceAccount": "ebs-csi-controller-sa", "roleArn": aws.role("ebs")}]
    eks.create_addon(clusterName="shop", addonName="aws-ebs-csi-driver", podIdentityAssociations=pods)
    assert len(eks.list_pod_identity_associations(clusterName="shop")["associations"]) == 1
    eks.delete_addon(clusterName="shop", addonName="aws-ebs-csi-driver")
    assert eks.list_pod_identity_associations(clusterName="shop")["associations"] == []
