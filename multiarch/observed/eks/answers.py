"""Answers of EKS, EC2 and Auto Scaling as values. Nothing is queried here.

Names and tags that tools give: eksctl, ``pkg/cfn/builder/nodegroup.go`` and ``pkg/apis/eksctl.io/v1alpha5/types.go``;
terraform-plugin-sdk, ``helper/id/id.go`` (a suffix of 26 digits); CloudFormation's suffix of an Auto Scaling Group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from multiarch.errors import UnknownFactError
from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily, AmiType, get_ami_type, get_family
from multiarch.facts.architectures import Architecture, parse_ec2_architecture
from multiarch.facts.instance_types import list_instance_types
from multiarch.facts.labels import is_in_domains
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.observed.eks.model import NodeSettings, ObservedGroup, ObservedSubnet
from multiarch.observed.resources.nodes import read_taints
from multiarch.observed.resources.user_data import (
    UnreadableUserDataError,
    read_user_data_labels,
    read_user_data_taints,
)

Answer = Mapping[str, Any]
AUTOSCALER_TAG = "k8s.io/cluster-autoscaler/"
_EKSCTL_GROUP = ("alpha.eksctl.io/nodegroup-name", "eksctl.io/v1alpha2/nodegroup-name")
_TOOL_LABELS = ("alpha.eksctl.io", "eksctl.io")
_TERRAFORM_SUFFIX = re.compile(r"-?\d{18}[0-9a-f]{8}$")
_OWN_DATA = {
    "KeyName": "its SSH key; sessions go through SSM",
    "Placement": "its placement group or tenancy",
    "CapacityReservationSpecification": "its capacity reservation",
    "LicenseSpecifications": "its licenses",
}
"""What of a launch template a stack's group does not take over."""


def read_settings(data: Answer, devices: Iterable[str]) -> NodeSettings:
    """Return what LaunchTemplateData says; ``devices`` are those that hold images and pods, the first that is there."""
    volumes = {each.get("DeviceName"): each.get("Ebs", {}) for each in data.get("BlockDeviceMappings", ())}
    volume: Answer = next((volumes[device] for device in devices if device in volumes), {})
    own = [text for key, text in _OWN_DATA.items() if data.get(key)]
    interfaces, profile = data.get("NetworkInterfaces", ()), data.get("IamInstanceProfile", {})
    if any(each.get("InterfaceType", "interface") != "interface" for each in interfaces):
        own.append("its EFA interfaces")
    if volume.get("KmsKeyId"):
        own.append("the KMS key of its volume; the account's default key encrypts it")
    if volume.get("VolumeType", "gp3") != "gp3":
        own.append(f"its volume of type {volume['VolumeType']}; nodes get gp3")
    if volume.get("Iops", 0) > 3000 or volume.get("Throughput", 0) > 125:  # noqa: PLR2004 (gp3's own)
        own.append("the provisioned IOPS and throughput of its volume; nodes get gp3's 3000 IOPS and 125 MiB/s")
    return NodeSettings(
        disk_size=volume.get("VolumeSize"),
        hop_limit=data.get("MetadataOptions", {}).get("HttpPutResponseHopLimit") or 1,
        image=data.get("ImageId", ""),
        instance_type=data.get("InstanceType", ""),
        spot=data.get("InstanceMarketOptions", {}).get("MarketType") == "spot",
        user_data=data.get("UserData", ""),
        profile=str(profile.get("Name") or str(profile.get("Arn", "")).rpartition("/")[2]),
        security_groups=tuple(
            sorted(
                {*data.get("SecurityGroupIds", ()), *(name for each in interfaces for name in each.get("Groups", ()))}
            )
        ),
        own=tuple(own),
    )


def find_image_family(image: Answer | None) -> tuple[AmiFamily | None, bool]:
    """Return the family of an image that AWS publishes for EKS, and whether it is a FIPS one; None for any other."""
    name = str((image or {}).get("Name", ""))
    if image is None or image.get("ImageOwnerAlias") != "amazon":
        return None, False
    starts = {each: get_family(each).image_name.partition("{")[0] for each in NODE_FAMILIES}
    fitting = [each for each, start in starts.items() if name.startswith(start)]
    return max(fitting, key=lambda each: len(starts[each]), default=None), "-fips" in name


