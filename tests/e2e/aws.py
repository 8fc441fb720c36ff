"""What the sandbox's AWS holds, in the words of its API."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan
from sandbox.inventory import Aws

Row = dict[str, Any]
CLUSTER_TAG = "multiarch-eks/cluster"
GROUP_TAG = "multiarch-eks/node-group"


@dataclass(frozen=True, slots=True)
class Group:
    """A node group: the Auto Scaling Group with its running instances, and the EKS node group of a managed one.

    ``template`` is the data of that launch template version which the Auto Scaling Group launches from.
    """

    scaling: Row
    managed: Row | None
    template: Row
    instances: list[Row]


def group(aws: Aws, cluster: str, plan: NodeGroupPlan) -> Group:
    """Find a group by the tags that its instances carry."""
    ec2 = aws.client("ec2")
    managed = managed_group(aws, cluster, plan.name) if plan.kind is NodeGroupKind.MANAGED else None
    groups = aws.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    if managed:
        own = [row["name"] for row in managed["resources"]["autoScalingGroups"]]
        found = [row for row in groups if row["AutoScalingGroupName"] in own]
    else:
        wanted = {CLUSTER_TAG: cluster, GROUP_TAG: plan.name}
        found = [row for row in groups if wanted.items() <= pairs(row["Tags"]).items()]
    assert len(found) == 1, f"{plan.name}: {[row['AutoScalingGroupName'] for row in found]}"
    used = found[0]["MixedInstancesPolicy"]["LaunchTemplate"]["LaunchTemplateSpecification"]
    assert used["Version"].isdecimal(), f"{plan.name} follows {used['Version']}: a new version would roll its nodes"
    versions = ec2.describe_launch_template_versions(
        LaunchTemplateId=used["LaunchTemplateId"], Versions=[used["Version"]]
    )["LaunchTemplateVersions"]
    return Group(found[0], managed, versions[0]["LaunchTemplateData"], instances(aws, cluster, plan.name))


def managed_group(aws: Aws, cluster: str, name: str) -> Row:
    """The one EKS node group of that name in the plan; EKS's own name has a suffix."""
    eks = aws.client("eks")
    listed = eks.list_nodegroups(clusterName=cluster)["nodegroups"]
    told = [eks.describe_nodegroup(clusterName=cluster, nodegroupName=found)["nodegroup"] for found in listed]
    found = [row for row in told if row["tags"].get(GROUP_TAG) == name]
    assert len(found) == 1, f"{name}: {[row['nodegroupName'] for row in found]}"
    row: Row = found[0]
    return row


def set_nodes(aws: Aws, cluster: str, name: str, nodes: int) -> None:
    """Set the number of nodes of a managed group, as an autoscaler does."""
    aws.client("eks").update_nodegroup_config(
        clusterName=cluster,
        nodegroupName=managed_group(aws, cluster, name)["nodegroupName"],
        scalingConfig={"desiredSize": nodes},
    )


def instances(aws: Aws, cluster: str, name: str) -> list[Row]:
    """The running instances of a group."""
    filters = [
        {"Name": f"tag:{CLUSTER_TAG}", "Values": [cluster]},
        {"Name": f"tag:{GROUP_TAG}", "Values": [name]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    told = aws.client("ec2").describe_instances(Filters=filters)["Reservations"]
    return [instance for reservation in told for instance in reservation["Instances"]]


def user_data(template: Row) -> str:
    """The text that a node starts with."""
    return base64.b64decode(template["UserData"]).decode()


def pairs(rows: list[Row]) -> dict[str, str]:
    """Tags as a mapping; KMS has words of its own for the two keys."""
    return {row.get("Key") or row["TagKey"]: row["Value"] if "Value" in row else row["TagValue"] for row in rows}


def _of_ec2(aws: Aws, row: Row) -> dict[str, str]:
    filters = [{"Name": "resource-id", "Values": [row["id"]]}]
    return pairs(aws.client("ec2").describe_tags(Filters=filters)["Tags"])


def _of_eks(aws: Aws, row: Row) -> dict[str, str]:
    outputs = row["outputs"]
    arn = outputs.get("arn") or outputs.get("associationArn") or outputs["accessEntryArn"]
    tags: dict[str, str] = aws.client("eks").list_tags_for_resource(resourceArn=arn)["tags"]
    return tags


def _of_scaling_group(aws: Aws, row: Row) -> dict[str, str]:
    told = aws.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[row["id"]])
    return pairs(told["AutoScalingGroups"][0]["Tags"])


def _of_log_group(aws: Aws, row: Row) -> dict[str, str]:
    tags: dict[str, str] = aws.client("logs").list_tags_for_resource(resourceArn=row["outputs"]["arn"])["tags"]
    return tags


_READERS: Mapping[str, Callable[[Aws, Row], dict[str, str]]] = {
    "aws:autoscaling/group:Group": _of_scaling_group,
    "aws:cloudwatch/logGroup:LogGroup": _of_log_group,
    "aws:cloudwatch/eventRule:EventRule": lambda aws, row: pairs(
        aws.client("events").list_tags_for_resource(ResourceARN=row["outputs"]["arn"])["Tags"]
    ),
    "aws:iam/policy:Policy": lambda aws, row: pairs(
        aws.client("iam").list_policy_tags(PolicyArn=row["outputs"]["arn"])["Tags"]
    ),
    "aws:sqs/queue:Queue": lambda aws, row: dict(aws.client("sqs").list_queue_tags(QueueUrl=row["id"]).get("Tags", {})),
    "aws:iam/instanceProfile:InstanceProfile": lambda aws, row: pairs(
        aws.client("iam").get_instance_profile(InstanceProfileName=row["id"])["InstanceProfile"].get("Tags", [])
    ),
    "aws:iam/role:Role": lambda aws, row: pairs(aws.client("iam").list_role_tags(RoleName=row["id"])["Tags"]),
    "aws:kms/key:Key": lambda aws, row: pairs(aws.client("kms").list_resource_tags(KeyId=row["id"])["Tags"]),
    "aws:ssm/document:Document": lambda aws, row: pairs(
        aws.client("ssm").list_tags_for_resource(ResourceType="Document", ResourceId=row["id"])["TagList"]
    ),
}


def tags(aws: Aws, row: Row) -> dict[str, str]:
    """The tags that AWS holds of a resource; ``row`` is the resource as Pulumi's state has it.

    A kind of resource that is not known here is a KeyError, so that a new one cannot go unread.
    """
    service = row["type"].split(":")[1].split("/")[0]
    reader = {"ec2": _of_ec2, "eks": _of_eks}.get(service) or _READERS[row["type"]]
    return reader(aws, row)
