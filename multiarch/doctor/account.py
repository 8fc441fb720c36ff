"""Judgement of what AWS said about an account and a region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from multiarch.autoscaling.plan import SPOT_ROLE
from multiarch.doctor.existing import OWN_TAG, UnhealthyGroup
from multiarch.doctor.model import CheckResult, CheckState, judge_faults, judge_found
from multiarch.errors import Problem
from multiarch.facts.architectures import format_ami_architecture
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.rules import Severity
from multiarch.stack.eks_cluster import EksCluster
from multiarch.stack.model import ExistingNetwork, Plan


def list_service_roles(plan: Plan) -> Mapping[str, str]:
    """Return the service-linked roles that a plan needs, with the service that has each."""
    pools = plan.autoscaling.karpenter.pools if plan.autoscaling.karpenter else ()
    # EC2 Auto Scaling launches spot groups' nodes with its own role.
    spot = any(each.capacity_type is CapacityType.SPOT for pool in pools for each in pool.capacities)
    managed = any(group.kind is NodeGroupKind.MANAGED for group in plan.node_groups)
    rows = (
        (True, "AWSServiceRoleForAmazonEKS", "eks"),
        (managed, "AWSServiceRoleForAmazonEKSNodegroup", "eks-nodegroup"),
        (bool(plan.node_groups), "AWSServiceRoleForAutoScaling", "autoscaling"),
        (spot, SPOT_ROLE, "spot"),
    )
    return {name: f"{service}.amazonaws.com" for needed, name, service in rows if needed}


def judge_role(name: str, service: str, *, exists: bool) -> CheckResult:
    """Judge a service-linked role: AWS creates most at the first use by who has iam:CreateServiceLinkedRole."""
    then = "AWS creates it if you have iam:CreateServiceLinkedRole"
    if name == SPOT_ROLE:
        then = "Karpenter can't create it, and gets no spot capacity without it"
    fix = f"`aws iam create-service-linked-role --aws-service-name {service}`."
    return judge_found(
        "service-linked role", name if exists else "", f"{name} does not exist; {then}", fix, needed=False
    )


def judge_cluster(cluster: EksCluster) -> Iterator[CheckResult]:
    """Yield a row if the cluster is not the stack's own, or is being deleted."""
    name = cluster.name
    if OWN_TAG not in cluster.tags.items():
        text = f"a cluster {name} exists without the stack's tag {'='.join(OWN_TAG)}: something else created it"
        yield CheckResult("cluster", CheckState.FAILED, text, "Choose another clusterName.")
    if cluster.status in ("FAILED", "DELETING"):
        text = f"the cluster {name} is {cluster.status}"
        yield CheckResult("cluster", CheckState.FAILED, text, f"`aws eks describe-cluster --name {name}` says why.")


def judge_version(version: str, offered: Iterable[Mapping[str, str]]) -> CheckResult:
    """Judge whether EKS has a Kubernetes version; ``offered`` are the rows of DescribeClusterVersions for it."""
    fine = any(row["clusterVersion"] == version and row.get("versionStatus") != "UNSUPPORTED" for row in offered)
    fix = "Set kubernetesVersion to one that `aws eks describe-cluster-versions` lists."
    found = f"{version} is offered" if fine else ""
    return judge_found("kubernetes version", found, f"EKS does not offer {version} here", fix)


def judge_subnets(network: ExistingNetwork, found: Mapping[str, Mapping[str, Any]]) -> Iterator[CheckResult]:
    """Yield a row for each subnet of the stack that can't be used, or one that all can.

    ``found`` are EC2's rows by ID. EKS takes subnets of one VPC, in two zones at least; nodes of a group with ``zones``
    would be in other zones if the stack has a subnet in the wrong one, and pods without addresses.
    """
    zones = {subnet: zone for zone, subnets in network.subnets_by_zone for subnet in subnets}
    zones |= {subnet: zone for zone, subnet in network.pod_subnets}
    faults: dict[str, str] = {}
    for subnet in network.every_subnet_id:
        row = found.get(subnet)
        if row is None:
            faults[subnet] = "does not exist in this account and region"
        elif row["VpcId"] != network.vpc_id:
            faults[subnet] = f"is in {row['VpcId']}, not in {network.vpc_id}"
        elif row["AvailabilityZone"] != zones.get(subnet, row["AvailabilityZone"]):
            faults[subnet] = f"is in {row['AvailabilityZone']}, not in {zones[subnet]}"
        elif network.ipv6 and not (row.get("Ipv6CidrBlockAssociationSet") and row.get("AssignIpv6AddressOnCreation")):
            faults[subnet] = "does not assign IPv6 addresses"
    for subnet, fault in faults.items():
        yield CheckResult("subnets", CheckState.FAILED, f"{subnet} {fault}", "Correct the subnets of network.")
    if faults:
        return
    for ids in filter(None, (network.private_subnet_ids, network.control_plane_subnet_ids)):
        there = sorted({found[each]["AvailabilityZone"] for each in ids})
        fine = f"{len(set(ids))} in {', '.join(there)}" if len(there) > 1 else ""
        yield judge_found("subnets", fine, f"all are in {there[0]}; EKS needs two zones", "Add one of another zone.")


