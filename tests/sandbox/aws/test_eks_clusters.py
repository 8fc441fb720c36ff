"""Clusters: what DescribeCluster keeps, and what is rejected."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import urllib3
from botocore.exceptions import ClientError
from cryptography import x509

from sandbox.aws.remote import Remote
from tests.sandbox.served import Served


def test_the_cluster_has_a_network_an_issuer_and_a_certificate_of_its_own(aws: Served) -> None:
    one, other = aws.cluster("one"), aws.cluster("other")
    for cluster in (one, other):
        vpc = cluster["resourcesVpcConfig"]
        group = aws.client("ec2").describe_security_groups(GroupIds=[vpc["clusterSecurityGroupId"]])
        assert group["SecurityGroups"][0]["VpcId"] == vpc["vpcId"]
        pem = base64.b64decode(cluster["certificateAuthority"]["data"])
        assert x509.load_pem_x509_certificate(pem).subject.rfc4514_string() == f"CN={cluster['name']}"
    assert one["identity"]["oidc"]["issuer"] != other["identity"]["oidc"]["issuer"]
    assert one["endpoint"] != other["endpoint"]


def test_a_clusters_api_server_answers_health_checks_unless_it_is_down(aws: Served) -> None:
    remote = Remote(aws.endpoint)

    def answers() -> list[int]:
        server = aws.client("eks").describe_cluster(name="shop")["cluster"]["endpoint"]
        return [urllib3.request("GET", f"{server}/{path}").status for path in ("readyz", "version", "api/v1/pods")]

    aws.cluster()
    assert answers() == [200, 200, 404]
    remote.set_kubernetes_down(3600)
    assert answers() == [503] * 3
    remote.set_kubernetes_down(0)
    assert answers() == [200, 200, 404]
    remote.lead_clusters_to("https://127.0.0.1:6443", "Q0E=")
    elsewhere = aws.cluster("elsewhere")
    assert (elsewhere["endpoint"], elsewhere["certificateAuthority"]) == ("https://127.0.0.1:6443", {"data": "Q0E="})
    remote.lead_clusters_to("", "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"version": "1.19"}, "unsupported Kubernetes version"),
        ({"resourcesVpcConfig": {"subnetIds": []}}, "two different AZs"),
    ],
)
def test_a_cluster_that_eks_would_reject_is_rejected(aws: Served, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ClientError, match=f"InvalidParameterException.*{message}"):
        aws.cluster(**settings)


def test_deletion_protection_and_node_groups_hold_a_cluster(aws: Served) -> None:
    eks = aws.client("eks")
    cluster = aws.cluster(deletionProtection=True)
    subnets = cluster["resourcesVpcConfig"]["subnetIds"]
    with pytest.raises(ClientError, match=r"InvalidRequestException.*deletion protection"):
        eks.delete_cluster(name="shop")
    eks.update_cluster_config(name="shop", deletionProtection=False)
    eks.create_nodegroup(clusterName="shop", nodegroupName="n", subnets=subnets, nodeRole=aws.role("node"))
    with pytest.raises(ClientError, match="ResourceInUseException"):
        eks.delete_cluster(name="shop")
    eks.delete_nodegroup(clusterName="shop", nodegroupName="n")
    eks.delete_cluster(name="shop")
    assert eks.list_clusters()["clusters"] == []
    with pytest.raises(ClientError, match="NotFound"):
        aws.client("ec2").describe_security_groups(GroupIds=[cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]])


def test_versions_go_up_one_minor_at_a_time(aws: Served) -> None:
    eks = aws.client("eks")
    aws.cluster(version="1.33")
    with pytest.raises(ClientError, match="Unsupported Kubernetes minor version update"):
        eks.update_cluster_version(name="shop", version="1.35")
    update = eks.update_cluster_version(name="shop", version="1.34")["update"]
    assert update["status"] == "Successful"
    assert eks.describe_cluster(name="shop")["cluster"]["version"] == "1.34"


def test_one_kind_of_configuration_changes_at_a_time(aws: Served) -> None:
    eks = aws.client("eks")
    aws.cluster()
    with pytest.raises(ClientError, match="Exactly one type of update"):
        eks.update_cluster_config(name="shop", deletionProtection=True, upgradePolicy={"supportType": "STANDARD"})
    eks.update_cluster_config(name="shop", resourcesVpcConfig={"endpointPrivateAccess": True})
    logging = {"clusterLogging": [{"types": ["audit"], "enabled": True}]}
    eks.update_cluster_config(name="shop", logging=logging)
    eks.update_cluster_config(name="shop", logging={"clusterLogging": [{"types": ["audit"], "enabled": False}]})
    cluster = eks.describe_cluster(name="shop")["cluster"]
    assert cluster["resourcesVpcConfig"]["endpointPrivateAccess"] is True
    assert [row["enabled"] for row in cluster["logging"]["clusterLogging"]] == [False]
