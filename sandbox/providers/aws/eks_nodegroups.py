"""EKS managed node groups."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.eks_common import tags_for
from sandbox.providers.aws.rows import Call, Name, Row, Update
from sandbox.providers.values import Record

_GROUP_SIMPLE: Final = (
    "clusterName",
    "amiType",
    "capacityType",
    "instanceTypes",
    "labels",
    "releaseVersion",
    "version",
    "scalingConfig",
    "updateConfig",
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
        **{name: value for name, value in call.changed("scalingConfig", "updateConfig").items() if value},
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


ROWS: Final = (
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
            Update(("labels", "taints", "scalingConfig", "updateConfig"), _update_group_config),
        ),
        forced=("launchTemplate.id", "launchTemplate.name"),
        ignored=("forceUpdateVersion",),
        tags=tags_for(lambda call: str((_group(call) or {})["nodegroupArn"])),
        name=Name(63, "nodeGroupName", "nodeGroupNamePrefix"),
    ),
)
