"""What goes wrong by a switch, and the errors with AWS's names."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.aws.faults import ADDRESSES, VCPUS, VPCS
from sandbox.aws.remote import Remote
from tests.sandbox.served import Served


@pytest.mark.parametrize(
    ("service", "quota", "operation", "arguments", "code"),
    [
        ("ec2", ADDRESSES, "allocate_address", {"Domain": "vpc"}, "AddressLimitExceeded"),
        ("vpc", VPCS, "create_vpc", {"CidrBlock": "10.0.0.0/16"}, "VpcLimitExceeded"),
    ],
)
def test_a_quota_limits_and_can_be_read(
    aws: Served, service: str, quota: str, operation: str, arguments: dict[str, Any], code: str
) -> None:
    create, remote, quotas = getattr(aws.client("ec2"), operation), Remote(aws.endpoint), aws.client("service-quotas")
    assert quotas.get_service_quota(ServiceCode=service, QuotaCode=quota)["Quota"]["Value"] == 1000
    remote.set_faults(quotas={quota: 2})
    assert quotas.get_service_quota(ServiceCode=service, QuotaCode=quota)["Quota"]["Value"] == 2
    create(**arguments)
    if operation == "allocate_address":  # the default VPC counts
        create(**arguments)
    with pytest.raises(ClientError, match=code):
        create(**arguments)
    remote.set_faults()
    create(**arguments)
    with pytest.raises(ClientError, match="NoSuchResource"):
        quotas.get_service_quota(ServiceCode="eks", QuotaCode=VCPUS)


@pytest.mark.parametrize(("switches", "left"), [((), []), (("log-group",), ["/aws/eks/shop/cluster"])])
def test_eks_writes_a_clusters_log_group_once_more(aws: Served, switches: tuple[str, ...], left: list[str]) -> None:
    Remote(aws.endpoint).set_faults(switches=switches)
    logs = aws.client("logs")
    aws.cluster()
    logs.create_log_group(logGroupName="/aws/eks/shop/cluster")
    aws.client("eks").delete_cluster(name="shop")
    logs.delete_log_group(logGroupName="/aws/eks/shop/cluster")
    assert [row["logGroupName"] for row in logs.describe_log_groups()["logGroups"]] == left
