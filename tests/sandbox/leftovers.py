"""The resources in the sandbox's AWS beyond moto's defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import boto3
from botocore.config import Config

Row = dict[str, Any]
Client = Any  # botocore makes its clients at run time


def _ours(_row: Row) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Listing:
    """One kind of resource: how to list it, its name, and which ones are moto's defaults.

    ``path`` is the key of the list in the answer, with dots for nested lists.
    """

    name: str
    service: str
    operation: str
    path: str
    identifier: str
    arguments: tuple[tuple[str, Any], ...] = ()
    ours: Callable[[Row], bool] = _ours


def _alive(row: Row) -> bool:
    return row["State"]["Name"] not in ("terminated", "shutting-down")


LISTINGS: Final = (
    Listing("VPC", "ec2", "describe_vpcs", "Vpcs", "VpcId", ours=lambda row: not row.get("IsDefault")),
    Listing("subnet", "ec2", "describe_subnets", "Subnets", "SubnetId", ours=lambda row: not row.get("DefaultForAz")),
    Listing("internet gateway", "ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    Listing(
        "NAT gateway",
        "ec2",
        "describe_nat_gateways",
        "NatGateways",
        "NatGatewayId",
        ours=lambda row: row["State"] not in ("deleted", "deleting"),
    ),
    Listing("Elastic IP", "ec2", "describe_addresses", "Addresses", "AllocationId"),
    Listing(
        "route table",
        "ec2",
        "describe_route_tables",
        "RouteTables",
        "RouteTableId",
        ours=lambda row: not any(item.get("Main") for item in row["Associations"]),
    ),
    Listing(
        "security group",
        "ec2",
        "describe_security_groups",
        "SecurityGroups",
        "GroupId",
        ours=lambda row: row["GroupName"] != "default",
    ),
    Listing(
        "VPC endpoint",
        "ec2",
        "describe_vpc_endpoints",
        "VpcEndpoints",
        "VpcEndpointId",
        ours=lambda row: row.get("State") != "deleted",
    ),
    Listing("flow log", "ec2", "describe_flow_logs", "FlowLogs", "FlowLogId"),
    Listing("launch template", "ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateName"),
    Listing("instance", "ec2", "describe_instances", "Reservations.Instances", "InstanceId", ours=_alive),
    Listing("network interface", "ec2", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    Listing("volume", "ec2", "describe_volumes", "Volumes", "VolumeId"),
    Listing(
        "Auto Scaling Group", "autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", "AutoScalingGroupName"
    ),
    Listing(
        "IAM role",
        "iam",
        "list_roles",
        "Roles",
        "RoleName",
        ours=lambda row: not row["Path"].startswith("/aws-service-role/"),
    ),
    Listing("IAM policy", "iam", "list_policies", "Policies", "PolicyName", (("Scope", "Local"),)),
    Listing("instance profile", "iam", "list_instance_profiles", "InstanceProfiles", "InstanceProfileName"),
    Listing("OIDC provider", "iam", "list_open_id_connect_providers", "OpenIDConnectProviderList", "Arn"),
    Listing(
        "KMS alias",
        "kms",
        "list_aliases",
        "Aliases",
        "AliasName",
        ours=lambda row: not row["AliasName"].startswith("alias/aws/"),
    ),
    Listing("log group", "logs", "describe_log_groups", "logGroups", "logGroupName"),
    Listing("EKS cluster", "eks", "list_clusters", "clusters", ""),
    Listing(
        "SSM document",
        "ssm",
        "list_documents",
        "DocumentIdentifiers",
        "Name",
        (("Filters", [{"Key": "Owner", "Values": ["Self"]}]),),
    ),
    Listing(
        "SSM parameter",
        "ssm",
        "describe_parameters",
        "Parameters",
        "Name",
        ours=lambda row: not row["Name"].startswith("/aws/"),
    ),
    Listing("SQS queue", "sqs", "list_queues", "QueueUrls", ""),
    Listing("event rule", "events", "list_rules", "Rules", "Name"),
)


def leftovers(endpoint: str, region: str = "us-east-1") -> dict[str, list[str]]:
    """Everything beyond moto's defaults at an endpoint, by kind, sorted; kinds with nothing are left out.

    Terminated instances, deleted NAT gateways and KMS keys pending deletion stay visible in AWS for a while and
    do not count. Raises botocore's ClientError when the endpoint answers with an error.
    """
    found = {kind.name: sorted(_names(kind, endpoint, region)) for kind in LISTINGS}
    found["KMS key"] = sorted(_kms_keys(endpoint, region))
    return {name: found[name] for name in sorted(found) if found[name]}


def client(service: str, endpoint: str, region: str) -> Client:
    """A boto3 client for the sandbox, with made-up credentials."""
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id="sandbox",
        aws_secret_access_key="sandbox",  # noqa: S106 - moto takes any
        config=Config(retries={"max_attempts": 3, "mode": "standard"}),
    )


def _names(kind: Listing, endpoint: str, region: str) -> Iterable[str]:
    service = client(kind.service, endpoint, region)
    arguments = dict(kind.arguments)
    if service.can_paginate(kind.operation):
        pages: Iterable[Row] = service.get_paginator(kind.operation).paginate(**arguments)
    else:
        pages = [getattr(service, kind.operation)(**arguments)]
    for page in pages:
        for row in _rows([page], kind.path.split(".")):
            if kind.ours(row):
                yield str(row[kind.identifier]) if kind.identifier else str(row)


def _rows(level: list[Any], path: list[str]) -> list[Any]:
    for key in path:
        level = [item for parent in level for item in parent.get(key, [])]
    return level


def _kms_keys(endpoint: str, region: str) -> Iterable[str]:
    kms = client("kms", endpoint, region)
    aliases = (row for page in kms.get_paginator("list_aliases").paginate() for row in page["Aliases"])
    of_aws = {row.get("TargetKeyId") for row in aliases if row["AliasName"].startswith("alias/aws/")}
    for page in kms.get_paginator("list_keys").paginate():
        for row in page["Keys"]:
            key = kms.describe_key(KeyId=row["KeyId"])["KeyMetadata"]
            if key["KeyState"] != "PendingDeletion" and row["KeyId"] not in of_aws:
                yield str(row["KeyId"])
