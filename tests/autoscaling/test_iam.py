"""What the autoscalers may do: statement by statement as documented, and call by call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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
    CLASS,
    HAS,
    HOME,
    KARPENTER_FACTS,
    NAMED,
    OWNED,
    POOL,
    QUEUE,
    ROLE,
)

SCOPE = ArnScope("aws", "eu-west-1", "111122223333", "shop-dev")
KARPENTER: Any = build_karpenter_policies(SCOPE, node_role_arn=ROLE, queue_arn=QUEUE)
AUTOSCALER: Any = build_cluster_autoscaler_policy("shop-dev")
SERVICES = ("ec2", "eks", "sqs", "ssm")


def as_facts(document: Mapping[str, Any]) -> list[object]:
    """Each statement's id, actions, resources and conditions; the order of actions and resources means nothing."""
    found: list[object] = []
    for each in document["Statement"]:
        assert each["Effect"] == "Allow"
        resources = [each["Resource"]] if isinstance(each["Resource"], str) else each["Resource"]
        found.append((each["Sid"], sorted(each["Action"]), sorted(resources), each.get("Condition", {})))
    return found


@pytest.mark.parametrize("name", [*KARPENTER_POLICY_NAMES, "cluster-autoscaler"])
def test_each_statement_has_the_documented_actions_resources_and_conditions(name: str) -> None:
    found = AUTOSCALER if name == "cluster-autoscaler" else KARPENTER[name]
    expected = AUTOSCALER_FACTS if name == "cluster-autoscaler" else KARPENTER_FACTS[name]
    assert as_facts(found) == [
        (sid, sorted(actions.split()), sorted(resources.split()), conditions)
        for sid, actions, resources, conditions in expected
    ]


def test_no_policy_names_anything_of_another_partition_or_region() -> None:
    place = ArnScope("aws-cn", "cn-north-1", "111122223333", "shop-dev")
    role, queue = (each.replace(":aws:", ":aws-cn:").replace("eu-west-1", "cn-north-1") for each in (ROLE, QUEUE))
    for document in build_karpenter_policies(place, node_role_arn=role, queue_arn=queue).values():
        for arn in re.findall(r'"(arn:[^"]*)"', format_policy(document)):
            assert arn.startswith(("arn:aws-cn:iam::", *(f"arn:aws-cn:{each}:cn-north-1:" for each in SERVICES)))


def test_each_policy_fits_into_a_managed_policy_with_the_longest_names() -> None:
    place = ArnScope("aws-us-gov", "us-gov-east-1", "111122223333", "c" * 100)
    role = f"arn:aws-us-gov:iam::111122223333:role/{'r' * 64}"
    queue = f"arn:aws-us-gov:sqs:us-gov-east-1:111122223333:{'q' * 80}"
    documents = build_karpenter_policies(place, node_role_arn=role, queue_arn=queue)
    assert tuple(documents) == KARPENTER_POLICY_NAMES
    assert max(len(format_policy(each)) for each in documents.values()) < MAX_MANAGED_POLICY_CHARACTERS


OTHERS = "kubernetes.io/cluster/shop-prod"
EC2 = "arn:aws:ec2:eu-west-1:111122223333:"
INSTANCE, PROFILE = f"{EC2}instance/i-1", "arn:aws:iam::111122223333:instance-profile/shop"
WEB = "general-arm64-spot"
OURS = {HAS + OWNED: "owned", HAS + POOL: WEB}
FOR_US = {ASKS + OWNED: "owned", ASKS + NAMED: "shop-dev", ASKS + POOL: WEB}
FOR_OTHERS = {ASKS + OTHERS: "owned", ASKS + NAMED: "shop-prod", ASKS + POOL: WEB}
LAUNCHED = {"ec2:CreateAction": "RunInstances"}
PROFILE_FOR_US = {ASKS + OWNED: "owned", ASKS + HOME: "eu-west-1", ASKS + NAMED: "shop-dev", ASKS + CLASS: "default"}
OUR_PROFILE = {HAS + OWNED: "owned", HAS + HOME: "eu-west-1", HAS + CLASS: "default"}
ELSEWHERE = {HAS + HOME: "us-east-1", ASKS + HOME: "us-east-1"}
GROUP = "arn:aws:autoscaling:eu-west-1:111122223333:autoScalingGroup:1:autoScalingGroupName/eks-web"
TAG = f"{HAS}k8s.io/cluster-autoscaler/"


