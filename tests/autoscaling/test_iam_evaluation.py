"""The evaluator of these tests keeps IAM's rules; where moto has an evaluator, both say the same.

moto looks at actions, resources and effects; of most calls that are made to it, it takes ``*`` for the resource. Of
conditions it knows StringEquals alone, takes a key that is missing as met, and a statement whose condition is not met
as a denial, so of those it can be no judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import boto3
import moto
import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st
from moto.core import set_initial_no_auth_action_count
from moto.iam.access_control import IAMPolicy, PermissionResult

from multiarch.autoscaling.iam import cluster_autoscaler_policy, text
from tests.autoscaling.evaluation import Call, allowed, matches
from tests.autoscaling.iam_facts import CLUSTER, KARPENTER, REGION
from tests.autoscaling.test_iam_calls import CALLS, HARM, WRONG

DOCUMENTS: Mapping[str, Any] = {**KARPENTER, "cluster-autoscaler": cluster_autoscaler_policy(CLUSTER)}


def policy(**statement: object) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "a:B", "Resource": "*", **statement}]}


@pytest.mark.parametrize(
    ("operator", "wanted", "actual", "met"),
    [
        ("StringEquals", "x", "x", True),
        ("StringEquals", ["x", "y"], "y", True),
        ("StringEquals", "x", "X", False),
        ("StringEquals", "x*", "xy", False),
        ("StringEquals", "x", None, False),
        ("StringLike", "x*", "xy", True),
        ("StringLike", "x?", "x", False),
        ("StringLike", "*", "", True),
        ("StringLike", "*", None, False),
        ("StringLike", "[a-z]", "b", False),
        ("ArnLike", "arn:aws:x:r:1:y/z*", "arn:aws:x:r:1:y/za", True),
        ("ArnLike", "arn:aws:x:r:1:y/z*", "arn:aws:x:r:2:y/za", False),
        ("StringEqualsIfExists", "x", None, True),
        ("StringEqualsIfExists", "x", "y", False),
        ("ForAllValues:StringEquals", ["x", "y"], ["y"], True),
        ("ForAllValues:StringEquals", ["x", "y"], ["y", "z"], False),
        ("ForAllValues:StringEquals", ["x", "y"], [], True),
        ("ForAllValues:StringEquals", ["x", "y"], None, True),
        ("Bool", "false", "false", True),
        ("Bool", "false", "true", False),
        ("Bool", "false", None, False),
        ("BoolIfExists", "true", None, True),
        ("BoolIfExists", "true", "false", False),
    ],
)
def test_operators_do_as_the_guide_says(operator: str, wanted: object, actual: Any, met: bool) -> None:  # noqa: ANN401, FBT001
    context = {} if actual is None else {"k": actual}
    assert allowed([policy(Condition={operator: {"k": wanted}})], Call("a:B", "r", context)) is met


def test_an_operator_or_element_that_is_not_known_is_an_error() -> None:
    for unknown in (policy(Condition={"StringNotEquals": {"k": "x"}}), policy(NotResource="x")):
        with pytest.raises(AssertionError):
            allowed([unknown], Call("a:B", "r", {"k": "x"}))


def test_a_key_of_one_value_is_not_taken_for_one_of_several() -> None:
    with pytest.raises(AssertionError, match="keys with one value"):
        allowed([policy(Condition={"StringEquals": {"k": "x"}})], Call("a:B", "r", {"k": ["x", "y"]}))


def test_all_conditions_have_to_be_met_and_actions_and_keys_know_no_case() -> None:
    both = [policy(Condition={"StringEquals": {"k": "x", "l": "y"}, "StringLike": {"m": "*"}})]
    assert allowed(both, Call("A:b", "r", {"K": "x", "L": "y", "m": "z"}))
    assert not allowed(both, Call("a:B", "r", {"k": "x", "m": "z"}))
    assert not allowed(both, Call("a:B", "r", {"k": "x", "l": "y"}))


def test_nothing_is_allowed_by_itself_and_a_denial_wins_in_any_order() -> None:
    call = Call("a:B", "r")
    deny = policy(Effect="Deny")
    assert not allowed([], call)
    assert not allowed([policy(), deny], call)
    assert not allowed([deny, policy()], call)


@given(st.text(alphabet="ab:/", max_size=6), st.text(alphabet="ab:/*", min_size=1, max_size=5))
def test_patterns_match_as_in_moto(string: str, pattern: str) -> None:
    call = Call("a:B", string)
    assert allowed([policy(Resource=pattern)], call) is _moto(policy(Resource=pattern), call)
    assert matches(string, string)


def _moto(document: Mapping[str, Any], call: Call) -> bool:
    judged = IAMPolicy(json.dumps(document)).is_action_permitted(call.action, call.resource)
    return judged is PermissionResult.PERMITTED


def _unconditional() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every statement as a policy of its own, without its conditions."""
    for document in DOCUMENTS.values():
        for statement in document["Statement"]:
            bare = {key: value for key, value in statement.items() if key != "Condition"}
            yield statement["Sid"], {"Version": document["Version"], "Statement": [bare]}


