"""`make up` brings a stack's autoscaler along: release and objects, role, and the tags by which it finds things.

That a preview right afterwards is empty, tests/e2e/test_up.py sees of every stack.
"""

from __future__ import annotations

import pytest

from tests.autoscaling.chosen import chosen
from tests.e2e import aws as held
from tests.e2e.cluster_records import identities, releases
from tests.e2e.world import World

pytestmark = pytest.mark.e2e

WITH_CLUSTER_AUTOSCALER, WITH_KARPENTER = "checkout-dev", "payments-prod"
DISCOVERY = "karpenter.sh/discovery"


def trusted(world: World, stack: str, service_account: str) -> str:
    """The role that a service account runs under; it trusts that service account of that cluster and nobody else."""
    name = identities(world, stack)[service_account].rpartition("/")[2]
    role = world.aws(stack).client("iam").get_role(RoleName=name)["Role"]
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert statement["Condition"]["StringEquals"] == {
        "aws:RequestTag/eks-cluster-name": world.plan(stack).cluster.name,
        "aws:RequestTag/kubernetes-namespace": "kube-system",
        "aws:RequestTag/kubernetes-service-account": service_account,
        "aws:SourceAccount": "123456789012",
    }
    return name


def test_the_cluster_autoscaler_finds_every_group_and_ranks_it_by_its_real_name(platform: World) -> None:
    stack = WITH_CLUSTER_AUTOSCALER
    plan = platform.plan(stack)
    assert plan.autoscaling.cluster_autoscaler is not None
    wanted = dict(plan.autoscaling.cluster_autoscaler.tags)
    priorities = {row.group: row.priority for row in plan.autoscaling.cluster_autoscaler.priorities}
    text = releases(platform, stack)["cluster-autoscaler"]["values"]["expanderPriorities"]
    names = {}
    for group in plan.node_groups:
        there = held.group(platform.aws(stack), plan.cluster.name, group)
        assert dict(wanted[group.name]).items() <= held.pairs(there.scaling["Tags"]).items(), group.name
        names[there.scaling["AutoScalingGroupName"]] = group.name
    best = max(priorities.values())
    assert {names[name] for name in chosen(text, sorted(names))} == {n for n, p in priorities.items() if p == best}


def test_karpenter_has_its_six_policies_its_queue_and_what_it_finds_by_tags(platform: World) -> None:
    stack = WITH_KARPENTER
    plan, aws = platform.plan(stack), platform.aws(stack)
    assert plan.autoscaling.karpenter is not None
    role = trusted(platform, stack, "karpenter")
    assert len(aws.client("iam").list_attached_role_policies(RoleName=role)["AttachedPolicies"]) == 6
    queues = aws.client("sqs").list_queues(QueueNamePrefix=plan.autoscaling.karpenter.queue)["QueueUrls"]
    assert len(queues) == 1
    events = aws.client("events")
    rules = [row["Name"] for row in events.list_rules(NamePrefix=plan.cluster.name)["Rules"]]
    assert len(rules) == 5
    targets = {row["Arn"] for rule in rules for row in events.list_targets_by_rule(Rule=rule)["Targets"]}
    assert [arn.rpartition(":")[2] for arn in targets] == [plan.autoscaling.karpenter.queue]
    tagged = [{"Name": f"tag:{DISCOVERY}", "Values": [plan.cluster.name]}]
    subnets = aws.client("ec2").describe_subnets(Filters=tagged)["Subnets"]
    assert {row["SubnetId"] for row in subnets} == _subnets(platform, stack)
    groups = aws.client("ec2").describe_security_groups(Filters=tagged)["SecurityGroups"]
    cluster = aws.client("eks").describe_cluster(name=plan.cluster.name)["cluster"]["resourcesVpcConfig"]
    assert [row["GroupId"] for row in groups] == [cluster["clusterSecurityGroupId"]]


def _subnets(world: World, stack: str) -> set[str]:
    """The subnets of the stack's managed groups."""
    eks, cluster = world.aws(stack).client("eks"), world.plan(stack).cluster.name
    listed = eks.list_nodegroups(clusterName=cluster)["nodegroups"]
    told = [eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"] for name in listed]
    return {subnet for row in told for subnet in row["subnets"]}