def read_managed_group(
    answer: Answer, settings: NodeSettings | None, image: Answer | None, scaling_groups: Mapping[str, Answer]
) -> ObservedGroup:
    """Return a managed node group of DescribeNodegroup; ``settings`` are those of its launch template."""
    custom = answer.get("amiType") == "CUSTOM"
    kind = None if custom else _find_ami_type(str(answer.get("amiType", "")))
    family, fips = find_image_family(image) if custom else (kind.family if kind else None, bool(kind and kind.fips))
    template = settings or NodeSettings(disk_size=answer.get("diskSize"))
    own = list(template.own)
    if (answer.get("remoteAccess") or {}).get("ec2SshKey"):
        own.append(_OWN_DATA["KeyName"])
    if template.user_data:
        own.append("the user data of its launch template")
    if (answer.get("nodeRepairConfig") or {}).get("enabled"):
        own.append("node auto repair")
    names = [each["name"] for each in (answer.get("resources") or {}).get("autoScalingGroups", ())]
    behind = [scaling_groups[name] for name in names if name in scaling_groups]
    types = tuple(answer.get("instanceTypes") or filter(None, [template.instance_type]))
    bought = str(answer.get("capacityType") or "ON_DEMAND")
    scaling, tags = answer.get("scalingConfig", {}), answer.get("tags") or {}
    labels, label_notes = _split_labels(answer.get("labels") or {})
    return ObservedGroup(
        name=answer["nodegroupName"],
        short_name=_shorten(answer["nodegroupName"], tags),
        kind=NodeGroupKind.MANAGED,
        instance_types=types,
        architecture=_find_architecture(types, kind, image),
        capacity_type=CapacityType.SPOT if bought == "SPOT" else CapacityType.ON_DEMAND,
        sizes=(scaling.get("minSize", 0), scaling.get("desiredSize", 0), scaling.get("maxSize", 0)),
        family=family,
        fips=fips,
        subnets=tuple(answer.get("subnets", ())),
        settings=replace(template, own=(*own, *label_notes)),
        labels=labels,
        taints=read_taints(answer.get("taints") or ()),
        role=answer.get("nodeRole", ""),
        update={key: value for key, value in (answer.get("updateConfig") or {}).items() if isinstance(value, int)},
        nodes=_count_nodes(behind),
        owners=_list_owners(behind),
        why_not=_explain_capacity(bought) or ("it is being deleted" if answer.get("status") == "DELETING" else ""),
    )


def read_scaling_group(answer: Answer, settings: NodeSettings | None, image: Answer | None) -> ObservedGroup:
    """Return an Auto Scaling Group whose nodes are self-managed; without ``settings`` it has no launch template."""
    template = settings or NodeSettings()
    tags = {each["Key"]: each.get("Value", "") for each in answer.get("Tags", ())}
    policy = answer.get("MixedInstancesPolicy") or {}
    overrides = (policy.get("LaunchTemplate") or {}).get("Overrides", ())
    types = tuple(each["InstanceType"] for each in overrides if each.get("InstanceType"))
    types = types or tuple(filter(None, [template.instance_type]))
    shares = policy.get("InstancesDistribution") or {}
    spot = template.spot or (bool(policy) and shares.get("OnDemandPercentageAboveBaseCapacity", 100) == 0)
    own, why_not = list(template.own), "" if settings else "it has a launch configuration, which is not read"
    if policy and (shares.get("OnDemandBaseCapacity") if spot else _buys_both(shares)):
        own.append("its mix of on-demand and spot instances; a group of a stack buys one of both")
    if any(each.get("InstanceRequirements") for each in overrides):
        why_not = "its instance types are chosen by requirements"
    if any(each.get("WeightedCapacity", "1") != "1" for each in overrides):
        own.append("its weighted capacity")
    try:
        labels, taints = read_user_data_labels(template.user_data), read_user_data_taints(template.user_data)
    except UnreadableUserDataError as error:
        labels, taints, why_not = {}, (), why_not or f"labels and taints in its user data can't be read: {error}"
    labels, label_notes = _split_labels(labels)
    family, fips = find_image_family(image)
    if template.user_data:
        own.append("its user data, but for labels and taints")
    return ObservedGroup(
        name=answer["AutoScalingGroupName"],
        short_name=_shorten(answer["AutoScalingGroupName"], tags),
        kind=NodeGroupKind.SELF_MANAGED,
        instance_types=types,
        architecture=_find_architecture(types, None, image),
        capacity_type=CapacityType.SPOT if spot else CapacityType.ON_DEMAND,
        sizes=(answer["MinSize"], answer["DesiredCapacity"], answer["MaxSize"]),
        family=family,
        fips=fips,
        subnets=tuple(filter(None, answer.get("VPCZoneIdentifier", "").split(","))),
        settings=replace(template, own=(*own, *label_notes)),
        labels=labels,
        taints=taints,
        role="",
        nodes=_count_nodes([answer]),
        owners=_list_owners([answer]),
        why_not=why_not,
    )