@pytest.mark.parametrize(("sid", "document"), list(_unconditional()), ids=[sid for sid, _ in _unconditional()])
def test_actions_and_resources_of_each_statement_are_judged_as_by_moto(sid: str, document: dict[str, Any]) -> None:
    calls = {(call.action, call.resource) for _, call in CALLS} | {(call.action, call.resource) for _, _, call in WRONG}
    calls |= {(action, call.resource) for action in HARM for _, call in CALLS}
    judged = {each: allowed([document], Call(*each)) for each in sorted(calls)}
    assert judged == {each: _moto(document, Call(*each)) for each in sorted(calls)}, sid
    assert set(judged.values()) == {True, False}


@pytest.fixture(scope="module", autouse=True)
def _aws() -> Iterator[None]:
    """One AWS for the module: to make IAM, moto reads all policies of AWS, which takes a moment each time."""
    with moto.mock_aws():
        yield


@pytest.mark.parametrize("name", DOCUMENTS)
def test_moto_takes_each_document_for_well_formed(name: str) -> None:
    iam = boto3.client("iam", region_name=REGION)
    iam.create_policy(PolicyName=name, PolicyDocument=text(DOCUMENTS[name]))
    broken = {**DOCUMENTS[name], "Statement": [{**DOCUMENTS[name]["Statement"][0], "Resource": "everything"}]}
    with pytest.raises(ClientError, match="MalformedPolicyDocument"):
        iam.create_policy(PolicyName="broken", PolicyDocument=json.dumps(broken))


def assumed(role: str, *names: str) -> Any:  # noqa: ANN401 (botocore makes its clients at run time)
    """A session of a new role that has these of the documents."""
    iam = boto3.client("iam", region_name=REGION)
    trust = {"Effect": "Allow", "Principal": {"Service": "pods.eks.amazonaws.com"}, "Action": "sts:AssumeRole"}
    arn = iam.create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps({"Statement": [trust]}))["Role"]["Arn"]
    for name in names:
        made = iam.create_policy(PolicyName=f"{role}-{name}", PolicyDocument=text(DOCUMENTS[name]))
        iam.attach_role_policy(RoleName=role, PolicyArn=made["Policy"]["Arn"])
    keys = boto3.client("sts", region_name=REGION).assume_role(RoleArn=arn, RoleSessionName="test")["Credentials"]
    return boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], region_name=REGION)


def refused(call: Callable[..., object], **options: object) -> bool:
    """Whether moto's enforcement is against a call; any other answer means that it came that far."""
    try:
        call(**options)
    except ClientError as error:
        return error.response["Error"]["Code"] in {"AccessDenied", "UnauthorizedOperation"}
    return False


def test_calls_of_karpenters_role_are_enforced_by_moto() -> None:
    session = assumed("karpenter", *KARPENTER)

    @set_initial_no_auth_action_count(0)
    def calls() -> dict[str, bool]:
        ec2, iam = session.client("ec2"), session.client("iam")
        return {
            "see instances": refused(ec2.describe_instances),
            "see instance profiles": refused(iam.list_instance_profiles),
            "stop instances": refused(ec2.stop_instances, InstanceIds=["i-1"]),
            "open a port": refused(ec2.authorize_security_group_ingress, GroupId="sg-1"),
            "make a role": refused(iam.create_role, RoleName="mine", AssumeRolePolicyDocument="{}"),
        }

    assert calls() == {
        "see instances": False,
        "see instance profiles": False,
        "stop instances": True,
        "open a port": True,
        "make a role": True,
    }


def test_calls_of_the_cluster_autoscalers_role_are_enforced_by_moto() -> None:
    session = assumed("autoscaler", "cluster-autoscaler")

    @set_initial_no_auth_action_count(0)
    def calls() -> dict[str, bool]:
        groups, ec2 = session.client("autoscaling"), session.client("ec2")
        return {
            "see groups": refused(groups.describe_auto_scaling_groups),
            "resize a group": refused(groups.update_auto_scaling_group, AutoScalingGroupName="web", MaxSize=9),
            "delete a group": refused(groups.delete_auto_scaling_group, AutoScalingGroupName="web"),
            "end an instance": refused(ec2.terminate_instances, InstanceIds=["i-1"]),
        }

    assert calls() == {"see groups": False, "resize a group": True, "delete a group": True, "end an instance": True}
