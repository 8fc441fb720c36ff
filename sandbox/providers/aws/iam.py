"""IAM: roles, policies, instance profiles, OIDC providers. IAM's lists of tags are pairs, its documents JSON text."""

from __future__ import annotations

import json
from typing import Any, Final

from sandbox.providers.aws.rows import Call, Name, Row, Tags, Update, pairs, unpairs
from sandbox.providers.values import Record, Value


def _tags(suffix: str, argument: str) -> Tags:
    return Tags(
        put=lambda call, tags: call.do("iam", f"tag_{suffix}", {argument: call.id, "Tags": pairs(tags)}),
        take=lambda call, keys: call.do("iam", f"untag_{suffix}", {argument: call.id, "TagKeys": keys}),
    )


def _tags_of(call: Call, operation: str, argument: str, value: str) -> dict[str, str]:
    return unpairs(call.do("iam", operation, {argument: value})["Tags"])


def _create_role(call: Call) -> str:
    values = {
        "RoleName": call["name"],
        "AssumeRolePolicyDocument": call["assumeRolePolicy"],
        "Tags": call.tag_rows(),
        **call.pick("description", "maxSessionDuration", "permissionsBoundary"),
    }
    call.make(
        lambda: call.do("iam", "create_role", values),
        "EntityAlreadyExists",
        lambda: _tags_of(call, "list_role_tags", "RoleName", call["name"]),
    )
    call = call.with_id(str(call["name"]))
    return call.id


def _read_role(call: Call) -> Record | None:
    row = call.find("iam", "get_role", "Role", {"RoleName": call.id})
    return row and {
        "arn": row["Arn"],
        "createDate": row["CreateDate"].isoformat(),
        "maxSessionDuration": row.get("MaxSessionDuration", 3600),
        "name": row["RoleName"],
        "path": row["Path"],
        "uniqueId": row["RoleId"],
    }


def _update_role(call: Call) -> None:
    call.do("iam", "update_role", {"RoleName": call.id, **call.pick("description", "maxSessionDuration")})


def _bound_role(call: Call) -> None:
    if call["permissionsBoundary"]:
        boundary = {"RoleName": call.id, "PermissionsBoundary": call["permissionsBoundary"]}
        call.do("iam", "put_role_permissions_boundary", boundary)
    else:
        call.quietly("iam", "delete_role_permissions_boundary", {"RoleName": call.id})


def _delete_role(call: Call) -> None:
    call.quietly("iam", "delete_role", {"RoleName": call.id})


def _put_role_policy(call: Call) -> str:
    call.do(
        "iam",
        "put_role_policy",
        {"RoleName": call["role"], "PolicyName": call["name"], "PolicyDocument": call["policy"]},
    )
    return f"{call['role']}:{call['name']}"


def _read_role_policy(call: Call) -> Record | None:
    names = {"RoleName": call["role"], "PolicyName": call["name"]}
    row = call.quietly("iam", "get_role_policy", names)
    return row and {"name": row["PolicyName"], "policy": json.dumps(row["PolicyDocument"])}


def _attach(call: Call) -> str:
    call.do("iam", "attach_role_policy", {"RoleName": call["role"], "PolicyArn": call["policyArn"]})
    return f"{call['role']}/{call['policyArn']}"


def _read_attachment(call: Call) -> Record | None:
    answer = call.quietly("iam", "list_attached_role_policies", {"RoleName": call["role"]})
    attached = [row["PolicyArn"] for row in (answer or {}).get("AttachedPolicies", [])]
    return {} if call["policyArn"] in attached else None


def _policy_arn(call: Call) -> str:
    return f"arn:{call.aws.partition}:iam::{call.aws.account}:policy/{call['name']}"


def _create_policy(call: Call) -> str:
    arn = _policy_arn(call)
    values = {
        "PolicyName": call["name"],
        "PolicyDocument": call["policy"],
        "Tags": call.tag_rows(),
        **call.pick("description"),
    }
    call.make(
        lambda: call.do("iam", "create_policy", values),
        "EntityAlreadyExists",
        lambda: _tags_of(call, "list_policy_tags", "PolicyArn", arn),
    )
    return arn


def _read_policy(call: Call) -> Record | None:
    row = call.find("iam", "get_policy", "Policy", {"PolicyArn": call.id})
    return row and {
        "arn": row["Arn"],
        "attachmentCount": row["AttachmentCount"],
        "name": row["PolicyName"],
        "path": row["Path"],
        "policyId": row["PolicyId"],
    }


def _new_policy_version(call: Call) -> None:
    """IAM keeps five versions; the others are deleted, as the real provider does."""
    for row in call.do("iam", "list_policy_versions", {"PolicyArn": call.id})["Versions"]:
        if not row["IsDefaultVersion"]:
            call.quietly("iam", "delete_policy_version", {"PolicyArn": call.id, "VersionId": row["VersionId"]})
    call.do(
        "iam", "create_policy_version", {"PolicyArn": call.id, "PolicyDocument": call["policy"], "SetAsDefault": True}
    )


def _delete_policy(call: Call) -> None:
    answer = call.quietly("iam", "list_policy_versions", {"PolicyArn": call.id})
    for row in (answer or {}).get("Versions", []):
        if not row["IsDefaultVersion"]:
            call.quietly("iam", "delete_policy_version", {"PolicyArn": call.id, "VersionId": row["VersionId"]})
    call.quietly("iam", "delete_policy", {"PolicyArn": call.id})


