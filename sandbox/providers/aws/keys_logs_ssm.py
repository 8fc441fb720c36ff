"""KMS keys and aliases, log groups, Systems Manager documents."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.rows import Api, Call, Name, Row, Tags, Update, nothing, operations, sends, simple
from sandbox.providers.values import Record

_KEY: Final = {"KeyId": "{id}"}
_KEYS: Final = Api(
    "kms", "create_key", "describe_key", "schedule_key_deletion", _KEY, "KeyMetadata.KeyId", "KeyMetadata"
)


def _set_rotation(call: Call) -> None:
    verb = "enable" if call["enableKeyRotation"] else "disable"
    call.do("kms", f"{verb}_key_rotation", {"KeyId": call.id})


def _show_key(call: Call) -> Record | None:
    shown, values = _KEYS.show(call), {"KeyId": call.id, "PolicyName": "default"}
    policy = call.find("kms", "get_key_policy", "Policy", values)
    rotates = call.find("kms", "get_key_rotation_status", "KeyRotationEnabled", _KEY | {"KeyId": call.id})
    return shown and {**shown, "policy": policy, "enableKeyRotation": rotates}


def _delete_key(call: Call) -> None:
    if _KEYS.find(call) is not None:
        values = {"KeyId": call.id, "PendingWindowInDays": call["deletionWindowInDays"] or 30}
        call.do("kms", "schedule_key_deletion", values)


def _create_alias(call: Call) -> str:
    name = f"alias/{str(call['name']).removeprefix('alias/')}"
    call.do("kms", "create_alias", {"AliasName": name, "TargetKeyId": call["targetKeyId"]})
    return name


def _show_alias(call: Call) -> Record | None:
    pages = call.aws.client("kms").get_paginator("list_aliases").paginate()
    rows = (row for page in pages for row in page["Aliases"] if row["AliasName"] == call.id)
    row = next(rows, None)
    key = str(row.get("TargetKeyId", "")) if row else ""
    return row and {"arn": row["AliasArn"], "targetKeyId": key, "targetKeyArn": call.aws.arn("kms", f"key/{key}")}


def _set_retention(call: Call) -> None:
    if call["retentionInDays"]:
        call.do("logs", "put_retention_policy", {"logGroupName": call.id, **call.pick("retentionInDays")})
    else:
        call.quietly("logs", "delete_retention_policy", {"logGroupName": call.id})


def _show_log_group(call: Call) -> Record | None:
    for row in call.do("logs", "describe_log_groups", {"logGroupNamePrefix": call.id})["logGroups"]:
        if row["logGroupName"] == call.id:
            shown = {"arn": call.aws.arn("logs", f"log-group:{call.id}"), "name": call.id}
            shown |= {"retentionInDays": row.get("retentionInDays", 0), "kmsKeyId": row.get("kmsKeyId")}
            return {**shown, "tagsAll": _LOG_TAGS.show(call, {}, shown)}
    return None


def _set_key(call: Call) -> None:
    verb = "associate" if call["kmsKeyId"] else "disassociate"
    call.do("logs", f"{verb}_kms_key", {"logGroupName": call.id, **call.pick("kmsKeyId")})


def _show_document(call: Call) -> Record | None:
    shown = _DOCUMENT.show(call)
    return shown and {**shown, "content": call.find("ssm", "get_document", "Content", {"Name": call.id})}


def _update_document(call: Call) -> None:
    values = {"Name": call.id, "DocumentVersion": "$LATEST", **call.pick("content", "documentFormat")}
    row = call.do("ssm", "update_document", values)["DocumentDescription"]
    call.do("ssm", "update_document_default_version", {"Name": call.id, "DocumentVersion": row["DocumentVersion"]})


_LOG_TAGS: Final = Tags("logs", "tag_resource", "untag_resource", "resourceArn", "arn", listed="list_tags_for_resource")
_DOCUMENT: Final = operations(
    "ssm",
    "document",
    {"Name": "{id}"},
    "{name}",
    "Document",
    live={"arn": "arn:{partition}:ssm:{region}:{account}:document/{id}"},
)

ROWS: Final = (
    simple(
        "aws:kms/key:Key",
        _KEYS,
        read=_show_key,
        delete=_delete_key,
        source="kms/key.go resourceKey",
        inputs=("description", "policy", "enableKeyRotation", "deletionWindowInDays"),
        updates=(
            Update(
                ("description",), sends("kms", "update_key_description", {"Description": "", **_KEY}, "description")
            ),
            Update(("policy",), sends("kms", "put_key_policy", {**_KEY, "PolicyName": "default"}, "policy")),
            Update(("enableKeyRotation",), _set_rotation),
            Update(("deletionWindowInDays",), nothing),
        ),
        tags=Tags("kms", "tag_resource", "untag_resource", "KeyId", listed="list_resource_tags"),
    ),
    Row(
        "aws:kms/alias:Alias",
        _create_alias,
        _show_alias,
        sends("kms", "delete_alias", {"AliasName": "{id}"}, quiet=True),
        source="kms/alias.go resourceAlias",
        inputs=("targetKeyId",),
        updates=(Update(("targetKeyId",), sends("kms", "update_alias", {"AliasName": "{id}"}, "targetKeyId")),),
        name=Name(256),
    ),
    simple(
        "aws:cloudwatch/logGroup:LogGroup",
        operations("logs", "log_group", {"logGroupName": "{id}"}, "{name}", aliases={"name": "logGroupName"}),
        read=_show_log_group,
        # Create adopts no group of that name: CreateLogGroup's ResourceAlreadyExistsException is the run's error.
        source="logs/group.go resourceGroup",
        defaults={"retentionInDays": 0},
        inputs=("retentionInDays", "kmsKeyId"),
        updates=(
            Update(("retentionInDays",), _set_retention),
            Update(("kmsKeyId",), _set_key),
        ),
        tags=_LOG_TAGS,
        name=Name(512),
    ),
    simple(
        "aws:ssm/document:Document",
        _DOCUMENT,
        read=_show_document,
        source="ssm/document.go resourceDocument",
        defaults={"documentFormat": "JSON"},
        inputs=("content", "documentType", "documentFormat"),
        renewed=("defaultVersion", "documentVersion", "hash", "latestVersion"),
        updates=(
            Update(("content", "documentFormat"), _update_document),
            # Not replaced, and no update changes it: the next preview shows it again.
            Update(("documentType",), nothing),
        ),
        tags=Tags(
            "ssm",
            "add_tags_to_resource",
            "remove_tags_from_resource",
            "ResourceId",
            fixed={"ResourceType": "Document"},
            listed="list_tags_for_resource",
        ),
        name=Name(128, prefix=""),
    ),
)
