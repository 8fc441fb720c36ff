"""What the autoscalers may do: statement by statement against the documented facts, and call by call."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from multiarch.autoscaling.iam import (
    INTERRUPTION_EVENTS,
    KARPENTER_POLICY_NAMES,
    ArnScope,
    build_cluster_autoscaler_policy,
    build_event_pattern,
    build_interruption_queue_policy,
    build_karpenter_policies,
    format_policy,
)
from multiarch.facts.limits import MAX_MANAGED_POLICY_CHARACTERS
from tests.autoscaling.evaluation import Call, allowed
from tests.autoscaling.iam_facts import (
    ASKS,
    AUTOSCALER_FACTS,
    HAS,
    KARPENTER,
    KARPENTER_FACTS,
    NAMED,
    OWNED,
    POOL,
    QUEUE,
    ROLE,
    Fact,
)

SERVICES = ("ec2", "eks", "sqs", "ssm")


def as_fact(policy: str, statement: dict[str, Any]) -> Fact:
    assert statement["Effect"] == "Allow"
    actions, resources = statement["Action"], statement["Resource"]
    several = {resources} if isinstance(resources, str) else set(resources)
    return Fact(policy, statement["Sid"], frozenset(actions), frozenset(several), statement.get("Condition", {}))


def test_karpenter_has_the_six_documented_policies() -> None:
    assert tuple(KARPENTER) == KARPENTER_POLICY_NAMES
    found = [(name, statement["Sid"]) for name, document in KARPENTER.items() for statement in document["Statement"]]
    assert found == [(fact.policy, fact.sid) for fact in KARPENTER_FACTS]


@pytest.mark.parametrize("fact", KARPENTER_FACTS, ids=lambda fact: fact.sid)
def test_each_statement_has_the_documented_actions_resources_and_conditions(fact: Fact) -> None:
    (statement,) = (each for each in KARPENTER[fact.policy]["Statement"] if each["Sid"] == fact.sid)
    assert as_fact(fact.policy, statement) == fact


@pytest.mark.parametrize(("partition", "region"), [("aws-cn", "cn-north-1"), ("aws-us-gov", "us-gov-west-1")])
def test_no_policy_names_anything_of_another_partition_or_region(partition: str, region: str) -> None:
    place = ArnScope(partition, region, "111122223333", "shop-dev")
    role, queue = (each.replace("arn:aws:", f"arn:{partition}:").replace("eu-west-1", region) for each in (ROLE, QUEUE))
    for document in build_karpenter_policies(place, node_role_arn=role, queue_arn=queue).values():
        for arn in re.findall(r'"(arn:[^"]*)"', format_policy(document)):
            assert arn.startswith((f"arn:{partition}:iam::", *(f"arn:{partition}:{s}:{region}:" for s in SERVICES)))


@pytest.mark.parametrize("name", KARPENTER_POLICY_NAMES)
def test_each_policy_fits_into_a_managed_policy_with_the_longest_names(name: str) -> None:
    place = ArnScope("aws-us-gov", "us-gov-east-1", "111122223333", "c" * 100)
    role = f"arn:aws-us-gov:iam::111122223333:role/{'r' * 64}"
    queue = f"arn:aws-us-gov:sqs:us-gov-east-1:111122223333:{'q' * 80}"
    document = build_karpenter_policies(place, node_role_arn=role, queue_arn=queue)[name]
    assert len(format_policy(document)) < MAX_MANAGED_POLICY_CHARACTERS


EC2 = "arn:aws:ec2:eu-west-1:111122223333:"
OTHERS = "kubernetes.io/cluster/shop-prod"
WEB = "general-arm64-spot"
FOR_US = {ASKS + OWNED: "owned", ASKS + NAMED: "shop-dev", ASKS + POOL: WEB}
FOR_OTHERS = {ASKS + OTHERS: "owned", ASKS + NAMED: "shop-prod", ASKS + POOL: WEB}


@pytest.mark.parametrize(
    ("may", "call"),
    [
        (True, Call("ec2:TerminateInstances", f"{EC2}instance/i-1", {HAS + OWNED: "owned", HAS + POOL: WEB})),
        (False, Call("ec2:TerminateInstances", f"{EC2}instance/i-1", {HAS + OTHERS: "owned", HAS + POOL: WEB})),
        # One of a node group.
        (False, Call("ec2:TerminateInstances", f"{EC2}instance/i-1", {HAS + OWNED: "owned"})),
        (False, Call("ec2:TerminateInstances", f"{EC2}instance/i-1")),
        (True, Call("ec2:RunInstances", f"{EC2}instance/*", FOR_US)),
        (False, Call("ec2:RunInstances", f"{EC2}instance/*", FOR_OTHERS)),
        (False, Call("ec2:CreateFleet", f"{EC2}launch-template/lt-1", {HAS + OTHERS: "owned", HAS + POOL: WEB})),
        (True, Call("iam:PassRole", ROLE, {"iam:PassedToService": "ec2.amazonaws.com"})),
        (False, Call("iam:PassRole", ROLE, {"iam:PassedToService": "lambda.amazonaws.com"})),
        (False, Call("sqs:ReceiveMessage", QUEUE.replace("dev", "prod"))),
    ],
)
def test_karpenter_changes_its_own_clusters_nodes_alone(may: bool, call: Call) -> None:  # noqa: FBT001
    assert allowed(KARPENTER.values(), call) is may


GROUP = "arn:aws:autoscaling:eu-west-1:111122223333:autoScalingGroup:1:autoScalingGroupName/eks-web"
TAG = f"{HAS}k8s.io/cluster-autoscaler/"


@pytest.mark.parametrize(
    ("may", "call"),
    [
        (True, Call("autoscaling:SetDesiredCapacity", GROUP, {f"{TAG}shop-dev": "owned"})),
        (False, Call("autoscaling:SetDesiredCapacity", GROUP, {f"{TAG}shop-prod": "owned"})),
        (False, Call("autoscaling:TerminateInstanceInAutoScalingGroup", GROUP, {f"{TAG}enabled": "true"})),
    ],
)
def test_the_cluster_autoscaler_changes_groups_of_its_cluster_alone(may: bool, call: Call) -> None:  # noqa: FBT001
    assert allowed([build_cluster_autoscaler_policy("shop-dev")], call) is may


def test_the_cluster_autoscaler_has_the_documented_statements() -> None:
    document: Any = build_cluster_autoscaler_policy("shop-dev")
    assert tuple(as_fact("cluster-autoscaler", each) for each in document["Statement"]) == AUTOSCALER_FACTS


RULES = ["arn:aws:events:eu-west-1:111122223333:rule/shop-dev-health-*"]


def test_the_queue_policy_has_the_documented_statements() -> None:
    document: Any = build_interruption_queue_policy(QUEUE, RULES)
    allow, deny = document["Statement"]
    # Narrower than documented: EventBridge alone, and the stack's own rules.
    assert allow["Principal"] == {"Service": "events.amazonaws.com"}
    assert allow["Condition"] == {"ArnLike": {"aws:SourceArn": RULES}}
    assert (allow["Action"], deny["Action"], deny["Effect"]) == ("sqs:SendMessage", "sqs:*", "Deny")
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


EVENTS = "events.amazonaws.com"
OWN = {"aws:SourceArn": "arn:aws:events:eu-west-1:111122223333:rule/shop-dev-health-20261121"}
OTHER = {"aws:SourceArn": "arn:aws:events:eu-west-1:999999999999:rule/shop-dev-health-20261121"}
SAFE, PLAIN = {"aws:SecureTransport": "true"}, {"aws:SecureTransport": "false"}


@pytest.mark.parametrize(
    ("may", "call"),
    [
        (True, Call("sqs:SendMessage", QUEUE, SAFE | OWN, EVENTS)),
        (False, Call("sqs:SendMessage", QUEUE, PLAIN | OWN, EVENTS)),
        (False, Call("sqs:SendMessage", QUEUE, SAFE | OTHER, EVENTS)),
        (False, Call("sqs:SendMessage", QUEUE, SAFE | OWN, "sns.amazonaws.com")),
        (True, Call("sqs:ReceiveMessage", QUEUE, SAFE)),
        # Not even the controller, whose own policy allows it.
        (False, Call("sqs:ReceiveMessage", QUEUE, PLAIN)),
    ],
)
def test_only_the_stacks_own_rules_fill_the_queue_and_only_over_tls(may: bool, call: Call) -> None:  # noqa: FBT001
    both = [KARPENTER["interruption"], build_interruption_queue_policy(QUEUE, RULES)]
    assert allowed(both, call) is may


def test_five_kinds_of_event_reach_the_queue() -> None:
    assert sorted(json.dumps(build_event_pattern(name), sort_keys=True) for name in INTERRUPTION_EVENTS) == [
        '{"detail-type": ["AWS Health Event"], "source": ["aws.health"]}',
        '{"detail-type": ["EC2 Capacity Reservation Instance Interruption Warning"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Instance Rebalance Recommendation"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Instance State-change Notification"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Spot Instance Interruption Warning"], "source": ["aws.ec2"]}',
    ]