@pytest.mark.parametrize(
    ("may", "call"),
    [
        (True, Call("ec2:TerminateInstances", INSTANCE, OURS)),
        (False, Call("ec2:TerminateInstances", INSTANCE, {HAS + OTHERS: "owned", HAS + POOL: WEB})),
        # One of a node group.
        (False, Call("ec2:TerminateInstances", INSTANCE, {HAS + OWNED: "owned"})),
        (True, Call("ec2:RunInstances", f"{EC2}instance/*", FOR_US)),
        (False, Call("ec2:RunInstances", f"{EC2}instance/*", FOR_OTHERS)),
        (True, Call("ec2:RunInstances", "arn:aws:ec2:eu-west-1::image/ami-1")),
        (True, Call("ec2:CreateFleet", f"{EC2}launch-template/lt-1", OURS)),
        (False, Call("ec2:CreateFleet", f"{EC2}launch-template/lt-1", {HAS + OTHERS: "owned", HAS + POOL: WEB})),
        (True, Call("ec2:CreateTags", f"{EC2}volume/vol-1", FOR_US | LAUNCHED)),
        (False, Call("ec2:CreateTags", f"{EC2}volume/vol-1", FOR_US)),
        (True, Call("ec2:CreateTags", INSTANCE, OURS | {"aws:TagKeys": "Name"})),
        (False, Call("ec2:CreateTags", INSTANCE, OURS | {"aws:TagKeys": OWNED})),
        (True, Call("iam:PassRole", ROLE, {"iam:PassedToService": "ec2.amazonaws.com"})),
        (False, Call("iam:PassRole", ROLE, {"iam:PassedToService": "lambda.amazonaws.com"})),
        (True, Call("iam:CreateInstanceProfile", PROFILE, PROFILE_FOR_US)),
        (False, Call("iam:CreateInstanceProfile", PROFILE, PROFILE_FOR_US | ELSEWHERE)),
        (True, Call("iam:TagInstanceProfile", PROFILE, PROFILE_FOR_US | OUR_PROFILE)),
        (False, Call("iam:TagInstanceProfile", PROFILE, PROFILE_FOR_US)),
        (True, Call("iam:DeleteInstanceProfile", PROFILE, OUR_PROFILE)),
        (False, Call("iam:DeleteInstanceProfile", PROFILE, OUR_PROFILE | ELSEWHERE)),
        (True, Call("ec2:DescribeSubnets", "*", {"aws:RequestedRegion": "eu-west-1"})),
        (False, Call("ec2:DescribeSubnets", "*", {"aws:RequestedRegion": "us-east-1"})),
        (False, Call("sqs:ReceiveMessage", QUEUE.replace("dev", "prod"))),
        (True, Call("autoscaling:SetDesiredCapacity", GROUP, {f"{TAG}shop-dev": "owned"})),
        (False, Call("autoscaling:SetDesiredCapacity", GROUP, {f"{TAG}shop-prod": "owned"})),
        (False, Call("autoscaling:TerminateInstanceInAutoScalingGroup", GROUP, {f"{TAG}enabled": "true"})),
    ],
)
def test_an_autoscaler_changes_what_is_of_its_own_cluster_alone(may: bool, call: Call) -> None:  # noqa: FBT001
    assert allowed([*KARPENTER.values(), AUTOSCALER], call) is may


RULES = ["arn:aws:events:eu-west-1:111122223333:rule/shop-dev-health-*"]
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
