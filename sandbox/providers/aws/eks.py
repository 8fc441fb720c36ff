"""EKS: clusters, node groups, add-ons, access entries, pod identity associations."""

from __future__ import annotations

from typing import Any, Final

from sandbox.providers.aws.rows import Call, Name, Row, Tags, Update
from sandbox.providers.values import Record


def _tags_for(arn: Any) -> Tags:
    return Tags(
        put=lambda call, tags: call.do("eks", "tag_resource", {"resourceArn": arn(call), "tags": tags}),
        take=lambda call, keys: call.do("eks", "untag_resource", {"resourceArn": arn(call), "tagKeys": keys}),
    )


def _cluster(call: Call) -> Record | None:
    found: Record | None = call.find("eks", "describe_cluster", "cluster", {"name": call.id or call["name"]})
    return found


def _create_cluster(call: Call) -> str:
    values: Record = {
        **call.pick(
            "name",
            "version",
            "roleArn",
            "accessConfig",
            "upgradePolicy",
            "deletionProtection",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig",
        ),
        "resourcesVpcConfig": call["vpcConfig"],
        "encryptionConfig": _encryption(call),
        "logging": _logging(call),
        "tags": call.tags,
    }
    call.make(
        lambda: call.do("eks", "create_cluster", values),
        "ResourceInUseException",
        lambda: (_cluster(call) or {}).get("tags", {}),
    )
    return str(call["name"])


def _encryption(call: Call) -> list[Record] | None:
    return [call["encryptionConfig"]] if call["encryptionConfig"] else None


def _logging(call: Call) -> Record | None:
    """Types that are on, and on a change those that go off."""
    on, before = call["enabledClusterLogTypes"] or [], call.olds.get("enabledClusterLogTypes") or []
    rows = [{"types": sorted(on), "enabled": True}, {"types": sorted(set(before) - set(on)), "enabled": False}]
    rows = [row for row in rows if row["types"]]
    return {"clusterLogging": rows} if rows else None


def _read_cluster(call: Call) -> Record | None:
    row = _cluster(call)
    if row is None:
        return None
    vpc = row["resourcesVpcConfig"]
    return {
        "accessConfig": {key: row["accessConfig"][key] for key in sorted(row["accessConfig"])},
        "arn": row["arn"],
        "certificateAuthority": {"data": row["certificateAuthority"]["data"]},
        "createdAt": row["createdAt"].isoformat(),
        "endpoint": row["endpoint"],
        "identities": [{"oidcs": [{"issuer": row["identity"]["oidc"]["issuer"]}]}],
        "kubernetesNetworkConfig": row["kubernetesNetworkConfig"],
        "name": row["name"],
        "platformVersion": row["platformVersion"],
        "status": row["status"],
        "upgradePolicy": row["upgradePolicy"],
        "version": row["version"],
        "vpcConfig": {key: vpc[key] for key in sorted(vpc)},
    }


def _config(argument: str, source: str) -> Any:
    return lambda call: call.do("eks", "update_cluster_config", {"name": call.id, argument: call[source]})


def _update_vpc(call: Call) -> None:
    """EKS changes either the endpoint's access or the subnets and security groups in one call."""
    old, new = call.olds.get("vpcConfig") or {}, call["vpcConfig"]
    for names in (
        ("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs"),
        ("subnetIds", "securityGroupIds"),
    ):
        values = {name: new.get(name) for name in names}
        if any(old.get(name) != value for name, value in values.items()):
            call.do("eks", "update_cluster_config", {"name": call.id, "resourcesVpcConfig": values})


def _update_encryption(call: Call) -> Any:
    return call.do(
        "eks", "associate_encryption_config", {"clusterName": call.id, "encryptionConfig": _encryption(call)}
    )


_GROUP_SIMPLE: Final = (
    "clusterName",
    "amiType",
    "capacityType",
    "diskSize",
    "instanceTypes",
    "labels",
    "releaseVersion",
    "version",
    "scalingConfig",
    "updateConfig",
    "nodeRepairConfig",
    "remoteAccess",
)


def _group(call: Call) -> Record | None:
    values = {"clusterName": call["clusterName"], "nodegroupName": call["nodeGroupName"]}
    found: Record | None = call.find("eks", "describe_nodegroup", "nodegroup", values)
    return found


def _create_group(call: Call) -> str:
    values = {
        **call.pick(*_GROUP_SIMPLE, "launchTemplate"),
        "nodegroupName": call["nodeGroupName"],
        "nodeRole": call["nodeRoleArn"],
        "subnets": call["subnetIds"],
        "taints": call["taints"],
        "tags": call.tags,
    }
    call.make(
        lambda: call.do("eks", "create_nodegroup", values),
        "ResourceInUseException",
        lambda: (_group(call) or {}).get("tags", {}),
    )
    return f"{call['clusterName']}:{call['nodeGroupName']}"