def _create_profile(call: Call) -> str:
    name = call["name"]
    values = {"InstanceProfileName": name, "Tags": call.tag_rows()}

    def tags() -> dict[str, str]:  # moto has no ListInstanceProfileTags
        return unpairs(call.do("iam", "get_instance_profile", {"InstanceProfileName": name})["InstanceProfile"]["Tags"])

    call.make(lambda: call.do("iam", "create_instance_profile", values), "EntityAlreadyExists", tags)
    call = call.with_id(str(name))
    _set_profile_role(call)
    return call.id


def _set_profile_role(call: Call) -> None:
    profile = call.do("iam", "get_instance_profile", {"InstanceProfileName": call.id})["InstanceProfile"]
    current = [row["RoleName"] for row in profile["Roles"]]
    for name in current:
        if name != call["role"]:
            call.quietly("iam", "remove_role_from_instance_profile", {"InstanceProfileName": call.id, "RoleName": name})
    if call["role"] and call["role"] not in current:
        call.do("iam", "add_role_to_instance_profile", {"InstanceProfileName": call.id, "RoleName": call["role"]})


def _read_profile(call: Call) -> Record | None:
    row = call.find("iam", "get_instance_profile", "InstanceProfile", {"InstanceProfileName": call.id})
    if row is None:
        return None
    roles = [item["RoleName"] for item in row["Roles"]]
    found = {
        "arn": row["Arn"],
        "createDate": row["CreateDate"].isoformat(),
        "path": row["Path"],
        "uniqueId": row["InstanceProfileId"],
    }
    return {**found, "name": row["InstanceProfileName"], "role": roles[0] if roles else ""}


def _delete_profile(call: Call) -> None:
    row = call.find("iam", "get_instance_profile", "InstanceProfile", {"InstanceProfileName": call.id})
    for item in (row or {}).get("Roles", []):
        call.quietly(
            "iam", "remove_role_from_instance_profile", {"InstanceProfileName": call.id, "RoleName": item["RoleName"]}
        )
    call.quietly("iam", "delete_instance_profile", {"InstanceProfileName": call.id})


def _create_oidc(call: Call) -> str:
    arn = f"arn:{call.aws.partition}:iam::{call.aws.account}:oidc-provider/{call['url'].removeprefix('https://')}"
    values = {
        "Url": call["url"],
        "ClientIDList": call["clientIdLists"],
        "ThumbprintList": call["thumbprintLists"] or [],
        "Tags": call.tag_rows(),
    }
    argument = "OpenIDConnectProviderArn"
    tags = lambda: _tags_of(call, "list_open_id_connect_provider_tags", argument, arn)  # noqa: E731 - short and local
    call.make(lambda: call.do("iam", "create_open_id_connect_provider", values), "EntityAlreadyExists", tags)
    return arn


def _read_oidc(call: Call) -> Record | None:
    row: Any = call.quietly("iam", "get_open_id_connect_provider", {"OpenIDConnectProviderArn": call.id})
    return row and {"arn": call.id, "thumbprintLists": row.get("ThumbprintList", [])}


def _update_thumbprints(call: Call) -> Value:
    values = {"OpenIDConnectProviderArn": call.id, "ThumbprintList": call["thumbprintLists"] or []}
    return call.do("iam", "update_open_id_connect_provider_thumbprint", values)


ROWS: Final = (
    Row(
        "aws:iam/role:Role",
        _create_role,
        _read_role,
        _delete_role,
        inputs=(
            "assumeRolePolicy",
            "description",
            "maxSessionDuration",
            "permissionsBoundary",
        ),
        outputs=("arn", "createDate", "maxSessionDuration", "path", "uniqueId"),
        updates=(
            Update(
                ("assumeRolePolicy",),
                lambda call: call.do(
                    "iam",
                    "update_assume_role_policy",
                    {"RoleName": call.id, "PolicyDocument": call["assumeRolePolicy"]},
                ),
            ),
            Update(("description", "maxSessionDuration"), _update_role),
            Update(("permissionsBoundary",), _bound_role),
        ),
        tags=_tags("role", "RoleName"),
        name=Name(64),
    ),
    Row(
        "aws:iam/rolePolicy:RolePolicy",
        _put_role_policy,
        _read_role_policy,
        lambda call: call.quietly("iam", "delete_role_policy", {"RoleName": call["role"], "PolicyName": call["name"]}),
        inputs=("role", "policy"),
        updates=(Update(("policy",), _put_role_policy),),
        name=Name(128),
    ),
    Row(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        _attach,
        _read_attachment,
        lambda call: call.quietly(
            "iam", "detach_role_policy", {"RoleName": call["role"], "PolicyArn": call["policyArn"]}
        ),
        inputs=("role", "policyArn"),
    ),
    Row(
        "aws:iam/policy:Policy",
        _create_policy,
        _read_policy,
        _delete_policy,
        inputs=("policy", "description"),
        outputs=("arn", "attachmentCount", "path", "policyId"),
        updates=(Update(("policy",), _new_policy_version),),
        tags=_tags("policy", "PolicyArn"),
        name=Name(128),
    ),
    Row(
        "aws:iam/instanceProfile:InstanceProfile",
        _create_profile,
        _read_profile,
        _delete_profile,
        inputs=("role",),
        outputs=("arn", "createDate", "path", "uniqueId"),
        updates=(Update(("role",), _set_profile_role),),
        tags=_tags("instance_profile", "InstanceProfileName"),
        name=Name(128),
    ),
    Row(
        "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
        _create_oidc,
        _read_oidc,
        lambda call: call.quietly("iam", "delete_open_id_connect_provider", {"OpenIDConnectProviderArn": call.id}),
        inputs=("url", "clientIdLists", "thumbprintLists"),
        outputs=("arn", "thumbprintLists"),
        updates=(Update(("thumbprintLists",), _update_thumbprints),),
        tags=_tags("open_id_connect_provider", "OpenIDConnectProviderArn"),
    ),
)
