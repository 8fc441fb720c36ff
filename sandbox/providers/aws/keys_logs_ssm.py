"""KMS keys and aliases, log groups, Systems Manager documents."""

from __future__ import annotations

from typing import Final

from sandbox.providers import IDENTITY_TAG, StandInError
from sandbox.providers.aws.rows import Call, Name, Row, Tags, Update, nothing, pairs, unpairs
from sandbox.providers.values import Record

_KMS_TAGS: Final = Tags(
    put=lambda call, tags: call.do(
        "kms", "tag_resource", {"KeyId": call.id, "Tags": pairs(tags, "TagKey", "TagValue")}
    ),
    take=lambda call, keys: call.do("kms", "untag_resource", {"KeyId": call.id, "TagKeys": keys}),
)


def _adopted_key(call: Call) -> str | None:
    for row in call.do("kms", "list_keys")["Keys"]:
        key = call.do("kms", "describe_key", {"KeyId": row["KeyId"]})["KeyMetadata"]
        if key["KeyState"] == "PendingDeletion" or key["KeyManager"] != "CUSTOMER":
            continue
        tags = unpairs(call.do("kms", "list_resource_tags", {"KeyId": row["KeyId"]})["Tags"], "TagKey", "TagValue")
        if tags.get(IDENTITY_TAG) == call.identity:
            return str(row["KeyId"])
    return None


def _create_key(call: Call) -> str:
    found = _adopted_key(call)
    if found is None:
        values = {
            **call.pick("description", "policy"),
            "Tags": call.tag_rows("TagKey", "TagValue"),
        }
        found = str(call.do("kms", "create_key", values)["KeyMetadata"]["KeyId"])
    call = call.with_id(found)
    _set_rotation(call)
    return call.id


def _set_rotation(call: Call) -> None:
    if call["enableKeyRotation"]:
        call.do("kms", "enable_key_rotation", {"KeyId": call.id})
    elif call["enableKeyRotation"] is False:
        call.do("kms", "disable_key_rotation", {"KeyId": call.id})


def _read_key(call: Call) -> Record | None:
    row = call.find("kms", "describe_key", "KeyMetadata", {"KeyId": call.id})
    if row is None or row["KeyState"] == "PendingDeletion":
        return None
    policy = call.do("kms", "get_key_policy", {"KeyId": call.id, "PolicyName": "default"})["Policy"]
    return {
        "arn": row["Arn"],
        "keyId": row["KeyId"],
        "description": row.get("Description", ""),
        "keyUsage": row.get("KeyUsage", "ENCRYPT_DECRYPT"),
        "policy": policy,
    }


def _delete_key(call: Call) -> None:
    if _read_key(call) is not None:
        call.do(
            "kms",
            "schedule_key_deletion",
            {"KeyId": call.id, "PendingWindowInDays": call["deletionWindowInDays"] or 30},
        )


def _alias(call: Call, name: str) -> Record | None:
    pages = call.aws.client("kms").get_paginator("list_aliases").paginate()
    rows = (row for page in pages for row in page["Aliases"])
    return next((row for row in rows if row["AliasName"] == name), None)


def _create_alias(call: Call) -> str:
    """An alias has no tags: one that points to the same key is taken for ours, one that does not is an error."""
    name = str(call["name"])
    if not name.startswith("alias/"):
        name = f"alias/{name}"
    there = _alias(call, name)
    if there is None:
        call.do("kms", "create_alias", {"AliasName": name, "TargetKeyId": call["targetKeyId"]})
    elif there.get("TargetKeyId") != str(call["targetKeyId"]).rsplit("/", 1)[-1]:
        raise StandInError(f"{call.row.token}: {name} exists and points to {there.get('TargetKeyId')}")
    return name


def _read_alias(call: Call) -> Record | None:
    row = _alias(call, call.id)
    return row and {"arn": row["AliasArn"], "targetKeyArn": call.aws.arn("kms", f"key/{row.get('TargetKeyId', '')}")}


def _log_arn(call: Call, name: str) -> str:
    return call.aws.arn("logs", f"log-group:{name}")


def _create_log_group(call: Call) -> str:
    name = str(call["name"])
    values = {"logGroupName": name, "tags": call.tags, **call.pick("kmsKeyId")}

    def tags() -> dict[str, str]:
        return dict(call.do("logs", "list_tags_for_resource", {"resourceArn": _log_arn(call, name)})["tags"])

    call.make(lambda: call.do("logs", "create_log_group", values), "ResourceAlreadyExistsException", tags)
    call = call.with_id(name)
    _set_retention(call)
    return name


def _set_retention(call: Call) -> None:
    if call["retentionInDays"]:
        call.do("logs", "put_retention_policy", {"logGroupName": call.id, "retentionInDays": call["retentionInDays"]})
    elif call.olds.get("retentionInDays"):
        call.do("logs", "delete_retention_policy", {"logGroupName": call.id})


def _read_log_group(call: Call) -> Record | None:
    for row in call.do("logs", "describe_log_groups", {"logGroupNamePrefix": call.id})["logGroups"]:
        if row["logGroupName"] == call.id:
            return {"arn": _log_arn(call, call.id), "name": call.id, "retentionInDays": row.get("retentionInDays", 0)}
    return None


