"""Launch templates and Auto Scaling Groups."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.network import TAGS, ec2_api
from sandbox.providers.aws.rows import Api, Call, Name, Row, Update, nothing, pairs, simple, spelled
from sandbox.providers.values import Record

_TEMPLATE_DATA: Final = (
    "blockDeviceMappings",
    "iamInstanceProfile",
    "capacityReservationSpecification",
    "imageId",
    "instanceType",
    "metadataOptions",
    "networkInterfaces",
    "placement",
    "tagSpecifications",
    "userData",
    "vpcSecurityGroupIds",
)


def template_data(call: Call) -> Record:
    """Build LaunchTemplateData: tags of tag specifications become pairs, everything else keeps its shape."""
    data = call.pick(*_TEMPLATE_DATA)
    if "tagSpecifications" in data:
        data["tagSpecifications"] = [{**row, "tags": pairs(row.get("tags") or {})} for row in data["tagSpecifications"]]
    if "vpcSecurityGroupIds" in data:
        data["SecurityGroupIds"] = data.pop("vpcSecurityGroupIds")
    if "networkInterfaces" in data:
        data["networkInterfaces"] = [_rename(row, "securityGroups", "groups") for row in data["networkInterfaces"]]
    return data


def _rename(row: Record, old: str, new: str) -> Record:
    return {new if key == old else key: value for key, value in row.items()}


_TEMPLATE: Final = ec2_api(
    "launch_template",
    aliases={"name": "LaunchTemplateName", "description": "VersionDescription"},
    live={"defaultVersion": "DefaultVersionNumber", "latestVersion": "LatestVersionNumber"},
)


def _show_template(call: Call) -> Record | None:
    """Return the template with the data of its latest version, whoever made that."""
    shown, latest = _TEMPLATE.show(call), {"LaunchTemplateId": call.id, "Versions": ["$Latest"]}
    if shown is None:
        return None
    version = call.find("ec2", "describe_launch_template_versions", "LaunchTemplateVersions", latest)
    data = spelled(version["LaunchTemplateData"])
    data["vpcSecurityGroupIds"] = data.pop("securityGroupIds", None)
    interfaces = data.get("networkInterfaces")
    data["networkInterfaces"] = interfaces and [_rename(row, "groups", "securityGroups") for row in interfaces]
    data["tagSpecifications"] = [
        {**row, "tags": {tag["key"]: tag["value"] for tag in row["tags"]}} for row in data.get("tagSpecifications", [])
    ]
    description = version.get("VersionDescription")
    return {**shown, **{name: data.get(name) for name in _TEMPLATE_DATA}, "description": description}


def _create_template(call: Call) -> str:
    data = {"LaunchTemplateData": template_data(call)}
    return _TEMPLATE.make(call, {**data, **dict.fromkeys((*_TEMPLATE_DATA, "updateDefaultVersion"))})


def _new_version(call: Call) -> None:
    """Every change is a new version in place; the default follows when ``updateDefaultVersion`` says so."""
    if call.changed(*_TEMPLATE_DATA, "description"):
        values = {
            "LaunchTemplateId": call.id,
            "VersionDescription": call["description"],
            "LaunchTemplateData": template_data(call),
        }
        call.do("ec2", "create_launch_template_version", values)
    if call["updateDefaultVersion"]:
        latest = (_TEMPLATE.find(call) or {})["LatestVersionNumber"]
        call.do("ec2", "modify_launch_template", {"LaunchTemplateId": call.id, "DefaultVersion": latest})


_SIZES: Final = ("minSize", "maxSize", "desiredCapacity")
_GROUP: Final = (*_SIZES, "capacityRebalance", "healthCheckType")
_GROUPS: Final = Api(
    "autoscaling",
    "create_auto_scaling_group",
    "describe_auto_scaling_groups",
    "delete_auto_scaling_group",
    {"AutoScalingGroupName": "{id}"},
    "{name}",
    "AutoScalingGroups",
    aliases={"name": "AutoScalingGroupName"},
    live={"arn": "AutoScalingGroupARN", "vpcZoneIdentifiers": "VPCZoneIdentifier"},
)


def _tag_rows(group: str, rows: list[Record] | None) -> list[Record]:
    named = {"ResourceId": group, "ResourceType": "auto-scaling-group"}
    return [
        {
            **named,
            "Key": row["key"],
            "Value": row.get("value", ""),
            "PropagateAtLaunch": bool(row.get("propagateAtLaunch")),
        }
        for row in rows or []
    ]


def _group(call: Call, name: str) -> Record | None:
    return _GROUPS.find(call.with_id(name))


def _create_group(call: Call) -> str:
    tags, zones = _tag_rows(call["name"], call["tags"]), ",".join(call["vpcZoneIdentifiers"])
    return _GROUPS.make(call, {"tags": tags, "VPCZoneIdentifier": zones, "vpcZoneIdentifiers": None})


def _set_processes(call: Call) -> None:
    """SuspendProcesses and ResumeProcesses, for what changed."""
    wanted, there = set(call["suspendedProcesses"] or []), set(call.olds.get("suspendedProcesses") or [])
    for action, processes in (("suspend_processes", wanted - there), ("resume_processes", there - wanted)):
        if processes:
            call.do("autoscaling", action, {"AutoScalingGroupName": call.id, "ScalingProcesses": sorted(processes)})


_HOOK_INPUTS: Final = ("autoscalingGroupName", "lifecycleTransition", "heartbeatTimeout", "defaultResult")
_HOOK: Final = Api(
    "autoscaling",
    "put_lifecycle_hook",
    "describe_lifecycle_hooks",
    "delete_lifecycle_hook",
    {"LifecycleHookName": "{name}", "AutoScalingGroupName": "{autoscalingGroupName}"},
    "{name}",
    "LifecycleHooks",
    aliases={"name": "LifecycleHookName"},
)


def _delete_hook(call: Call) -> None:
    if _group(call, call["autoscalingGroupName"]) is not None and _HOOK.find(call) is not None:
        _HOOK.drop(call)


def _read_group(call: Call) -> Record | None:
    shown = _GROUPS.show(call)
    return shown and {
        **shown,
        "availabilityZones": sorted(shown["availabilityZones"]),
        "mixedInstancesPolicy": spelled(shown.get("mixedInstancesPolicy")),
        "suspendedProcesses": sorted(process["ProcessName"] for process in shown["suspendedProcesses"]),
        "tags": [
            {"key": tag["Key"], "value": tag["Value"], "propagateAtLaunch": tag["PropagateAtLaunch"]}
            for tag in shown["tags"]
            if not tag["Key"].startswith("aws:")
        ],
        "vpcZoneIdentifiers": shown["vpcZoneIdentifiers"].split(","),
    }


def _update_group(call: Call) -> None:
    """UpdateAutoScalingGroup; only what changed of the sizes is sent, so that a scaled group stays scaled."""
    names = [name for name in (*_GROUP, "mixedInstancesPolicy") if name not in _SIZES or call.changed(name)]
    zones = ",".join(call["vpcZoneIdentifiers"])
    values = {"AutoScalingGroupName": call.id, **call.pick(*names), "VPCZoneIdentifier": zones}
    call.do("autoscaling", "update_auto_scaling_group", values)
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
    for action, rows in (("delete_tags", gone), ("create_or_update_tags", call["tags"])):
        if rows:
            call.do("autoscaling", action, {"Tags": _tag_rows(call.id, rows)})


def _delete_group(call: Call) -> None:
    if _GROUPS.find(call) is not None:
        call.do("autoscaling", "delete_auto_scaling_group", {"AutoScalingGroupName": call.id, "ForceDelete": True})


def _put_tag(call: Call) -> str:
    call.do("autoscaling", "create_or_update_tags", {"Tags": _tag_rows(call["autoscalingGroupName"], [call["tag"]])})
    return f"{call['autoscalingGroupName']},{call['tag']['key']}"


def _read_tag(call: Call) -> Record | None:
    row = _group(call, call["autoscalingGroupName"])
    tag = call["tag"]
    for item in (row or {}).get("Tags", []):
        if item["Key"] == tag["key"]:
            return {"tag": {**tag, "value": item["Value"], "propagateAtLaunch": item["PropagateAtLaunch"]}}
    return None


def _take_tag(call: Call) -> None:
    if _group(call, call["autoscalingGroupName"]) is not None:
        call.do("autoscaling", "delete_tags", {"Tags": _tag_rows(call["autoscalingGroupName"], [call["tag"]])})


ROWS: Final = (
    simple(
        "aws:ec2/launchTemplate:LaunchTemplate",
        _TEMPLATE,
        create=_create_template,
        read=_show_template,
        source="ec2/ec2_launch_template.go resourceLaunchTemplate",
        computed=(
            "blockDeviceMappings.ebs.iops",
            "blockDeviceMappings.ebs.throughput",
            "blockDeviceMappings.ebs.volumeSize",
            "blockDeviceMappings.ebs.volumeType",
            "metadataOptions.*",
        ),
        inputs=(*_TEMPLATE_DATA, "description", "updateDefaultVersion"),
        renewed=("defaultVersion", "latestVersion"),
        updates=(Update((*_TEMPLATE_DATA, "description", "updateDefaultVersion"), _new_version),),
        tags=TAGS,
        # verify/validate.go ValidLaunchTemplateName: EC2 takes 128.
        name=Name(125),
    ),
    simple(
        "aws:autoscaling/group:Group",
        _GROUPS,
        create=_create_group,
        read=_read_group,
        delete=_delete_group,
        # No default tags: the schema has "tag" with propagate_at_launch, and no "tags_all".
        source="autoscaling/group.go resourceGroup",
        computed=("mixedInstancesPolicy.*",),
        inputs=(
            *_GROUP,
            "vpcZoneIdentifiers",
            "mixedInstancesPolicy",
            "tags",
            "instanceRefresh",
            "suspendedProcesses",
        ),
        updates=(
            Update((*_GROUP, "mixedInstancesPolicy", "vpcZoneIdentifiers"), _update_group),
            Update(("tags",), _update_group_tags),
            Update(("suspendedProcesses",), _set_processes),
            Update(("instanceRefresh",), nothing),
        ),
        name=Name(255),
    ),
    simple(
        "aws:autoscaling/lifecycleHook:LifecycleHook",
        _HOOK,
        delete=_delete_hook,
        source="autoscaling/lifecycle_hook.go resourceLifecycleHook",
        inputs=_HOOK_INPUTS,
        # A hook of another group is put there; the one of the old group goes with it.
        updates=(Update(_HOOK_INPUTS, _HOOK.make),),
        name=Name(255, prefix=""),
    ),
    Row(
        "aws:autoscaling/tag:Tag",
        _put_tag,
        _read_tag,
        _take_tag,
        source="autoscaling/tag_gen.go resourceTag",
        inputs=("autoscalingGroupName", "tag"),
        updates=(Update(("tag",), _put_tag),),
        forced=("tag.key",),
    ),
)