def _read_group(call: Call) -> Record | None:
    row = _group(call)
    if row is None:
        return None
    names = [item["name"] for item in row["resources"]["autoScalingGroups"]]
    return {
        "amiType": row["amiType"],
        "arn": row["nodegroupArn"],
        "capacityType": row["capacityType"],
        "diskSize": row.get("diskSize", 0),
        "instanceTypes": row.get("instanceTypes", []),
        "releaseVersion": row["releaseVersion"],
        "resources": [{"autoscalingGroups": [{"name": name} for name in names], "remoteAccessSecurityGroupId": ""}],
        "scalingConfig": {key: row["scalingConfig"][key] for key in ("desiredSize", "maxSize", "minSize")},
        "status": row["status"],
        "updateConfig": row["updateConfig"],
        "version": row["version"],
    }


def _labels_change(call: Call) -> Record | None:
    old, new = call.olds.get("labels") or {}, call["labels"] or {}
    put = {key: value for key, value in new.items() if old.get(key) != value}
    taken = sorted(set(old) - set(new))
    return {"addOrUpdateLabels": put, "removeLabels": taken} if put or taken else None


def _taints_change(call: Call) -> Record | None:
    old, new = call.olds.get("taints") or [], call["taints"] or []
    put = [taint for taint in new if taint not in old]
    kept = {(taint["key"], taint["effect"]) for taint in new}
    taken = [taint for taint in old if (taint["key"], taint["effect"]) not in kept]
    change = {"addOrUpdateTaints": put, "removeTaints": taken}
    return {key: value for key, value in change.items() if value} or None


def _update_group_config(call: Call) -> None:
    values = {
        "clusterName": call["clusterName"],
        "nodegroupName": call["nodeGroupName"],
        "labels": _labels_change(call),
        "taints": _taints_change(call),
        **{
            name: value
            for name, value in call.changed("scalingConfig", "updateConfig", "nodeRepairConfig").items()
            if value
        },
    }
    call.do("eks", "update_nodegroup_config", values)


def _update_group_version(call: Call) -> None:
    """A launch template is named by its id or its name, with the version; only what changed is sent."""
    changed = call.changed("version", "releaseVersion", "launchTemplate")
    values = {
        "clusterName": call["clusterName"],
        "nodegroupName": call["nodeGroupName"],
        "force": call["forceUpdateVersion"],
        **{name: value for name, value in changed.items() if value},
    }
    call.do("eks", "update_nodegroup_version", values)


def _key(call: Call, name: str) -> Record:
    return {"clusterName": call["clusterName"], name: call[name]}


def _addon(call: Call) -> Record | None:
    found: Record | None = call.find("eks", "describe_addon", "addon", _key(call, "addonName"))
    return found