def judge_offerings(plan: Plan, zones: Sequence[str], offered: Mapping[str, AbstractSet[str]]) -> Iterator[CheckResult]:
    """Yield a row for each group that lacks instance types in its zones, or one row that nothing is missing."""
    lacking = False
    for group in plan.node_groups:
        own = [zone for zone in zones if not group.zones or zone in group.zones]
        names = [each.name for each in group.instance_types]
        gaps = {name: gap for name in names if (gap := [zone for zone in own if zone not in offered.get(name, ())])}
        if gaps:
            lacking = True
            nowhere = [len(gap) for gap in gaps.values()] == [len(own)] * len(names)
            text = ", ".join(f"{name} in {', '.join(gap)}" for name, gap in gaps.items())
            fix = f"Change {group.key}.instanceTypes or network.zones."
            text = f"{group.key}: not offered: {text}"
            yield judge_found("instance types", "", text, fix, needed=nowhere)
    if not lacking:
        yield CheckResult("instance types", CheckState.OK, f"all are offered in {', '.join(zones)}")


def judge_images(plan: Plan, region: str, architectures: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield a row for each group whose ``ami.id`` can't start its nodes, or one that all can.

    ``architectures`` are the images' in EC2's spelling. A launch template takes any ID, so that EKS and EC2 would find
    out at the first node. An ID is of one region: copied stack files have those of another.
    """
    faults = []
    for group in plan.node_groups:
        found = architectures.get(group.ami.id or "")
        if group.ami.id and found != format_ami_architecture(group.architecture):
            what = f"is an image for {found}" if found else f"is not in {region}, or not shared with this account"
            fix = f"Remove its ami, and run `multiarch stack pin {plan.stack}`."
            faults.append((f"{group.key}: {group.ami.id} {what}", fix))
    return judge_faults("image", f"each ami.id is in {region}, for its group's architecture", faults)


def judge_groups(plan: Plan, region: str, groups: Sequence[UnhealthyGroup]) -> Iterator[CheckResult]:
    """Yield a row for each managed node group that failed or is degraded, or one that all are healthy.

    Only a failed group of the stack stops `pulumi up`.
    """
    own = tuple(group.name_prefix for group in plan.node_groups)
    if not groups:
        yield CheckResult("node groups", CheckState.OK, "no managed group has failed or is degraded")
    for group in groups:
        text = f"{group.name} is {group.status}: {'; '.join(group.issues) or 'EKS names no issue'}"
        where = f"--cluster-name {plan.cluster.name} --nodegroup-name {group.name} --region {region}"
        failed = group.status != "DEGRADED" and group.name.startswith(own)
        then = f", delete the group (`aws eks delete-nodegroup {where}`) and, when it is gone, run `pulumi up`"
        yield judge_found("node groups", "", text, f"Fix the cause{then if failed else ''}.", needed=failed)


def judge_problems(check: str, fine: str, problems: Iterable[Problem]) -> Iterator[CheckResult]:
    """Yield a row for each problem of the stack, failed for errors, or ``ok`` with what is ``fine``."""
    states = {Severity.ERROR: CheckState.FAILED, Severity.WARNING: CheckState.WARNING}
    found = [
        CheckResult(check, states[each.severity], str(each).removesuffix(f" {each.hint}"), each.hint)
        for each in problems
    ]
    yield from found or [CheckResult(check, CheckState.OK, fine)]
