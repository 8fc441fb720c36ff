"""IAM: roles, policies, instance profiles, OIDC providers."""

from __future__ import annotations

import json
from typing import Final

from sandbox.providers.aws.rows import Api, Call, Name, Row, Tags, Update, operations, sends, simple
from sandbox.providers.values import Record

_ROLE: Final = {"RoleName": "{id}"}
_OF_ROLE: Final = {"RoleName": "{role}", "PolicyName": "{name}"}
_PROFILE: Final = {"InstanceProfileName": "{id}"}
_OIDC: Final = {"OpenIDConnectProviderArn": "{id}"}


def _tags(suffix: str, argument: str) -> Tags:
    return Tags("iam", f"tag_{suffix}", f"untag_{suffix}", argument)


def _bound_role(call: Call) -> None:
    if call["permissionsBoundary"]:
        call.do("iam", "put_role_permissions_boundary", {"RoleName": call.id, **call.pick("permissionsBoundary")})
    else:
        call.quietly("iam", "delete_role_permissions_boundary", {"RoleName": call.id})


def _put_role_policy(call: Call) -> str:
    values = {"RoleName": call["role"], "PolicyName": call["name"], "PolicyDocument": call["policy"]}
    call.do("iam", "put_role_policy", values)
    return f"{call['role']}:{call['name']}"


def _show_role_policy(call: Call) -> Record | None:
    names = {"RoleName": call["role"], "PolicyName": call["name"]}
    row = call.quietly("iam", "get_role_policy", names)
    return row and {"name": row["PolicyName"], "policy": json.dumps(row["PolicyDocument"])}


def _show_attachment(call: Call) -> Record | None:
    answer = call.quietly("iam", "list_attached_role_policies", {"RoleName": call["role"]})
    attached = [row["PolicyArn"] for row in (answer or {}).get("AttachedPolicies", [])]
    return {} if call["policyArn"] in attached else None


def _drop_old_versions(call: Call) -> None:
    """IAM keeps five versions; all but the default one are deleted, as the real provider does."""
    answer = call.quietly("iam", "list_policy_versions", {"PolicyArn": call.id})
    for row in (answer or {}).get("Versions", []):
        if not row["IsDefaultVersion"]:
            call.quietly("iam", "delete_policy_version", {"PolicyArn": call.id, "VersionId": row["VersionId"]})


def _new_policy_version(call: Call) -> None:
    _drop_old_versions(call)
    values = {"PolicyArn": call.id, "PolicyDocument": call["policy"], "SetAsDefault": True}
    call.do("iam", "create_policy_version", values)


def _show_role(call: Call) -> Record | None:
    """Return the policy as text: an SDK that reads a role that exists already waits forever for another type."""
    shown = _ROLES.show(call)
    return shown and {**shown, "assumeRolePolicy": json.dumps(shown["assumeRolePolicy"])}


def _show_policy(call: Call) -> Record | None:
    shown, found = _POLICY.show(call), _POLICY.find(call)
    if shown is None or found is None:
        return None
    version = {"PolicyArn": call.id, "VersionId": found["DefaultVersionId"]}
    return {**shown, "policy": call.find("iam", "get_policy_version", "PolicyVersion.Document", version)}


def _delete_policy(call: Call) -> None:
    _drop_old_versions(call)
    call.quietly("iam", "delete_policy", {"PolicyArn": call.id})


def _set_profile_role(call: Call) -> None:
    _leave_role(call)
    if call["role"]:
        call.do("iam", "add_role_to_instance_profile", {"InstanceProfileName": call.id, "RoleName": call["role"]})


def _leave_role(call: Call) -> None:
    role = call.find("iam", "get_instance_profile", "InstanceProfile.Roles.RoleName", {"InstanceProfileName": call.id})
    if role:
        call.quietly("iam", "remove_role_from_instance_profile", {"InstanceProfileName": call.id, "RoleName": role})


def _delete_profile(call: Call) -> None:
    _leave_role(call)
    call.quietly("iam", "delete_instance_profile", {"InstanceProfileName": call.id})


def _show_oidc(call: Call) -> Record | None:
    shown = _OIDC_PROVIDER.show(call)
    return shown and {**shown, "url": f"https://{str(shown['url']).removeprefix('https://')}"}


