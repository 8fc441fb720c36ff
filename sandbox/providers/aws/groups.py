"""Launch templates and Auto Scaling Groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sandbox.providers import IDENTITY_TAG
from sandbox.providers.aws.ec2_common import TAGS, specification
from sandbox.providers.aws.rows import Call, Name, Row, Update, nothing, pairs, unpairs
from sandbox.providers.values import Record, Value

_TEMPLATE_DATA: Final = (
    "blockDeviceMappings",
    "iamInstanceProfile",
    "imageId",
    "instanceType",
    "metadataOptions",
    "tagSpecifications",
    "userData",
    "vpcSecurityGroupIds",
)
_TEMPLATE_ALIASES: Final = {"vpcSecurityGroupIds": "SecurityGroupIds"}


def template_data(call: Call) -> Record:
    """LaunchTemplateData: tags of tag specifications become pairs, everything else keeps its shape."""
    data = call.pick(*_TEMPLATE_DATA)
    if "tagSpecifications" in data:
        data["tagSpecifications"] = [{**row, "tags": pairs(row.get("tags") or {})} for row in data["tagSpecifications"]]
    return data


def _template(call: Call, by: str) -> Record | None:
    found: Record | None = call.find(
        "ec2", "describe_launch_templates", "LaunchTemplates", {by: [call.id or call["name"]]}
    )
    return found


def _create_template(call: Call) -> str:
    values = {
        "LaunchTemplateName": call["name"],
        "VersionDescription": call["description"],
        "LaunchTemplateData": template_data(call),
        **specification(call, "launch-template"),
    }

    def tags() -> dict[str, str]:
        return unpairs((_template(call, "LaunchTemplateNames") or {}).get("Tags"))

    call.make(
        lambda: call.do("ec2", "create_launch_template", values, _TEMPLATE_ALIASES),
        "InvalidLaunchTemplateName.AlreadyExistsException",
        tags,
    )
    row = _template(call, "LaunchTemplateNames")
    return str((row or {})["LaunchTemplateId"])


def _read_template(call: Call) -> Record | None:
    row = _template(call, "LaunchTemplateIds")
    return row and {
        "arn": call.aws.arn("ec2", f"launch-template/{call.id}"),
        "defaultVersion": row["DefaultVersionNumber"],
        "latestVersion": row["LatestVersionNumber"],
        "name": row["LaunchTemplateName"],
    }


def _new_version(call: Call) -> None:
    """Every change is a new version in place; the default follows when ``updateDefaultVersion`` says so."""
    if call.changed(*_TEMPLATE_DATA, "description"):
        values = {
            "LaunchTemplateId": call.id,
            "VersionDescription": call["description"],
            "LaunchTemplateData": template_data(call),
        }
        call.do("ec2", "create_launch_template_version", values, _TEMPLATE_ALIASES)
    if call["updateDefaultVersion"]:
        latest = (_template(call, "LaunchTemplateIds") or {})["LatestVersionNumber"]
        call.do("ec2", "modify_launch_template", {"LaunchTemplateId": call.id, "DefaultVersion": latest})


_GROUP: Final = (
    "minSize",
    "maxSize",
    "desiredCapacity",
    "capacityRebalance",
    "healthCheckType",
)


def _group_values(call: Call, names: Iterable[str]) -> Record:
    values: Record = call.pick(*names)
    values["VPCZoneIdentifier"] = ",".join(call["vpcZoneIdentifiers"])
    values["MixedInstancesPolicy"] = call["mixedInstancesPolicy"]
    return values


def _tag_rows(call: Call, rows: list[Record] | None) -> list[Record]:
    name = call.id or call["name"]
    found = [
        {"Key": row["key"], "Value": row.get("value", ""), "PropagateAtLaunch": bool(row.get("propagateAtLaunch"))}
        for row in rows or []
    ]
    found += [
        {"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in sorted(call.aws.default_tags.items())
    ]
    return [{"ResourceId": name, "ResourceType": "auto-scaling-group", **row} for row in found]


def _group(call: Call, name: str) -> Record | None:
    found: Record | None = call.find(
        "autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", {"AutoScalingGroupNames": [name]}
    )
    return found


def _create_group(call: Call) -> str:
    mark = {
        "Key": IDENTITY_TAG,
        "Value": call.identity,
        "PropagateAtLaunch": False,
        "ResourceId": call["name"],
        "ResourceType": "auto-scaling-group",
    }
    values = {
        "AutoScalingGroupName": call["name"],
        **_group_values(call, _GROUP),
        "Tags": [*_tag_rows(call, call["tags"]), mark],
    }
    there = _group(call, call["name"])
    if there is None or unpairs(there["Tags"]).get(IDENTITY_TAG) != call.identity:
        call.do("autoscaling", "create_auto_scaling_group", values)
    _set_processes(call)
    return str(call["name"])


def _set_processes(call: Call) -> None:
    """SuspendProcesses and ResumeProcesses, for what changed."""
    name = call.id or call["name"]
    wanted = set(call["suspendedProcesses"] or [])
    there = {row["ProcessName"] for row in (_group(call, name) or {}).get("SuspendedProcesses", [])}
    for action, processes in (("suspend_processes", wanted - there), ("resume_processes", there - wanted)):
        if processes:
            call.do("autoscaling", action, {"AutoScalingGroupName": name, "ScalingProcesses": sorted(processes)})


def _put_hook(call: Call) -> str:
    names = ("lifecycleTransition", "heartbeatTimeout", "defaultResult")
    values = {"LifecycleHookName": call["name"], "AutoScalingGroupName": call["autoscalingGroupName"]}
    call.do("autoscaling", "put_lifecycle_hook", {**values, **call.pick(*names)})
    return str(call["name"])


def _read_hook(call: Call) -> Record | None:
    by = {"AutoScalingGroupName": call["autoscalingGroupName"], "LifecycleHookNames": [call["name"]]}
    row = call.find("autoscaling", "describe_lifecycle_hooks", "LifecycleHooks", by)
    return row and {
        "name": row["LifecycleHookName"],
        "heartbeatTimeout": row["HeartbeatTimeout"],
        "defaultResult": row["DefaultResult"],
    }


def _delete_hook(call: Call) -> Value:
    if _group(call, call["autoscalingGroupName"]) is None or _read_hook(call) is None:
        return None
    values = {"LifecycleHookName": call["name"], "AutoScalingGroupName": call["autoscalingGroupName"]}
    return call.do("autoscaling", "delete_lifecycle_hook", values)


def _read_group(call: Call) -> Record | None:
    row = _group(call, call.id)
    return row and {
        "arn": row["AutoScalingGroupARN"],
        "availabilityZones": sorted(row["AvailabilityZones"]),
        "defaultCooldown": row["DefaultCooldown"],
        "desiredCapacity": row["DesiredCapacity"],
        "healthCheckType": row["HealthCheckType"],
        "maxSize": row["MaxSize"],
        "minSize": row["MinSize"],
        "name": row["AutoScalingGroupName"],
    }


def _update_group(call: Call) -> None:
    """UpdateAutoScalingGroup; only what changed of the sizes is sent, so that a scaled group stays scaled."""
    sizes = ("minSize", "maxSize", "desiredCapacity")
    names = [name for name in _GROUP if name not in sizes or call.changed(name)]
    call.do("autoscaling", "update_auto_scaling_group", {"AutoScalingGroupName": call.id, **_group_values(call, names)})
    if call["instanceRefresh"] and call.changed("mixedInstancesPolicy"):
        preferences = {
            key: value
            for key, value in (call["instanceRefresh"].get("preferences") or {}).items()
            if key != "alarmSpecification"
        }
        values = {
            "AutoScalingGroupName": call.id,
            "Strategy": call["instanceRefresh"].get("strategy", "Rolling"),
            "Preferences": preferences or None,
        }
        call.do("autoscaling", "start_instance_refresh", values)


def _update_group_tags(call: Call) -> None:
    keys = {row["key"] for row in call["tags"] or []}
    gone = [row for row in call.olds.get("tags") or [] if row["key"] not in keys]
    if gone:
        rows = [
            {key: row[key] for key in ("ResourceId", "ResourceType", "Key")}
            for row in _tag_rows(call, gone)
            if row["Key"] not in call.aws.default_tags
        ]
        call.do("autoscaling", "delete_tags", {"Tags": rows})
    if call["tags"]:
        call.do("autoscaling", "create_or_update_tags", {"Tags": _tag_rows(call, call["tags"])})


def _delete_group(call: Call) -> Value:
    if _group(call, call.id) is None:
        return None
    return call.do("autoscaling", "delete_auto_scaling_group", {"AutoScalingGroupName": call.id, "ForceDelete": True})


def _put_tag(call: Call) -> str:
    tag = call["tag"]
    row = {
        "ResourceId": call["autoscalingGroupName"],
        "ResourceType": "auto-scaling-group",
        "Key": tag["key"],
        "Value": tag["value"],
        "PropagateAtLaunch": tag["propagateAtLaunch"],
    }
    call.do("autoscaling", "create_or_update_tags", {"Tags": [row]})
    return f"{call['autoscalingGroupName']},{tag['key']}"


def _read_tag(call: Call) -> Record | None:
    row = _group(call, call["autoscalingGroupName"])
    tag = call["tag"]
    for item in (row or {}).get("Tags", []):
        if item["Key"] == tag["key"]:
            return {"tag": {**tag, "value": item["Value"], "propagateAtLaunch": item["PropagateAtLaunch"]}}
    return None


def _take_tag(call: Call, key: str) -> Value:
    if _group(call, call["autoscalingGroupName"]) is None:
        return None
    row = {"ResourceId": call["autoscalingGroupName"], "ResourceType": "auto-scaling-group", "Key": key}
    return call.do("autoscaling", "delete_tags", {"Tags": [row]})


ROWS: Final = (
    Row(
        "aws:ec2/launchTemplate:LaunchTemplate",
        _create_template,
        _read_template,
        lambda call: call.quietly("ec2", "delete_launch_template", {"LaunchTemplateId": call.id}),
        inputs=(*_TEMPLATE_DATA, "description", "updateDefaultVersion"),
        outputs=("arn", "defaultVersion", "latestVersion"),
        renewed=("defaultVersion", "latestVersion"),
        updates=(Update((*_TEMPLATE_DATA, "description", "updateDefaultVersion"), _new_version),),
        tags=TAGS,
        name=Name(128),
    ),
    Row(
        "aws:autoscaling/group:Group",
        _create_group,
        _read_group,
        _delete_group,
        inputs=(
            *_GROUP,
            "vpcZoneIdentifiers",
            "mixedInstancesPolicy",
            "tags",
            "instanceRefresh",
            "suspendedProcesses",
        ),
        outputs=("arn", "availabilityZones", "defaultCooldown", "desiredCapacity", "healthCheckType"),
        updates=(
            Update((*_GROUP, "mixedInstancesPolicy", "vpcZoneIdentifiers"), _update_group),
            Update(("tags",), _update_group_tags),
            Update(("suspendedProcesses",), _set_processes),
            Update(("instanceRefresh",), nothing),
        ),
        name=Name(255),
    ),
    Row(
        "aws:autoscaling/lifecycleHook:LifecycleHook",
        _put_hook,
        _read_hook,
        _delete_hook,
        inputs=("autoscalingGroupName", "lifecycleTransition", "heartbeatTimeout", "defaultResult"),
        outputs=("heartbeatTimeout", "defaultResult"),
        updates=(Update(("lifecycleTransition", "heartbeatTimeout", "defaultResult"), _put_hook),),
        name=Name(255, prefix=""),
    ),
    Row(
        "aws:autoscaling/tag:Tag",
        _put_tag,
        _read_tag,
        lambda call: _take_tag(call, call["tag"]["key"]),
        inputs=("autoscalingGroupName", "tag"),
        updates=(Update(("tag",), _put_tag),),
        forced=("tag.key",),
    ),
)
