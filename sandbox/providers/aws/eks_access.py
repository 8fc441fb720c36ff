"""EKS add-ons, access entries, Fargate profiles, pod identity associations."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.rows import Api, Call, Name, Tags, Update, operations, sends, simple
from sandbox.providers.values import Record

_PRINCIPAL: Final = {"clusterName": "{clusterName}", "principalArn": "{principalArn}"}
_POD: Final = {"clusterName": "{clusterName}", "associationId": "{id}"}


def tags_by(arn: str) -> Tags:
    """Return the tags of an EKS resource, which go by its ARN; ``arn`` is the output that has it."""
    return Tags("eks", "tag_resource", "untag_resource", "resourceArn", arn)


def _update_addon(call: Call) -> None:
    names = ("addonVersion", "configurationValues", "podIdentityAssociations")
    values = {key: [] if value is None else value for key, value in call.changed(*names).items()}
    resolve = {"resolveConflicts": call["resolveConflictsOnUpdate"]}
    call.do("eks", "update_addon", {**values, **call.pick("clusterName", "addonName"), **resolve})


_ADDON_NAME: Final = {"clusterName": "{clusterName}", "addonName": "{addonName}"}
_ADDON: Final = operations("eks", "addon", _ADDON_NAME, "{clusterName}:{addonName}", "addon", live={"arn": "addonArn"})


def _create_addon(call: Call) -> str:
    return _ADDON.make(call, {"resolveConflicts": call["resolveConflictsOnCreate"]})


def _show_addon(call: Call) -> Record | None:
    shown, found = _ADDON.show(call), _ADDON.find(call) or {}
    pods = [_pod_identity(call, arn.rsplit("/", 1)[1]) for arn in found.get("podIdentityAssociations", [])]
    return shown and {**shown, "podIdentityAssociations": pods}


def _pod_identity(call: Call, identifier: str) -> Record:
    named = {"clusterName": call["clusterName"], "associationId": identifier}
    found = call.find("eks", "describe_pod_identity_association", "association", named)
    return {name: found[name] for name in ("roleArn", "serviceAccount")}


def _show_association(call: Call) -> Record | None:
    answer = call.quietly("eks", "list_associated_access_policies", call.pick("clusterName", "principalArn"))
    for row in (answer or {}).get("associatedAccessPolicies", []):
        if row["policyArn"] == call["policyArn"]:
            times = {name: row[name].isoformat() for name in ("associatedAt", "modifiedAt")}
            return {**times, "accessScope": {key: value for key, value in row["accessScope"].items() if value}}
    return None


ROWS: Final = (
    simple(
        "aws:eks/addon:Addon",
        _ADDON,
        create=_create_addon,
        read=_show_addon,
        source="eks/addon.go resourceAddon",
        inputs=("clusterName", "addonName", "addonVersion", "configurationValues", "podIdentityAssociations"),
        renewed=("modifiedAt",),
        updates=(Update(("addonVersion", "configurationValues", "podIdentityAssociations"), _update_addon),),
        ignored=("resolveConflictsOnCreate", "resolveConflictsOnUpdate"),
        tags=tags_by("arn"),
    ),
    simple(
        "aws:eks/accessEntry:AccessEntry",
        operations("eks", "access_entry", _PRINCIPAL, "{clusterName}:{principalArn}", "accessEntry"),
        source="eks/access_entry.go resourceAccessEntry",
        defaults={"type": "STANDARD"},
        inputs=("clusterName", "principalArn", "type", "kubernetesGroups"),
        renewed=("modifiedAt",),
        updates=(Update(("kubernetesGroups",), sends("eks", "update_access_entry", _PRINCIPAL, "kubernetesGroups")),),
        tags=tags_by("accessEntryArn"),
    ),
    simple(
        "aws:eks/fargateProfile:FargateProfile",
        operations(
            "eks",
            "fargate_profile",
            {"clusterName": "{clusterName}", "fargateProfileName": "{fargateProfileName}"},
            "{clusterName}:{fargateProfileName}",
            "fargateProfile",
            aliases={"subnetIds": "subnets"},
            live={"arn": "fargateProfileArn"},
        ),
        source="eks/fargate_profile.go resourceFargateProfile",
        inputs=("clusterName", "fargateProfileName", "podExecutionRoleArn", "selectors", "subnetIds"),
        name=Name(63, "fargateProfileName", prefix=""),
        tags=tags_by("arn"),
    ),
    simple(
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        Api(
            "eks",
            "associate_access_policy",
            "list_associated_access_policies",
            "disassociate_access_policy",
            {**_PRINCIPAL, "policyArn": "{policyArn}"},
            "{clusterName}#{principalArn}#{policyArn}",
        ),
        read=_show_association,
        source="eks/access_policy_association.go resourceAccessPolicyAssociation",
        inputs=("clusterName", "principalArn", "policyArn", "accessScope"),
    ),
    simple(
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        operations(
            "eks",
            "pod_identity_association",
            _POD,
            "association.associationId",
            "association",
            live={"roleArn": "roleArn"},
        ),
        source="eks/pod_identity_association.go podIdentityAssociationResource.Schema",
        inputs=("clusterName", "namespace", "serviceAccount", "roleArn"),
        updates=(Update(("roleArn",), sends("eks", "update_pod_identity_association", _POD, "roleArn")),),
        tags=tags_by("associationArn"),
    ),
)