_SSM_TAGS: Final = Tags(
    put=lambda call, tags: call.do(
        "ssm", "add_tags_to_resource", {"ResourceType": "Document", "ResourceId": call.id, "Tags": pairs(tags)}
    ),
    take=lambda call, keys: call.do(
        "ssm", "remove_tags_from_resource", {"ResourceType": "Document", "ResourceId": call.id, "TagKeys": keys}
    ),
)


def _tags_of_document(call: Call) -> dict[str, str]:
    return unpairs(
        call.do("ssm", "list_tags_for_resource", {"ResourceType": "Document", "ResourceId": call["name"]})["TagList"]
    )


def _create_document(call: Call) -> str:
    values = {
        **call.pick("name", "content", "documentType", "documentFormat"),
        "Tags": call.tag_rows(),
    }
    call.make(
        lambda: call.do("ssm", "create_document", values),
        "DocumentAlreadyExists",
        lambda: _tags_of_document(call),
    )
    return str(call["name"])


def _read_document(call: Call) -> Record | None:
    row = call.find("ssm", "describe_document", "Document", {"Name": call.id})
    return row and {
        "arn": call.aws.arn("ssm", f"document/{call.id}"),
        "createdDate": row["CreatedDate"].isoformat(),
        "defaultVersion": row["DefaultVersion"],
        "description": row.get("Description", ""),
        "documentVersion": row["DocumentVersion"],
        "hash": row["Hash"],
        "hashType": row["HashType"],
        "latestVersion": row["LatestVersion"],
        "owner": row["Owner"],
        "platformTypes": sorted(row.get("PlatformTypes", [])),
        "schemaVersion": row["SchemaVersion"],
        "status": row["Status"],
    }


def _update_document(call: Call) -> None:
    values = {
        "Name": call.id,
        "DocumentVersion": "$LATEST",
        **call.pick("content", "documentFormat"),
    }
    row = call.do("ssm", "update_document", values)["DocumentDescription"]
    call.do("ssm", "update_document_default_version", {"Name": call.id, "DocumentVersion": row["DocumentVersion"]})


_DOCUMENT_OUTPUTS: Final = (
    "arn",
    "createdDate",
    "defaultVersion",
    "description",
    "documentVersion",
    "hash",
    "hashType",
    "latestVersion",
    "owner",
    "platformTypes",
    "schemaVersion",
    "status",
)

ROWS: Final = (
    Row(
        "aws:kms/key:Key",
        _create_key,
        _read_key,
        _delete_key,
        inputs=(
            "description",
            "policy",
            "enableKeyRotation",
            "deletionWindowInDays",
        ),
        outputs=("arn", "keyId", "description", "keyUsage", "policy"),
        updates=(
            Update(
                ("description",),
                lambda call: call.do(
                    "kms", "update_key_description", {"KeyId": call.id, "Description": call["description"] or ""}
                ),
            ),
            Update(
                ("policy",),
                lambda call: call.do(
                    "kms", "put_key_policy", {"KeyId": call.id, "PolicyName": "default", "Policy": call["policy"]}
                ),
            ),
            Update(("enableKeyRotation",), _set_rotation),
            Update(("deletionWindowInDays",), nothing),
        ),
        tags=_KMS_TAGS,
    ),
    Row(
        "aws:kms/alias:Alias",
        _create_alias,
        _read_alias,
        lambda call: call.quietly("kms", "delete_alias", {"AliasName": call.id}),
        inputs=("targetKeyId",),
        outputs=("arn", "targetKeyArn"),
        updates=(
            Update(
                ("targetKeyId",),
                lambda call: call.do("kms", "update_alias", {"AliasName": call.id, "TargetKeyId": call["targetKeyId"]}),
            ),
        ),
        name=Name(256),
    ),
    Row(
        "aws:cloudwatch/logGroup:LogGroup",
        _create_log_group,
        _read_log_group,
        lambda call: call.quietly("logs", "delete_log_group", {"logGroupName": call.id}),
        inputs=("retentionInDays", "kmsKeyId"),
        outputs=("arn", "retentionInDays"),
        updates=(
            Update(("retentionInDays",), _set_retention),
            Update(
                ("kmsKeyId",),
                lambda call: call.do(
                    "logs", "associate_kms_key", {"logGroupName": call.id, "kmsKeyId": call["kmsKeyId"]}
                ),
            ),
        ),
        tags=Tags(
            put=lambda call, tags: call.do(
                "logs", "tag_resource", {"resourceArn": _log_arn(call, call.id), "tags": tags}
            ),
            take=lambda call, keys: call.do(
                "logs", "untag_resource", {"resourceArn": _log_arn(call, call.id), "tagKeys": keys}
            ),
        ),
        name=Name(512),
    ),
    Row(
        "aws:ssm/document:Document",
        _create_document,
        _read_document,
        lambda call: call.quietly("ssm", "delete_document", {"Name": call.id}),
        inputs=("content", "documentType", "documentFormat"),
        outputs=_DOCUMENT_OUTPUTS,
        renewed=("defaultVersion", "documentVersion", "hash", "latestVersion"),
        updates=(Update(("content", "documentFormat"), _update_document),),
        tags=_SSM_TAGS,
        name=Name(128, prefix=""),
    ),
)
