"""What is there before a run: the cluster of the stack's name, its log group, its node groups.

The clients are the caller's, and botocore's own errors pass through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

from multiarch.errors import KeyPath, Problem
from multiarch.stack.eks_cluster import EksCluster, describe_eks_cluster
from multiarch.stack.model import NewNetwork, Plan
from multiarch.stack.origin import Origin
from multiarch.stack.roles import format_role_prefix

Clients = Callable[[str], Any]
"""Returns boto3's client of a service, in the stack's region and with its identity."""
OWN_TAG = ("managed-by", "multiarch-eks")
"""On every resource that a stack creates."""
_NEW_STACK = "For another value create a new stack, move the workloads, and destroy the old one."
_UNHEALTHY = ("CREATE_FAILED", "DEGRADED", "DELETE_FAILED")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCluster(EksCluster):
    """The cluster of a new cluster's name, whoever made it, with what a stack of it would make.

    ``cidr`` is its VPC's; ``own_vpc`` says whether a stack of this cluster created that VPC. ``own_key_arn`` is the
    stack's own key, read only where the plan takes that one, empty without one.
    """

    cidr: str
    own_vpc: bool
    own_key_arn: str = ""


@dataclass(frozen=True, slots=True)
class UnhealthyGroup:
    """A managed node group that did not become, or no longer is, what it should be; ``issues`` are EKS's words."""

    name: str
    status: str
    issues: tuple[str, ...]


def read_cluster(clients: Clients, plan: Plan) -> OwnCluster | None:
    """Return the cluster of the plan's name, None if there is none."""
    found, encryption = describe_eks_cluster(clients("eks"), plan.cluster.name), plan.own_cluster.encryption
    if found is None:
        return None
    own_key_arn = ""
    if found.key_arn and encryption.enabled and encryption.kms_key_arn is None:
        kms = clients("kms")
        with suppress(kms.exceptions.NotFoundException):
            own_key_arn = kms.describe_key(KeyId=f"alias/eks/{plan.cluster.name}")["KeyMetadata"]["Arn"]
    vpc = clients("ec2").describe_vpcs(VpcIds=[found.vpc_id])["Vpcs"][0]
    tags = {tag["Key"]: tag["Value"] for tag in vpc.get("Tags", ())}
    return OwnCluster(
        **{each.name: getattr(found, each.name) for each in fields(found)},
        cidr=vpc["CidrBlock"],
        own_vpc=OWN_TAG in tags.items() and tags.get("Name") == f"{plan.cluster.name}-vpc",
        own_key_arn=own_key_arn,
    )


def read_log_group(clients: Clients, name: str) -> Mapping[str, str] | None:
    """Return the tags of a log group, None if there is none of this name."""
    logs = clients("logs")
    for group in logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]:
        if group["logGroupName"] == name:
            tags: dict[str, str] = logs.list_tags_for_resource(resourceArn=group["arn"].removesuffix(":*"))["tags"]
            return tags
    return None


def read_unhealthy_groups(clients: Clients, cluster: str) -> tuple[UnhealthyGroup, ...]:
    """Return a cluster's managed node groups that failed or are degraded, by name."""
    eks, found = clients("eks"), []
    for page in eks.get_paginator("list_nodegroups").paginate(clusterName=cluster):
        for name in page["nodegroups"]:
            row = eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
            if row["status"] in _UNHEALTHY:
                issues = row.get("health", {}).get("issues", ())
                said = tuple(f"{each.get('code', '')}: {each.get('message', '')}".rstrip(": ") for each in issues)
                found.append(UnhealthyGroup(name, row["status"], said))
    return tuple(sorted(found, key=lambda each: each.name))