_ADDON: Final = (
    "clusterName",
    "addonName",
    "addonVersion",
    "configurationValues",
    "serviceAccountRoleArn",
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
    removed = {
        name: "" for name in ("configurationValues", "serviceAccountRoleArn") if call.olds.get(name) and not call[name]
    }
    pods: Record = (
        {"podIdentityAssociations": call["podIdentityAssociations"] or []}
        if call.changed("podIdentityAssociations")
        else {}
    )
    values = {
        **call.pick("clusterName", "addonName", "addonVersion", "configurationValues", "serviceAccountRoleArn"),
        **removed,
        **pods,
    }
    call.do("eks", "update_addon", {**values, "resolveConflicts": call["resolveConflictsOnUpdate"]})


def _delete_addon(call: Call) -> Any:
    return call.quietly("eks", "delete_addon", {**_key(call, "addonName"), "preserve": call["preserve"]})


def _entry(call: Call) -> Record | None:
    found: Record | None = call.find("eks", "describe_access_entry", "accessEntry", _key(call, "principalArn"))
    return found


def _create_entry(call: Call) -> str:
    values = {
        **call.pick("clusterName", "principalArn", "kubernetesGroups", "type"),
        "username": call["userName"],
        "tags": call.tags,
    }
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
    answer = call.quietly("eks", "list_associated_access_policies", _key(call, "principalArn"))
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
        **call.pick("clusterName", "namespace", "serviceAccount", "roleArn", "targetRoleArn", "disableSessionTags"),
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


def _update_pod(call: Call) -> Any:
    values = {
        "clusterName": call["clusterName"],
        "associationId": call.id,
        **call.pick("roleArn", "targetRoleArn", "disableSessionTags"),
    }
    return call.do("eks", "update_pod_identity_association", values)


_ARN: Final = {
    "cluster": lambda call: call.aws.arn("eks", f"cluster/{call.id}"),
    "group": lambda call: (_group(call) or {})["nodegroupArn"],
    "addon": lambda call: (_addon(call) or {})["addonArn"],
    "entry": lambda call: (_entry(call) or {})["accessEntryArn"],
    "pod": lambda call: (_pod(call) or {})["associationArn"],
}

ROWS: Final = (
    Row(
        "aws:eks/cluster:Cluster",
        _create_cluster,
        _read_cluster,
        lambda call: call.quietly("eks", "delete_cluster", {"name": call.id}),
        inputs=(
            "version",
            "roleArn",
            "vpcConfig",
            "accessConfig",
            "upgradePolicy",
            "deletionProtection",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig",
            "encryptionConfig",
            "enabledClusterLogTypes",
        ),
        outputs=(
            "accessConfig",
            "arn",
            "certificateAuthority",
            "createdAt",
            "endpoint",
            "identities",
            "kubernetesNetworkConfig",
            "platformVersion",
            "status",
            "upgradePolicy",
            "version",
            "vpcConfig.clusterSecurityGroupId",
            "vpcConfig.vpcId",
            "vpcConfig.publicAccessCidrs",
        ),
        renewed=("platformVersion",),
        updates=(
            Update(
                ("version",),
                lambda call: call.do("eks", "update_cluster_version", {"name": call.id, "version": call["version"]}),
            ),
            Update(("vpcConfig",), _update_vpc),
            Update(
                ("enabledClusterLogTypes",),
                lambda call: call.do("eks", "update_cluster_config", {"name": call.id, "logging": _logging(call)}),
            ),
            Update(
                ("accessConfig",),
                lambda call: call.do(
                    "eks",
                    "update_cluster_config",
                    {
                        "name": call.id,
                        "accessConfig": {"authenticationMode": call["accessConfig"]["authenticationMode"]},
                    },
                ),
            ),
            Update(("upgradePolicy",), _config("upgradePolicy", "upgradePolicy")),
            Update(
                ("deletionProtection",),
                lambda call: call.do(
                    "eks",
                    "update_cluster_config",
                    {"name": call.id, "deletionProtection": bool(call["deletionProtection"])},
                ),
            ),
            Update(("encryptionConfig",), _update_encryption),
        ),
        forced=(
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "encryptionConfig.provider",
            "encryptionConfig.resources",
        ),
        ignored=("forceUpdateVersion", "defaultAddonsToRemoves"),
        tags=_tags_for(_ARN["cluster"]),
        name=Name(100),
    ),
    Row(
        "aws:eks/nodeGroup:NodeGroup",
        _create_group,
        _read_group,
        lambda call: call.quietly(
            "eks", "delete_nodegroup", {"clusterName": call["clusterName"], "nodegroupName": call["nodeGroupName"]}
        ),
        inputs=(*_GROUP_SIMPLE, "nodeRoleArn", "subnetIds", "taints", "launchTemplate"),
        outputs=(
            "amiType",
            "arn",
            "capacityType",
            "diskSize",
            "instanceTypes",
            "releaseVersion",
            "resources",
            "scalingConfig",
            "status",
            "updateConfig",
            "version",
        ),
        renewed=("releaseVersion", "version"),
        updates=(
            Update(("version", "releaseVersion", "launchTemplate"), _update_group_version),
            Update(("labels", "taints", "scalingConfig", "updateConfig", "nodeRepairConfig"), _update_group_config),
        ),
        forced=("launchTemplate.id", "launchTemplate.name"),
        ignored=("forceUpdateVersion",),
        tags=_tags_for(_ARN["group"]),
        name=Name(63, "nodeGroupName", "nodeGroupNamePrefix"),
    ),
    Row(
        "aws:eks/addon:Addon",
        _create_addon,
        _read_addon,
        _delete_addon,
        inputs=_ADDON,
        outputs=("addonVersion", "arn", "configurationValues", "createdAt", "modifiedAt"),
        renewed=("modifiedAt",),
        updates=(
            Update(
                ("addonVersion", "configurationValues", "serviceAccountRoleArn", "podIdentityAssociations"),
                _update_addon,
            ),
        ),
        ignored=("resolveConflictsOnCreate", "resolveConflictsOnUpdate", "preserve"),
        tags=_tags_for(_ARN["addon"]),
    ),
    Row(
        "aws:eks/accessEntry:AccessEntry",
        _create_entry,
        _read_entry,
        lambda call: call.quietly("eks", "delete_access_entry", _key(call, "principalArn")),
        inputs=("clusterName", "principalArn", "kubernetesGroups", "type", "userName"),
        outputs=("accessEntryArn", "createdAt", "kubernetesGroups", "modifiedAt", "userName"),
        renewed=("modifiedAt",),
        updates=(
            Update(
                ("kubernetesGroups", "userName"),
                lambda call: call.do(
                    "eks",
                    "update_access_entry",
                    {**call.pick("clusterName", "principalArn", "kubernetesGroups"), "username": call["userName"]},
                ),
            ),
        ),
        tags=_tags_for(_ARN["entry"]),
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
        inputs=("clusterName", "namespace", "serviceAccount", "roleArn", "targetRoleArn", "disableSessionTags"),
        outputs=("associationArn", "associationId"),
        updates=(Update(("roleArn", "targetRoleArn", "disableSessionTags"), _update_pod),),
        tags=_tags_for(_ARN["pod"]),
    ),
)
