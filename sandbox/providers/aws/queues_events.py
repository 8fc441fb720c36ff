"""SQS queues and EventBridge rules, as Karpenter's interruption handling needs them."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import ClientError

from sandbox.providers import IDENTITY_TAG, StandInError
from sandbox.providers.aws.rows import Call, Name, Row, Tags, Update, gone, pairs, unpairs
from sandbox.providers.values import Record, Value

# Pulumi's input: SQS's attribute.
_QUEUE: Final = {
    "messageRetentionSeconds": "MessageRetentionPeriod",
    "sqsManagedSseEnabled": "SqsManagedSseEnabled",
}


def _create_queue(call: Call) -> str:
    """Adopt a queue of this name only if it has the identity tag; CreateQueue alone would return any queue."""
    there = call.quietly("sqs", "get_queue_url", {"QueueName": call["name"]})
    if there is not None:
        url = str(there["QueueUrl"])
        tags = call.do("sqs", "list_queue_tags", {"QueueUrl": url}).get("Tags", {})
        if tags.get(IDENTITY_TAG) != call.identity:
            raise StandInError(f"{call.row.token}: a queue named {call['name']} exists")
        return url
    attributes = {_QUEUE[name]: value for name, value in call.pick(*_QUEUE).items()}
    values = {"QueueName": call["name"], "Attributes": attributes, "tags": call.tags}
    return str(call.do("sqs", "create_queue", values)["QueueUrl"])


def _read_queue(call: Call) -> Record | None:
    answer = call.quietly("sqs", "get_queue_attributes", {"QueueUrl": call.id, "AttributeNames": ["All"]})
    if answer is None:
        return None
    found = answer["Attributes"]
    return {
        "arn": found["QueueArn"],
        "messageRetentionSeconds": int(found["MessageRetentionPeriod"]),
        "name": found["QueueArn"].rsplit(":", 1)[1],
        "url": call.id,
        "visibilityTimeoutSeconds": int(found["VisibilityTimeout"]),
    }


def _update_queue(call: Call) -> Value:
    changed = {_QUEUE[name]: value for name, value in call.changed(*_QUEUE).items() if value is not None}
    return call.do("sqs", "set_queue_attributes", {"QueueUrl": call.id, "Attributes": changed})


def _put_queue_policy(call: Call) -> str:
    call.do("sqs", "set_queue_attributes", {"QueueUrl": call["queueUrl"], "Attributes": {"Policy": call["policy"]}})
    return str(call["queueUrl"])


def _read_queue_policy(call: Call) -> Record | None:
    answer = call.quietly("sqs", "get_queue_attributes", {"QueueUrl": call["queueUrl"], "AttributeNames": ["All"]})
    policy = (answer or {}).get("Attributes", {}).get("Policy")
    return {} if policy else None


def _delete_queue_policy(call: Call) -> Value:
    return call.quietly("sqs", "set_queue_attributes", {"QueueUrl": call["queueUrl"], "Attributes": {"Policy": ""}})


def _rule_arn(call: Call, name: str) -> str:
    return call.aws.arn("events", f"rule/{name}")


def _put_rule(call: Call) -> str:
    name = str(call["name"])
    values = {"Name": name, "State": "ENABLED", **call.pick("description", "eventPattern")}
    if call.id:
        call.do("events", "put_rule", values)
        return call.id
    there = call.quietly("events", "describe_rule", {"Name": name})
    if there is not None:
        tags = unpairs(call.do("events", "list_tags_for_resource", {"ResourceARN": _rule_arn(call, name)})["Tags"])
        if tags.get(IDENTITY_TAG) != call.identity:
            raise StandInError(f"{call.row.token}: a rule named {name} exists")
    call.do("events", "put_rule", {**values, **({} if there else {"Tags": call.tag_rows()})})
    return name


def _read_rule(call: Call) -> Record | None:
    row = call.quietly("events", "describe_rule", {"Name": call["name"] or call.id})
    return row and {"arn": row["Arn"], "name": row["Name"], "eventBusName": row.get("EventBusName", "default")}


def _put_target(call: Call) -> str:
    target = {"Id": call["targetId"], "Arn": call["arn"]}
    answer = call.do("events", "put_targets", {"Rule": call["rule"], "Targets": [target]})
    if answer.get("FailedEntryCount"):
        raise StandInError(f"{call.row.token}: {answer['FailedEntries'][0]['ErrorMessage']}")
    return f"{call['rule']}-{call['targetId']}"


def _read_target(call: Call) -> Record | None:
    try:
        rows = call.do("events", "list_targets_by_rule", {"Rule": call["rule"]})["Targets"]
    except ClientError as error:
        if gone(error):
            return None
        raise
    return next(({"arn": row["Arn"]} for row in rows if row["Id"] == call["targetId"]), None)


ROWS: Final = (
    Row(
        "aws:sqs/queue:Queue",
        _create_queue,
        _read_queue,
        lambda call: call.quietly("sqs", "delete_queue", {"QueueUrl": call.id}),
        inputs=tuple(_QUEUE),
        outputs=("arn", "messageRetentionSeconds", "url", "visibilityTimeoutSeconds"),
        updates=(Update(tuple(_QUEUE), _update_queue),),
        tags=Tags(
            put=lambda call, tags: call.do("sqs", "tag_queue", {"QueueUrl": call.id, "Tags": tags}),
            take=lambda call, keys: call.do("sqs", "untag_queue", {"QueueUrl": call.id, "TagKeys": keys}),
        ),
        name=Name(80),
    ),
    Row(
        "aws:sqs/queuePolicy:QueuePolicy",
        _put_queue_policy,
        _read_queue_policy,
        _delete_queue_policy,
        inputs=("queueUrl", "policy"),
        updates=(Update(("policy",), _put_queue_policy),),
    ),
    Row(
        "aws:cloudwatch/eventRule:EventRule",
        _put_rule,
        _read_rule,
        lambda call: call.quietly("events", "delete_rule", {"Name": call["name"]}),
        inputs=("description", "eventPattern"),
        outputs=("arn", "eventBusName"),
        updates=(Update(("description", "eventPattern"), _put_rule),),
        name=Name(64),
        tags=Tags(
            put=lambda call, tags: call.do(
                "events", "tag_resource", {"ResourceARN": _rule_arn(call, call["name"]), "Tags": pairs(tags)}
            ),
            take=lambda call, keys: call.do(
                "events", "untag_resource", {"ResourceARN": _rule_arn(call, call["name"]), "TagKeys": keys}
            ),
        ),
    ),
    Row(
        "aws:cloudwatch/eventTarget:EventTarget",
        _put_target,
        _read_target,
        lambda call: call.quietly("events", "remove_targets", {"Rule": call["rule"], "Ids": [call["targetId"]]}),
        inputs=("rule", "arn"),
        updates=(Update(("arn",), _put_target),),
        name=Name(64, "targetId", ""),
    ),
)