def _change_clients(call: Call) -> None:
    old, new = set(call.olds.get("clientIdLists") or []), set(call["clientIdLists"])
    for verb, ids in (("add_client_id_to", new - old), ("remove_client_id_from", old - new)):
        for each in sorted(ids):
            call.do("iam", f"{verb}_open_id_connect_provider", {"OpenIDConnectProviderArn": call.id, "ClientID": each})


_POLICY: Final = operations(
    "iam",
    "policy",
    {"PolicyArn": "{id}"},
    "Policy.Arn",
    "Policy",
    read="get_policy",
    aliases={"name": "PolicyName", "policy": "PolicyDocument"},
)
_OIDC_PROVIDER: Final = operations(
    "iam",
    "open_id_connect_provider",
    _OIDC,
    "OpenIDConnectProviderArn",
    read="get_open_id_connect_provider",
    aliases={"clientIdLists": "ClientIDList", "thumbprintLists": "ThumbprintList"},
    live={"arn": "{id}"},
)
_ROLES = operations(
    "iam",
    "role",
    _ROLE,
    "{name}",
    "Role",
    read="get_role",
    aliases={"name": "RoleName", "assumeRolePolicy": "AssumeRolePolicyDocument"},
    live={"uniqueId": "RoleId", "permissionsBoundary": "PermissionsBoundary.PermissionsBoundaryArn"},
)

ROWS: Final = (
    simple(
        "aws:iam/role:Role",
        _ROLES,
        read=_show_role,
        source="iam/role.go resourceRole",
        defaults={"maxSessionDuration": 3600, "path": "/"},
        inputs=("assumeRolePolicy", "description", "maxSessionDuration", "path", "permissionsBoundary"),
        updates=(
            Update(
                ("assumeRolePolicy",),
                sends("iam", "update_assume_role_policy", _ROLE, "assumeRolePolicy", assumeRolePolicy="PolicyDocument"),
            ),
            Update(
                ("description", "maxSessionDuration"),
                sends("iam", "update_role", _ROLE, "description", "maxSessionDuration"),
            ),
            Update(("permissionsBoundary",), _bound_role),
        ),
        tags=_tags("role", "RoleName"),
        name=Name(64),
    ),
    Row(
        "aws:iam/rolePolicy:RolePolicy",
        _put_role_policy,
        _show_role_policy,
        sends("iam", "delete_role_policy", _OF_ROLE, quiet=True),
        source="iam/role_policy.go resourceRolePolicy",
        inputs=("role", "policy"),
        updates=(Update(("policy",), _put_role_policy),),
        name=Name(128),
    ),
    simple(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        Api(
            "iam",
            "attach_role_policy",
            "list_attached_role_policies",
            "detach_role_policy",
            {"RoleName": "{role}", "PolicyArn": "{policyArn}"},
            "{role}/{policyArn}",
            aliases={"role": "RoleName"},
        ),
        read=_show_attachment,
        source="iam/role_policy_attachment.go resourceRolePolicyAttachment",
        inputs=("role", "policyArn"),
    ),
    simple(
        "aws:iam/policy:Policy",
        _POLICY,
        read=_show_policy,
        delete=_delete_policy,
        source="iam/policy.go resourcePolicy",
        defaults={"path": "/"},
        inputs=("policy", "description", "path"),
        updates=(Update(("policy",), _new_policy_version),),
        tags=_tags("policy", "PolicyArn"),
        name=Name(128),
    ),
    simple(
        "aws:iam/instanceProfile:InstanceProfile",
        operations(
            "iam",
            "instance_profile",
            _PROFILE,
            "{name}",
            "InstanceProfile",
            read="get_instance_profile",
            aliases={"name": "InstanceProfileName"},
            live={"uniqueId": "InstanceProfileId", "role": "Roles.RoleName"},
        ),
        delete=_delete_profile,
        source="iam/instance_profile.go resourceInstanceProfile",
        defaults={"path": "/"},
        inputs=("role", "path"),
        updates=(Update(("role",), _set_profile_role),),
        tags=_tags("instance_profile", "InstanceProfileName"),
        name=Name(128),
    ),
    simple(
        "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
        _OIDC_PROVIDER,
        read=_show_oidc,
        source="iam/openid_connect_provider.go resourceOpenIDConnectProvider",
        inputs=("url", "clientIdLists"),
        updates=(Update(("clientIdLists",), _change_clients),),
        tags=_tags("open_id_connect_provider", "OpenIDConnectProviderArn"),
    ),
)