def find_fixed_changes(plan: Plan, origin: Origin, cluster: OwnCluster) -> Iterator[Problem]:
    """Yield an error for each value of the stack that a cluster keeps for its life and that is another one now.

    Pulumi would find out half-way (a CIDR block), replace the cluster (Services, encryption turned off), or show the
    change in every preview and never make it (the key). Source: terraform-provider-aws, internal/service/eks/cluster.go
    and internal/service/ec2/vpc_.go.
    """
    network, encryption = plan.network, plan.own_cluster.encryption
    cidr, vpc_id = (network.cidr, "") if isinstance(network, NewNetwork) else ("", network.vpc_id)
    # With the stack's CIDR block it is the stack's own VPC, whose tags somebody changed: this run writes them again.
    moves = cluster.own_vpc if not cidr else not cluster.own_vpc and cidr != cluster.cidr
    if moves:
        own = f"network.cidr: {cluster.cidr}"
        fix = own if cluster.own_vpc else f"{own} if this stack created that VPC, otherwise network.vpcId"
        there = f"{'its own' if cluster.own_vpc else 'the'} VPC {cluster.vpc_id}"
        message = f"the cluster {plan.cluster.name} was created in {there}, and EKS can't move it."
        yield origin.problem("fixed-value", ("network",), message, hint=f"Write {fix}. {_NEW_STACK}")
        cidr = vpc_id = ""
    key = (encryption.kms_key_arn or cluster.own_key_arn) if encryption.enabled else ""
    rows: tuple[tuple[KeyPath, str, str], ...] = (
        (("network", "cidr"), cidr, cluster.cidr),
        (("network", "vpcId"), vpc_id, cluster.vpc_id),
        (("network", "ipFamily"), "ipv6" if network.ipv6 else "ipv4", cluster.ip_family),
        (("network", "serviceCidr"), plan.own_cluster.service_cidr, cluster.service_cidr),
        (("secretsEncryption", "kmsKeyArn"), key, cluster.key_arn),
        (("secretsEncryption", "enabled"), "" if encryption.enabled else "false", "true" if cluster.key_arn else ""),
    )
    for path, wanted, there in rows:
        if wanted and there and wanted != there:
            message = f"the cluster {plan.cluster.name} was created with {there}, and that can't change to {wanted}."
            yield origin.problem("fixed-value", path, message, hint=f"Write {there}. {_NEW_STACK}")
    yield from _find_other_role(plan, origin, cluster.role_arn)


def _find_other_role(plan: Plan, origin: Origin, there: str) -> Iterator[Problem]:
    """Yield an error for another role of the control plane than ``there``: Pulumi would replace the cluster."""
    written, path = plan.iam.roles.get("cluster"), there.partition(":role")[2].rpartition("/")[0] + "/"
    own = there.rpartition("/")[2].startswith(format_role_prefix(plan.cluster.name, "cluster"))
    if not there or written == there or (own and not written and path == plan.iam.path):
        return
    key: KeyPath = ("iam", "roles", "cluster")
    wanted, fix = written or "a role of the stack", f"Write {there}"
    if own:
        fix = "Remove it"
    if own and not written:
        wanted, key, fix = f"a role in the path {plan.iam.path}", ("iam", "path"), f"Write {path}"
    message = f"the cluster {plan.cluster.name} was created with the role {there}, and that can't change to {wanted}."
    yield origin.problem("fixed-value", key, message, hint=f"{fix}. {_NEW_STACK}")


def find_foreign_log_group(plan: Plan, origin: Origin, tags: Mapping[str, str] | None) -> Iterator[Problem]:
    """Yield an error for a log group of the control plane's name that the stack did not create.

    ``tags`` are the group's, None if there is none. EKS writes the group once more after a cluster was destroyed, and
    CreateLogGroup rejects a name in use. Source: terraform-provider-aws, internal/service/logs/group.go.
    """
    if not plan.own_cluster.logging.types or tags is None or OWN_TAG in tags.items():
        return
    name = plan.own_cluster.log_group_name
    region = f" --region {plan.region}" if plan.region else ""
    delete = f"aws logs delete-log-group --log-group-name {name}{region}"
    yield origin.problem(
        "log-group-exists",
        ("clusterName",),
        f"the log group {name} exists although the cluster does not; `pulumi up` would fail to create it.",
        hint=f"Delete it, with the logs of the last cluster: `{delete}`.",
    )
