"""Each statement of each policy: what it is there for is allowed by it, and nothing that differs in one point.

A call that is right in everything is made for every action and kind of resource of a statement. Then one thing of it
changes: a tag is missing, or another cluster's; the region, account or partition is another. Each time it is denied.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from multiarch.autoscaling.iam import cluster_autoscaler_policy
from tests.autoscaling.evaluation import Call, allowed, matches
from tests.autoscaling.iam_facts import (
    ACCOUNT,
    ASKS,
    AUTOSCALER_FACTS,
    CLASS,
    CLUSTER,
    HAS,
    HOME,
    KARPENTER,
    KARPENTER_FACTS,
    NAMED,
    OWNED,
    PLACE,
    POOL,
    QUEUE,
    REGION,
    ROLE,
    Fact,
)

Context = Mapping[str, str | Sequence[str]]
EC2 = f"arn:aws:ec2:{REGION}:{ACCOUNT}:"
PUBLIC = f"arn:aws:ec2:{REGION}::"
PROFILE = f"arn:aws:iam::{ACCOUNT}:instance-profile/{CLUSTER}_42"
OF_A_POOL: Context = {HAS + OWNED: "owned", HAS + POOL: "general"}
FOR_A_POOL: Context = {ASKS + OWNED: "owned", ASKS + NAMED: CLUSTER, ASKS + POOL: "general"}
OF_A_CLASS: Context = {HAS + OWNED: "owned", HAS + HOME: REGION, HAS + CLASS: "default"}
FOR_A_CLASS: Context = {ASKS + OWNED: "owned", ASKS + NAMED: CLUSTER, ASKS + HOME: REGION, ASKS + CLASS: "default"}
MADE = ["fleet/f-1", "instance/*", "volume/*", "network-interface/*", "launch-template/*", "spot-instances-request/*"]
GROUP = f"arn:aws:autoscaling:{REGION}:{ACCOUNT}:autoScalingGroup:1:autoScalingGroupName/eks-web"

# Statement, resources as a call names them, context of the call.
RIGHT: Mapping[str, tuple[list[str], Context]] = {
    "AllowScopedEC2InstanceAccessActions": (
        [PUBLIC + "image/ami-1", PUBLIC + "snapshot/snap-1", EC2 + "security-group/sg-1", EC2 + "subnet/subnet-1",
         EC2 + "capacity-reservation/cr-1", EC2 + "placement-group/spread"], {},
    ),
    "AllowScopedEC2LaunchTemplateAccessActions": ([EC2 + "launch-template/lt-1"], OF_A_POOL),
    "AllowScopedEC2InstanceActionsWithTags": ([EC2 + each for each in MADE], FOR_A_POOL),
    "AllowScopedResourceCreationTagging": (
        [EC2 + each for each in MADE], {**FOR_A_POOL, "ec2:CreateAction": "RunInstances"},
    ),
    "AllowScopedResourceTagging": (
        [EC2 + "instance/i-1"],
        {**OF_A_POOL, ASKS + NAMED: CLUSTER, "aws:TagKeys": [NAMED, "karpenter.sh/nodeclaim", "Name"]},
    ),
    "AllowScopedDeletion": ([EC2 + "instance/i-1", EC2 + "launch-template/lt-1"], OF_A_POOL),
    "AllowPassingInstanceRole": ([ROLE], {"iam:PassedToService": "ec2.amazonaws.com"}),
    "AllowScopedInstanceProfileCreationActions": ([PROFILE], FOR_A_CLASS),
    "AllowScopedInstanceProfileTagActions": ([PROFILE], {**OF_A_CLASS, **FOR_A_CLASS}),
    "AllowScopedInstanceProfileActions": ([PROFILE], OF_A_CLASS),
    "AllowAPIServerEndpointDiscovery": ([PLACE.cluster_arn], {}),
    "AllowInterruptionQueueActions": ([QUEUE], {}),
    "AllowZonalShiftStatusReadOnly": (["*"], {"arc-zonal-shift:ResourceIdentifier": PLACE.cluster_arn}),
    "AllowRegionalReadActions": (["*"], {"aws:RequestedRegion": REGION}),
    "AllowSSMReadActions": ([f"arn:aws:ssm:{REGION}::parameter/aws/service/eks/optimized-ami/1.35/x"], {}),
    "AllowPricingReadActions": (["*"], {}),
    "AllowUnscopedInstanceProfileListAction": (["*"], {}),
    "AllowInstanceProfileReadActions": ([PROFILE], {}),
    "Read": (["*"], {}),
    "ChangeOwnGroups": ([GROUP], {f"{HAS}k8s.io/cluster-autoscaler/{CLUSTER}": "owned"}),
}  # fmt: skip
FACTS = (*KARPENTER_FACTS, *AUTOSCALER_FACTS)
# Any pool and any class will do, as long as there is one.
ANY_VALUE = {HAS + POOL, ASKS + POOL, HAS + CLASS, ASKS + CLASS}
# Without it nothing of the sort is written.
MAY_BE_MISSING = {("AllowScopedResourceTagging", ASKS + NAMED), ("AllowScopedResourceTagging", "aws:TagKeys")}
SCOPED_TO_ACCOUNT = ("iam", "eks", "sqs")


def documents(fact: Fact) -> dict[str, Any]:
    """All documents of the one who has the statement."""
    if fact in KARPENTER_FACTS:
        return dict(KARPENTER)
    return {fact.policy: cluster_autoscaler_policy(CLUSTER)}


def right_calls(fact: Fact) -> Iterator[Call]:
    resources, context = RIGHT[fact.sid]
    for action in sorted(fact.actions):
        for resource in resources:
            yield Call(action, resource, context)


CALLS = [(fact, call) for fact in FACTS for call in right_calls(fact)]
NAMES = [f"{fact.sid}: {call.action} {call.resource}" for fact, call in CALLS]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.sid)
def test_the_calls_here_reach_every_resource_of_a_statement_and_every_key_of_its_conditions(fact: Fact) -> None:
    resources, context = RIGHT[fact.sid]
    assert all(any(matches(pattern, each) for each in resources) for pattern in fact.resources)
    assert {key for pairs in fact.conditions.values() for key in pairs} == set(context)


@pytest.mark.parametrize(("fact", "call"), CALLS, ids=NAMES)
def test_the_right_call_is_allowed_by_its_statement_and_by_no_other(fact: Fact, call: Call) -> None:
    policies = documents(fact)
    assert allowed(policies.values(), call)
    without = copy.deepcopy(policies)
    without[fact.policy]["Statement"] = [each for each in without[fact.policy]["Statement"] if each["Sid"] != fact.sid]
    assert not allowed(without.values(), call)


def elsewhere(arn: str) -> Iterator[str]:
    """The same in another partition, region, account: as far as the ARN has one."""
    if not arn.startswith("arn:"):
        return
    _, partition, service, region, account, rest = arn.split(":", 5)
    yield f"arn:{partition}-cn:{service}:{region}:{account}:{rest}"
    if region:
        yield f"arn:{partition}:{service}:us-east-1:{account}:{rest}"
    if service in SCOPED_TO_ACCOUNT:
        yield f"arn:{partition}:{service}:{region}:444455556666:{rest}"


def wrong_calls(fact: Fact, call: Call) -> Iterator[tuple[str, Call]]:
    """The call with one thing wrong, and what that is."""
    if fact.policy != "cluster-autoscaler":  # its statements are for all resources: the tag alone scopes them
        yield from ((f"on {arn}", Call(call.action, arn, call.context)) for arn in elsewhere(call.resource))
    for key, value in call.context.items():
        rest = {each: had for each, had in call.context.items() if each != key}
        if (fact.sid, key) not in MAY_BE_MISSING:
            yield f"without {key}", Call(call.action, call.resource, rest)
        if key not in ANY_VALUE:
            other = "shop-prod" if isinstance(value, str) else [*value, "owner"]
            yield f"{key} {other}", Call(call.action, call.resource, {**rest, key: other})
    # The tag of another cluster in place of its own: not missing, but no longer under that key.
    foreign = {key.replace(CLUSTER, "shop-prod"): value for key, value in call.context.items()}
    if foreign != call.context:
        yield "another cluster's tag", Call(call.action, call.resource, foreign)


WRONG = [(fact, what, wrong) for fact, call in CALLS for what, wrong in wrong_calls(fact, call)]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.sid)
def test_a_call_with_one_thing_wrong_is_denied(fact: Fact) -> None:
    policies = documents(fact).values()
    wrong = [(what, call) for of, what, call in WRONG if of is fact]
    passed = [f"{call.action} {call.resource}: {what}" for what, call in wrong if allowed(policies, call)]
    assert passed == []


def loosened(fact: Fact) -> Iterator[tuple[str, dict[str, Any]]]:
    """The documents with one thing of a statement left out: a key of its conditions, or its resources."""
    for operator, pairs in fact.conditions.items():
        for key in pairs:
            policies = copy.deepcopy(documents(fact))
            del _statement(policies, fact)["Condition"][operator][key]
            yield key, policies
    if fact.resources != {"*"}:
        policies = copy.deepcopy(documents(fact))
        _statement(policies, fact)["Resource"] = "*"
        yield "Resource", policies


def _statement(policies: dict[str, Any], fact: Fact) -> dict[str, Any]:
    return next(each for each in policies[fact.policy]["Statement"] if each["Sid"] == fact.sid)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.sid)
def test_if_anything_were_left_out_of_a_statement_a_wrong_call_would_be_allowed(fact: Fact) -> None:
    wrong = [call for of, _, call in WRONG if of is fact]
    idle = [what for what, policies in loosened(fact) if not any(allowed(policies.values(), call) for call in wrong)]
    assert idle == []


def test_every_statement_that_is_scoped_has_a_call_with_something_wrong() -> None:
    unscoped = {fact.sid for fact in FACTS if fact.resources == {"*"} and not fact.conditions}
    assert unscoped == {"AllowPricingReadActions", "AllowUnscopedInstanceProfileListAction", "Read"}
    assert {fact.sid for fact, _, _ in WRONG} == {fact.sid for fact in FACTS} - unscoped


@pytest.mark.parametrize("sid", ["AllowScopedResourceTagging"])
def test_what_may_be_missing_is_allowed_without_it(sid: str) -> None:
    (resource,), context = RIGHT[sid]
    for of, key in sorted(MAY_BE_MISSING):
        rest = {each: value for each, value in context.items() if each != key}
        assert of == sid
        assert allowed(KARPENTER.values(), Call("ec2:CreateTags", resource, rest))


# What would do harm, with whatever tags a call of Karpenter's or the autoscaler's has.
HARM = [
    "autoscaling:CreateOrUpdateTags", "autoscaling:DeleteAutoScalingGroup", "autoscaling:UpdateAutoScalingGroup",
    "arc-zonal-shift:StartZonalShift", "ec2:AuthorizeSecurityGroupIngress", "ec2:CreateImage", "ec2:DeleteTags",
    "ec2:DeleteVolume", "ec2:ModifyInstanceAttribute", "ec2:ModifyLaunchTemplate", "ec2:StopInstances",
    "eks:CreateAccessEntry", "eks:DeleteCluster", "eks:UpdateClusterConfig", "iam:AttachRolePolicy", "iam:CreateRole",
    "iam:PutRolePolicy", "iam:UntagInstanceProfile", "iam:UpdateAssumeRolePolicy", "sqs:DeleteQueue",
    "sqs:PurgeQueue", "sqs:SendMessage", "sqs:SetQueueAttributes", "ssm:GetParametersByPath", "ssm:PutParameter",
    "ssm:SendCommand", "sts:AssumeRole",
]  # fmt: skip


@pytest.mark.parametrize("action", HARM)
def test_nothing_else_is_allowed_on_the_same_resources_with_the_same_tags(action: str) -> None:
    for fact, call in CALLS:
        assert not allowed(documents(fact).values(), Call(action, call.resource, call.context)), call.resource
