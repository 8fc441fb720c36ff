"""Add-ons, access entries and pod identity associations."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.aws.addon_table import ADD_ONS
from sandbox.aws.facts import CLUSTER_VERSIONS
from tests.sandbox.served import Served

ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@pytest.fixture
def eks(aws: Served) -> Any:  # noqa: ANN401 (botocore makes its clients at run time)
    aws.cluster()
    return aws.client("eks")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"addonName": "nonsense"}, "ResourceNotFoundException"),
        ({"addonName": "coredns", "addonVersion": "latest"}, "not supported"),
        ({"addonName": "kube-proxy", "addonVersion": "v1.30.1-eksbuild.1"}, "not supported"),
        ({"addonName": "coredns", "configurationValues": "{"}, "not in valid JSON"),
        ({"addonName": "metrics-server", "configurationValues": '{"replica": 2}'}, "no key replica"),
    ],
)
def test_an_addon_that_eks_would_reject_is_rejected(eks: Any, settings: dict[str, Any], message: str) -> None:  # noqa: ANN401 (as above)
    with pytest.raises(ClientError, match=message):
        eks.create_addon(clusterName="shop", **settings)


def test_every_addon_has_versions_for_every_minor(aws: Served) -> None:
    for minor in CLUSTER_VERSIONS:
        addons = aws.client("eks").describe_addon_versions(kubernetesVersion=minor)["addons"]
        assert [addon["addonName"] for addon in addons] == list(ADD_ONS)
        for addon in addons:
            fits = [fit for version in addon["addonVersions"] for fit in version["compatibilities"]]
            assert {fit["clusterVersion"] for fit in fits} == {minor}
            assert sum(fit["defaultVersion"] for fit in fits) == 1


def test_principals_in_a_path_are_told_apart(eks: Any) -> None:  # noqa: ANN401 (as above)
    administrator = "aws-reserved/sso.amazonaws.com/us-west-2/AWSReservedSSO_a"
    arns = [f"arn:aws:iam::123456789012:role/{path}" for path in ("a", "x/a", administrator)]
    for arn in arns:
        eks.create_access_entry(clusterName="shop", principalArn=arn)
        eks.associate_access_policy(
            clusterName="shop", principalArn=arn, policyArn=ADMIN, accessScope={"type": "cluster"}
        )
    assert eks.list_access_entries(clusterName="shop")["accessEntries"] == sorted(arns)


def test_a_cluster_with_config_map_authentication_takes_no_entries(aws: Served) -> None:
    aws.cluster("old", accessConfig={"authenticationMode": "CONFIG_MAP"})
    with pytest.raises(ClientError, match="authentication mode"):
        aws.client("eks").create_access_entry(clusterName="old", principalArn="arn:aws:iam::123456789012:role/a")


def test_an_addon_brings_and_takes_its_pod_identities(aws: Served, eks: Any) -> None:  # noqa: ANN401 (as above)
    pods = [{"serviceAccount": "ebs-csi-controller-sa", "roleArn": aws.role("ebs")}]
    eks.create_addon(clusterName="shop", addonName="aws-ebs-csi-driver", podIdentityAssociations=pods)
    assert len(eks.list_pod_identity_associations(clusterName="shop")["associations"]) == 1
    eks.delete_addon(clusterName="shop", addonName="aws-ebs-csi-driver")
    assert eks.list_pod_identity_associations(clusterName="shop")["associations"] == []
    pods = [{"serviceAccount": "external-dns", "roleArn": aws.role("dns")}]
    eks.create_addon(clusterName="shop", addonName="external-dns", podIdentityAssociations=pods)
    (association,) = eks.list_pod_identity_associations(clusterName="shop")["associations"]
    assert association["namespace"] == "external-dns"
