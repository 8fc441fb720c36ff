"""EKS managed node groups."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.eks_access import tags_by
from sandbox.providers.aws.rows import Call, Name, Update, operations, simple
from sandbox.providers.values import Record

_PLAIN: Final = ("scalingConfig", "updateConfig", "nodeRepairConfig")
_GROUP_SIMPLE: Final = (
    "clusterName",
    "amiType",
    "capacityType",
    "instanceTypes",
    "labels",
    "releaseVersion",
    "version",
    *_PLAIN,
)


_GROUP_NAME: Final = {"clusterName": "{clusterName}", "nodegroupName": "{nodeGroupName}"}
_GROUP: Final = operations(
    "eks",
    "nodegroup",
    _GROUP_NAME,
    "{clusterName}:{nodeGroupName}",
    "nodegroup",
    aliases={"nodeRoleArn": "nodeRole", "subnetIds": "subnets"},
    live={"arn": "nodegroupArn"},
)


def _show_group(call: Call) -> Record | None:
    shown = _GROUP.show(call)
    if shown is None:
        return None
    names = [{"name": row["name"]} for row in shown["resources"]["autoScalingGroups"]]
    return {**shown, "resources": [{"autoscalingGroups": names, "remoteAccessSecurityGroupId": ""}]}


def _find_fault(call: Call) -> str:
    """Return how the wait for a group ends, empty when it is ACTIVE (eks/node_group.go, waitNodegroupCreated)."""
    found = _GROUP.find(call) or {}
    if found["status"] == "ACTIVE":
        return ""
    issues = (f"{', '.join(row['resourceIds'])}: {row['code']}: {row['message']}" for row in found["health"]["issues"])
    why = f"unexpected state '{found['status']}', wanted target 'ACTIVE'. last error: {'; '.join(issues)}"
    return f"waiting for EKS Node Group ({call.id}) create: {why}"


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
        **call.pick("clusterName", "nodeGroupName"),
        "labels": _labels_change(call),
        "taints": _taints_change(call),
        **{name: value for name, value in call.changed(*_PLAIN).items() if value},
    }
    call.do("eks", "update_nodegroup_config", values)


def _update_group_version(call: Call) -> None:
    """A launch template is named by its id or its name, with the version; only what changed is sent."""
    changed = call.changed("version", "releaseVersion", "launchTemplate")
    values = {
        **call.pick("clusterName", "nodeGroupName"),
        "force": call["forceUpdateVersion"],
        **{name: value for name, value in changed.items() if value},
    }
    call.do("eks", "update_nodegroup_version", values)


ROWS: Final = (
    simple(
        "aws:eks/nodeGroup:NodeGroup",
        _GROUP,
        read=_show_group,
        source="eks/node_group.go resourceNodeGroup",
        computed=("launchTemplate.id", "launchTemplate.name", "nodeRepairConfig.*"),
        inputs=(*_GROUP_SIMPLE, "nodeRoleArn", "subnetIds", "taints", "launchTemplate"),
        renewed=("releaseVersion", "version"),
        updates=(
            Update(("version", "releaseVersion", "launchTemplate"), _update_group_version),
            Update(("labels", "taints", *_PLAIN), _update_group_config),
        ),
        forced=("launchTemplate.id", "launchTemplate.name"),
        ignored=("forceUpdateVersion",),
        fault=_find_fault,
        tags=tags_by("arn"),
        name=Name(63, "nodeGroupName", "nodeGroupNamePrefix"),
    ),
)