def _explain_capacity(bought: str) -> str:
    return "" if bought in ("SPOT", "ON_DEMAND") else f"capacity of the type {bought} can't be declared"


def get_template_reference(answer: Answer) -> Answer | None:
    """Return the launch template of an Auto Scaling Group, as LaunchTemplateSpecification; None without one."""
    mixed = (answer.get("MixedInstancesPolicy") or {}).get("LaunchTemplate") or {}
    found: Answer | None = answer.get("LaunchTemplate") or mixed.get("LaunchTemplateSpecification")
    return found


def read_subnet(answer: Answer, routed: Collection[str]) -> ObservedSubnet:
    """Return a subnet of DescribeSubnets; ``routed`` are the IDs of those that lead to no internet gateway."""
    name, public = answer["SubnetId"], bool(answer.get("MapPublicIpOnLaunch"))
    return ObservedSubnet(name, answer["AvailabilityZone"], answer["AvailableIpAddressCount"], public, name in routed)


def _find_ami_type(name: str) -> AmiType | None:
    try:
        return get_ami_type(name)
    except UnknownFactError:
        return None


def _find_architecture(types: Iterable[str], kind: AmiType | None, image: Answer | None) -> Architecture | None:
    known = list_instance_types()
    found = {known[name].architecture for name in types if name in known}
    if len(found) == 1:
        return found.pop()
    if kind is not None:
        return kind.architecture
    try:
        return parse_ec2_architecture([str((image or {}).get("Architecture", ""))])
    except UnknownFactError:
        return None


def _shorten(name: str, tags: Mapping[str, str]) -> str:
    """Return what the group's tool was told: by eksctl's tag, or without the suffix of Terraform."""
    told = next((tags[key] for key in _EKSCTL_GROUP if tags.get(key)), "")
    return told or _TERRAFORM_SUFFIX.sub("", name)


def _split_labels(labels: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the labels without those that a tool keeps of its own groups, and a clause that names these."""
    tools = sorted(key for key in labels if is_in_domains(key, _TOOL_LABELS))
    kept = {key: labels[key] for key in sorted(labels) if key not in tools}
    return kept, [f"what its tool labels nodes with: {', '.join(tools)}"] if tools else []


def _buys_both(shares: Answer) -> bool:
    return bool(shares.get("OnDemandPercentageAboveBaseCapacity", 100) < 100)  # noqa: PLR2004 (per cent)


def _count_nodes(groups: Iterable[Answer]) -> dict[str, int]:
    found = Counter(each.get("InstanceType", "") for group in groups for each in group.get("Instances", ()))
    return dict(sorted(found.items()))


def _list_owners(groups: Iterable[Answer]) -> tuple[str, ...]:
    keys = {each["Key"] for group in groups for each in group.get("Tags", ())}
    found = {key.removeprefix(AUTOSCALER_TAG) for key in keys if key.startswith(AUTOSCALER_TAG)}
    return tuple(sorted(each for each in found if "/" not in each and each != "enabled"))
