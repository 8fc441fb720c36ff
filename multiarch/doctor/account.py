"""Judgement of what AWS said about an account and a region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from multiarch.autoscaling.plan import SPOT_ROLE
from multiarch.doctor.existing import OWN_TAG, ExistingCluster, UnhealthyGroup
from multiarch.doctor.model import CheckResult, CheckState
from multiarch.errors import Problem
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.stack.model import Plan


def list_service_roles(plan: Plan) -> Mapping[str, str]:
    """Return the service-linked roles that a plan needs, with the service that has each."""
    spot = _has_spot_pools(plan) or any(group.capacity_type is CapacityType.SPOT for group in plan.node_groups)
    managed = any(group.kind is NodeGroupKind.MANAGED for group in plan.node_groups)
    return {
        "AWSServiceRoleForAmazonEKS": "eks.amazonaws.com",
        **({"AWSServiceRoleForAmazonEKSNodegroup": "eks-nodegroup.amazonaws.com"} if managed else {}),
        **({"AWSServiceRoleForAutoScaling": "autoscaling.amazonaws.com"} if plan.node_groups else {}),
        **({SPOT_ROLE: "spot.amazonaws.com"} if spot else {}),
    }


def _has_spot_pools(plan: Plan) -> bool:
    pools = plan.autoscaling.karpenter.pools if plan.autoscaling.karpenter else ()
    return any(each.capacity_type is CapacityType.SPOT for pool in pools for each in pool.capacities)


def judge_role(plan: Plan, name: str, service: str, *, exists: bool) -> CheckResult:
    """Judge a service-linked role: AWS creates it at the first use by who has iam:CreateServiceLinkedRole."""
    if exists:
        return CheckResult("service-linked role", CheckState.OK, name)
    fix = f"`aws iam create-service-linked-role --aws-service-name {service}`."
    if name == SPOT_ROLE and _has_spot_pools(plan):
        text = f"{name} does not exist, and Karpenter can't create it"
        return CheckResult("service-linked role", CheckState.FAILED, text, fix)
    text = f"{name} does not exist; AWS creates it if you have iam:CreateServiceLinkedRole"
    return CheckResult("service-linked role", CheckState.WARNING, text, fix)


def judge_cluster(name: str, cluster: ExistingCluster) -> Iterator[CheckResult]:
    """Yield a row if the cluster is not the stack's own, or is being deleted."""
    if not cluster.own:
        text = f"a cluster {name} exists without the stack's tag {'='.join(OWN_TAG)}: something else created it"
        yield CheckResult("cluster", CheckState.FAILED, text, "Choose another clusterName.")
    if cluster.status in ("FAILED", "DELETING"):
        text = f"the cluster {name} is {cluster.status}"
        yield CheckResult("cluster", CheckState.FAILED, text, f"`aws eks describe-cluster --name {name}` says why.")


def judge_version(version: str, offered: Iterable[Mapping[str, str]]) -> CheckResult:
    """Judge whether EKS has a Kubernetes version; ``offered`` are the rows of DescribeClusterVersions for it."""
    for row in offered:
        if row["clusterVersion"] == version and row.get("versionStatus") != "UNSUPPORTED":
            return CheckResult("kubernetes version", CheckState.OK, f"{version} is offered")
    fix = "Set kubernetesVersion to one that `aws eks describe-cluster-versions` lists."
    return CheckResult("kubernetes version", CheckState.FAILED, f"EKS does not offer {version} here", fix)


def judge_offerings(plan: Plan, zones: Sequence[str], offered: Mapping[str, AbstractSet[str]]) -> Iterator[CheckResult]:
    """Yield a row for each group that lacks instance types in its zones, or one row that nothing is missing."""
    lacking = False
    for group in plan.node_groups:
        own = [zone for zone in zones if not group.zones or zone in group.zones]
        gaps = {
            each.name: [zone for zone in own if zone not in offered.get(each.name, ())] for each in group.instance_types
        }
        if not any(gaps.values()):
            continue
        lacking = True
        nowhere = all(len(gap) == len(own) for gap in gaps.values())
        said = ", ".join(f"{name} in {', '.join(gap)}" for name, gap in gaps.items() if gap)
        yield CheckResult(
            "instance types",
            CheckState.FAILED if nowhere else CheckState.WARNING,
            f"{group.key}: not offered: {said}",
            f"Change {group.key}.instanceTypes or network.zones.",
        )
    if not lacking:
        yield CheckResult("instance types", CheckState.OK, f"all are offered in {', '.join(zones)}")


def judge_groups(plan: Plan, region: str, groups: Sequence[UnhealthyGroup]) -> Iterator[CheckResult]:
    """Yield a row for each managed node group that failed or is degraded, or one that all are healthy.

    Only a failed group of the stack stops `pulumi up`.
    """
    cluster, own = plan.cluster.name, tuple(group.name_prefix for group in plan.node_groups)
    if not groups:
        yield CheckResult("node groups", CheckState.OK, "no managed group has failed or is degraded")
    for group in groups:
        text = f"{group.name} is {group.status}: {'; '.join(group.issues) or 'EKS names no issue'}"
        where = f"--cluster-name {cluster} --nodegroup-name {group.name} --region {region}"
        failed = group.status != "DEGRADED" and group.name.startswith(own)
        fix = "Fix the cause that EKS names."
        if failed:
            fix = (
                f"Fix the cause, delete the group with `aws eks delete-nodegroup {where}`, wait until it is gone "
                f"(`aws eks wait nodegroup-deleted {where}`), and run `pulumi up`."
            )
        yield CheckResult("node groups", CheckState.FAILED if failed else CheckState.WARNING, text, fix)


def judge_problems(check: str, fine: str, problems: Iterable[Problem]) -> Iterator[CheckResult]:
    """Yield a failed row for each problem of the stack, or ``ok`` with what is ``fine``."""
    found = [
        CheckResult(check, CheckState.FAILED, str(each).removesuffix(f" {each.hint}"), each.hint) for each in problems
    ]
    yield from found or [CheckResult(check, CheckState.OK, fine)]
