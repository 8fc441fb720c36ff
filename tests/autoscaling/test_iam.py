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
from tests.autoscaling.iam_facts import AUTOSCALER_FACTS, KARPENTER, KARPENTER_FACTS, QUEUE, ROLE, Fact

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


def test_five_kinds_of_event_reach_the_queue() -> None:
    assert sorted(json.dumps(build_event_pattern(name), sort_keys=True) for name in INTERRUPTION_EVENTS) == [
        '{"detail-type": ["AWS Health Event"], "source": ["aws.health"]}',
        '{"detail-type": ["EC2 Capacity Reservation Instance Interruption Warning"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Instance Rebalance Recommendation"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Instance State-change Notification"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Spot Instance Interruption Warning"], "source": ["aws.ec2"]}',
    ]
