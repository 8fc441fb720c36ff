"""EKS add-ons, access entries, pod identity associations."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.eks_common import key, tags_for
from sandbox.providers.aws.rows import Call, Row, Update
from sandbox.providers.values import Record, Value


def _addon(call: Call) -> Record | None:
    found: Record | None = call.find("eks", "describe_addon", "addon", key(call, "addonName"))
    return found


_ADDON: Final = (
    "clusterName",
    "addonName",
    "addonVersion",
    "configurationValues",
    "podIdentityAssociations",
)


def _create_addon(call: Call) -> str:
    values = {**call.pick(*_ADDON), "resolveConflicts": call["resolveConflictsOnCreate"], "tags": call.tags}
    call.make(
        lambda: call.do("eks", "create_addon", values),
        "ResourceInUseException",
        lambda: (_addon(call) or {}).get("tags", {}),
    )
    return f"{call['clusterName']}:{call['addonName']}"


def _read_addon(call: Call) -> Record | None:
    row = _addon(call)
    return row and {
        "addonVersion": row["addonVersion"],
        "arn": row["addonArn"],
        "configurationValues": row.get("configurationValues", ""),
        "createdAt": row["createdAt"].isoformat(),
        "modifiedAt": row["modifiedAt"].isoformat(),
    }


def _update_addon(call: Call) -> None:
    removed = {"configurationValues": ""} if call.olds.get("configurationValues") else {}
    pods: Record = (
        {"podIdentityAssociations": call["podIdentityAssociations"] or []}
        if call.changed("podIdentityAssociations")
        else {}
    )
    values = {
        **removed,
        **call.pick("clusterName", "addonName", "addonVersion", "configurationValues"),
        **pods,
    }
    call.do("eks", "update_addon", {**values, "resolveConflicts": call["resolveConflictsOnUpdate"]})


def _entry(call: Call) -> Record | None:
    found: Record | None = call.find("eks", "describe_access_entry", "accessEntry", key(call, "principalArn"))
    return found


def _create_entry(call: Call) -> str:
    values = {**call.pick("clusterName", "principalArn", "type"), "tags": call.tags}
    call.make(
        lambda: call.do("eks", "create_access_entry", values),
        "ResourceInUseException",
        lambda: (_entry(call) or {}).get("tags", {}),
    )
    return f"{call['clusterName']}:{call['principalArn']}"


def _read_entry(call: Call) -> Record | None:
    row = _entry(call)
    return row and {
        "accessEntryArn": row["accessEntryArn"],
        "createdAt": row["createdAt"].isoformat(),
        "kubernetesGroups": row["kubernetesGroups"],
        "modifiedAt": row["modifiedAt"].isoformat(),
        "type": row["type"],
        "userName": row["username"],
    }


def _associate(call: Call) -> str:
    call.do("eks", "associate_access_policy", call.pick("clusterName", "principalArn", "policyArn", "accessScope"))
    return f"{call['clusterName']}#{call['principalArn']}#{call['policyArn']}"


def _read_association(call: Call) -> Record | None:
    answer = call.quietly("eks", "list_associated_access_policies", key(call, "principalArn"))
    rows = (answer or {}).get("associatedAccessPolicies", [])
    found = [row for row in rows if row["policyArn"] == call["policyArn"]]
    return (
        {"associatedAt": found[0]["associatedAt"].isoformat(), "modifiedAt": found[0]["modifiedAt"].isoformat()}
        if found
        else None
    )


def _pod(call: Call) -> Record | None:
    by = {"clusterName": call["clusterName"], "namespace": call["namespace"], "serviceAccount": call["serviceAccount"]}
    row = call.find("eks", "list_pod_identity_associations", "associations", by)
    if row is None:
        return None
    found: Record = call.do(
        "eks",
        "describe_pod_identity_association",
        {"clusterName": call["clusterName"], "associationId": row["associationId"]},
    )["association"]
    return found


def _create_pod(call: Call) -> str:
    values = {
        **call.pick("clusterName", "namespace", "serviceAccount", "roleArn"),
        "tags": call.tags,
    }
    call.make(
        lambda: call.do("eks", "create_pod_identity_association", values),
        "ResourceInUseException",
        lambda: (_pod(call) or {}).get("tags", {}),
    )
    return str((_pod(call) or {})["associationId"])


def _read_pod(call: Call) -> Record | None:
    row = _pod(call)
    if row is None or row["associationId"] != call.id:
        return None
    return {"associationArn": row["associationArn"], "associationId": row["associationId"], "roleArn": row["roleArn"]}


def _update_pod(call: Call) -> Value:
    values = {
        "clusterName": call["clusterName"],
        "associationId": call.id,
        **call.pick("roleArn"),
    }
    return call.do("eks", "update_pod_identity_association", values)


ROWS: Final = (
    Row(
        "aws:eks/addon:Addon",
        _create_addon,
        _read_addon,
        lambda call: call.quietly("eks", "delete_addon", key(call, "addonName")),
        inputs=_ADDON,
        outputs=("addonVersion", "arn", "configurationValues", "createdAt", "modifiedAt"),
        renewed=("modifiedAt",),
        updates=(Update(("addonVersion", "configurationValues", "podIdentityAssociations"), _update_addon),),
        ignored=("resolveConflictsOnCreate", "resolveConflictsOnUpdate"),
        tags=tags_for(lambda call: str((_addon(call) or {})["addonArn"])),
    ),
    Row(
        "aws:eks/accessEntry:AccessEntry",
        _create_entry,
        _read_entry,
        lambda call: call.quietly("eks", "delete_access_entry", key(call, "principalArn")),
        inputs=("clusterName", "principalArn", "type"),
        outputs=("accessEntryArn", "createdAt", "kubernetesGroups", "modifiedAt", "userName"),
        renewed=("modifiedAt",),
        tags=tags_for(lambda call: str((_entry(call) or {})["accessEntryArn"])),
    ),
    Row(
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        _associate,
        _read_association,
        lambda call: call.quietly(
            "eks", "disassociate_access_policy", call.pick("clusterName", "principalArn", "policyArn")
        ),
        inputs=("clusterName", "principalArn", "policyArn", "accessScope"),
        outputs=("associatedAt", "modifiedAt"),
    ),
    Row(
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        _create_pod,
        _read_pod,
        lambda call: call.quietly(
            "eks", "delete_pod_identity_association", {"clusterName": call["clusterName"], "associationId": call.id}
        ),
        inputs=("clusterName", "namespace", "serviceAccount", "roleArn"),
        outputs=("associationArn", "associationId"),
        updates=(Update(("roleArn",), _update_pod),),
        tags=tags_for(lambda call: str((_pod(call) or {})["associationArn"])),
    ),
)
