"""Whether nodes in an existing VPC reach what they need: by a default route, or by the VPC's endpoints."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.doctor.existing import Clients
from multiarch.doctor.model import CheckResult, CheckState
from multiarch.facts.autoscalers import get_publisher
from multiarch.schema.stack import StackSpec
from multiarch.stack.checks.reach import has_copy, list_also_needed, list_own
from multiarch.stack.eks_cluster import read_default_routes
from multiarch.stack.model import ExistingClusterPlan, NewNetwork, Plan, list_services
from multiarch.stack.network import NEEDED_WITHOUT_NAT

CHECK = "routes"


def check_routes(clients: Clients, plan: Plan, spec: StackSpec, region: str) -> Iterator[CheckResult]:
    """Yield a warning for each thing that subnets without a default route may lack, or one row that nothing is missing.

    None for a new VPC, and for nodes alone in an existing cluster, which has nodes. Warnings, because a transit gateway
    may lead to endpoints in another VPC.
    """
    joins = isinstance(plan.cluster, ExistingClusterPlan) and not plan.autoscaling.own
    if isinstance(plan.network, NewNetwork) or joins:
        return
    ec2, subnet_ids = clients("ec2"), plan.network.private_subnet_ids
    rows = ec2.describe_subnets(Filters=[{"Name": "subnet-id", "Values": list(subnet_ids)}])["Subnets"]
    if not rows:
        return
    vpc_ids = sorted({row["VpcId"] for row in rows})
    list_routes = read_default_routes(ec2, vpc_ids)
    closed = [each for each in subnet_ids if not list_routes(each)]
    if not closed:
        yield CheckResult(CHECK, CheckState.OK, f"the default route of {', '.join(subnet_ids)}")
        return
    pages = ec2.get_paginator("describe_vpc_endpoints").paginate(Filters=[{"Name": "vpc-id", "Values": vpc_ids}])
    names = {row["ServiceName"].rpartition(f".{region}.")[2] for page in pages for row in page["VpcEndpoints"]}
    found = [*_find_missing(names, spec)]
    for text, fix in found:
        yield CheckResult(CHECK, CheckState.WARNING, f"{', '.join(closed)} without a default route: {text}", fix)
    if not found:
        yield CheckResult(CHECK, CheckState.OK, f"VPC endpoints: {', '.join(sorted(names))}")


def _find_missing(endpoints: set[str], spec: StackSpec) -> Iterator[tuple[str, str]]:
    """Yield what is missing besides the ``endpoints``, and the fix."""
    needed = list_services({*NEEDED_WITHOUT_NAT, *list_also_needed(spec)})
    if missing := [name for name in needed if name not in endpoints]:
        fix = "Add them, unless another VPC's endpoints are in reach."
        yield f"the VPC has no endpoints for {', '.join(missing)}", fix
    own = list_own(spec.autoscaling)
    for publisher in sorted({get_publisher(each) for each in own if not has_copy(each, spec)}):
        yield f"{publisher} can't be reached", f"Set charts.imageRegistries: {{{publisher}: HOST/PATH}}."
    if "karpenter" in own and not spec.autoscaling.karpenter.isolated_vpc:
        yield "Karpenter can't reach IAM and the price list", "Set autoscaling.karpenter.isolatedVPC: true."
