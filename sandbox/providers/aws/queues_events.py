"""SQS queues and EventBridge rules, as Karpenter's interruption handling needs them."""

from __future__ import annotations

from typing import Final

from sandbox.providers import StandInError
from sandbox.providers.aws.rows import Api, Call, Name, Row, Tags, Update, sends, simple
from sandbox.providers.values import Record, Value

# Pulumi's input: SQS's attribute.
_QUEUE: Final = {
    "messageRetentionSeconds": "MessageRetentionPeriod",
    "sqsManagedSseEnabled": "SqsManagedSseEnabled",
}
_QUEUE_TAGS: Final = Tags("sqs", "tag_queue", "untag_queue", "QueueUrl", listed="list_queue_tags")
_RULE: Final = Api("events", "put_rule", "describe_rule", "delete_rule", {"Name": "{name}"}, "{name}")


def _attributes(call: Call, url: str) -> Record | None:
    values = {"QueueUrl": url, "AttributeNames": ["All"]}
    found: Record | None = call.find("sqs", "get_queue_attributes", "Attributes", values)
    return found


def _set_attributes(call: Call, url: str, attributes: Record) -> Value:
    return call.quietly("sqs", "set_queue_attributes", {"QueueUrl": url, "Attributes": attributes})


def _create_queue(call: Call) -> str:
    attributes = {_QUEUE[name]: value for name, value in call.pick(*_QUEUE).items()}
    values = {"QueueName": call["name"], "Attributes": attributes, "tags": call.tags}
    return str(call.do("sqs", "create_queue", values)["QueueUrl"])


def _show_queue(call: Call) -> Record | None:
    found = _attributes(call, call.id)
    return found and {
        "arn": found["QueueArn"],
        "messageRetentionSeconds": int(found["MessageRetentionPeriod"]),
        "name": found["QueueArn"].rsplit(":", 1)[1],
        "sqsManagedSseEnabled": found.get("SqsManagedSseEnabled"),
        "tagsAll": _QUEUE_TAGS.show(call, {}, {}),
        "url": call.id,
        "visibilityTimeoutSeconds": int(found["VisibilityTimeout"]),
    }


def _update_queue(call: Call) -> Value:
    changed = {_QUEUE[name]: value for name, value in call.changed(*_QUEUE).items() if value is not None}
    return _set_attributes(call, call.id, changed)


def _put_queue_policy(call: Call) -> str:
    _set_attributes(call, call["queueUrl"], {"Policy": call["policy"]})
    return str(call["queueUrl"])


def _show_queue_policy(call: Call) -> Record | None:
    policy = (_attributes(call, call["queueUrl"]) or {}).get("Policy")
    return {"policy": policy} if policy else None


def _put_target(call: Call) -> str:
    target = {"Id": call["targetId"], "Arn": call["arn"]}
    answer = call.do("events", "put_targets", {"Rule": call["rule"], "Targets": [target]})
    if answer.get("FailedEntryCount"):
        raise StandInError(f"{call.row.token}: {answer['FailedEntries'][0]['ErrorMessage']}")
    return f"{call['rule']}-{call['targetId']}"


def _show_target(call: Call) -> Record | None:
    rows = (call.quietly("events", "list_targets_by_rule", {"Rule": call["rule"]}) or {}).get("Targets", [])
    return next(({"arn": row["Arn"]} for row in rows if row["Id"] == call["targetId"]), None)


ROWS: Final = (
    Row(
        "aws:sqs/queue:Queue",
        _create_queue,
        _show_queue,
        sends("sqs", "delete_queue", {"QueueUrl": "{id}"}, quiet=True),
        source="sqs/queue.go resourceQueue",
        defaults={"messageRetentionSeconds": 345600},
        inputs=tuple(_QUEUE),
        updates=(Update(tuple(_QUEUE), _update_queue),),
        tags=_QUEUE_TAGS,
        name=Name(80),
    ),
    Row(
        "aws:sqs/queuePolicy:QueuePolicy",
        _put_queue_policy,
        _show_queue_policy,
        lambda call: _set_attributes(call, call["queueUrl"], {"Policy": ""}),
        source="sqs/queue_policy.go resourceQueuePolicy",
        inputs=("queueUrl", "policy"),
        updates=(Update(("policy",), _put_queue_policy),),
    ),
    simple(
        "aws:cloudwatch/eventRule:EventRule",
        _RULE,
        source="events/rule.go resourceRule",
        inputs=("description", "eventPattern"),
        updates=(
            Update(
                ("description", "eventPattern"),
                sends("events", "put_rule", {"Name": "{id}", "State": "ENABLED"}, "description", "eventPattern"),
            ),
        ),
        name=Name(64),
        tags=Tags("events", "tag_resource", "untag_resource", "ResourceARN", "arn", listed="list_tags_for_resource"),
    ),
    Row(
        "aws:cloudwatch/eventTarget:EventTarget",
        _put_target,
        _show_target,
        sends("events", "remove_targets", {"Rule": "{rule}", "Ids": "{targetId}"}, quiet=True),
        source="events/target.go resourceTarget",
        inputs=("rule", "arn"),
        updates=(Update(("arn",), _put_target),),
        name=Name(64, "targetId", ""),
    ),
)
