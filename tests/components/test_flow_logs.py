"""Flow logs of a new VPC: encrypted, written by a role for them alone."""

from __future__ import annotations

import json
from typing import Any

from tests.components import declared
from tests.components.declared import World

FLOW_LOG = "aws:ec2/flowLog:FlowLog"
NAME = "flow-logs"
GROUP = "/multiarch-eks/shop-dev/flow-logs"


def test_they_go_to_an_encrypted_log_group_that_the_stacks_key_allows(small: World, changed: World) -> None:
    assert small.all(FLOW_LOG) == []
    assert GROUP not in json.dumps([dict(resource.inputs) for resource in small.resources])
    log, group = changed.inputs(FLOW_LOG), changed.inputs(declared.LOG_GROUP, NAME)
    assert (log["trafficType"], log["vpcId"]) == ("REJECT", "<Vpc:vpc>")
    assert (group["name"], group["retentionInDays"]) == (GROUP, 365)
    assert group["kmsKeyId"].endswith("<Key:key>")
    assert f"arn:aws:logs:eu-west-1:111122223333:log-group:{GROUP}" in changed.inputs(declared.KEY)["policy"]


def test_their_role_is_for_flow_logs_of_this_account_and_for_this_log_group(changed: World) -> None:
    trust: Any = json.loads(changed.inputs(declared.ROLE, NAME)["assumeRolePolicy"])["Statement"][0]
    assert trust["Principal"] == {"Service": "vpc-flow-logs.amazonaws.com"}
    assert trust["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "111122223333"},
        "ArnLike": {"aws:SourceArn": "arn:aws:ec2:eu-west-1:111122223333:vpc-flow-log/*"},
    }
    (rights,) = json.loads(changed.inputs(declared.ROLE_POLICY, NAME)["policy"])["Statement"]
    assert rights["Resource"] == f"arn:aws:logs:eu-west-1:111122223333:log-group:{GROUP}:*"
    assert changed.one(declared.ROLE_POLICY, NAME).urn in changed.one(FLOW_LOG).dependencies
