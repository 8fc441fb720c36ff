"""A cluster's instances as EC2, Auto Scaling and EKS show them.

The clients are the caller's, and botocore's own errors pass through. Requests are in batches: their number grows with
the instances divided by what one request takes, not with the instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from multiarch.errors import MultiarchError, UnknownFactError
from multiarch.facts.architectures import Architecture, parse_ec2_architecture
from multiarch.facts.instance_types import list_instance_types
from multiarch.threads import split_items
from multiarch.verify.nodes.model import Image, Instance, LaunchTemplateVersion
from multiarch.verify.nodes.planned import CLUSTER_TAGS, SCALING_GROUP_TAG

_IMAGES, _GROUPS, _IDS = 100, 50, 200
"""Names in one request. Auto Scaling takes no more than 50."""
_WINDOWS = "windows"
_SEEN = ("pending", "running", "stopping", "stopped")


def get_kubernetes_version(eks: Any, name: str, *, region: str) -> str:  # noqa: ANN401  (boto3's clients are untyped)
    """Return the minor version of a cluster's control plane. Raises MultiarchError if there is no such cluster."""
    try:
        return str(eks.describe_cluster(name=name)["cluster"].get("version", ""))
    except eks.exceptions.ResourceNotFoundException as error:
        raise MultiarchError(
            f"There is no EKS cluster {name} in {region}.",
            hint="Check the name, --region and the AWS profile, or create it with `pulumi up`.",
        ) from error


def find_instances(ec2: Any, cluster: str, identifiers: Iterable[str] = ()) -> tuple[Instance, ...]:  # noqa: ANN401  (as above)
    """Return the instances that carry a tag of the cluster, and those with these IDs, sorted by ID; none of Windows.

    Without their AMI's name, and without what Auto Scaling knows. Those that are terminated are found by their ID, as
    long as EC2 shows them.
    """
    found: dict[str, Instance] = {}
    for condition in _of_cluster(cluster):
        conditions = [condition, {"Name": "instance-state-name", "Values": list(_SEEN)}]
        found |= {each.id: each for each in _instances(ec2, conditions)}
    for batch in split_items(sorted(set(identifiers) - set(found)), _IDS):
        # A filter passes over IDs that EC2 has forgotten; InstanceIds would reject them.
        found |= {each.id: each for each in _instances(ec2, [{"Name": "instance-id", "Values": batch}])}
    return tuple(found[key] for key in sorted(found))


def _of_cluster(name: str) -> list[dict[str, Any]]:
    """Return filters for the tags of the stack, of the kubelet's cloud provider and Karpenter, and of EKS."""
    return [
        {"Name": "tag-key", "Values": [f"kubernetes.io/cluster/{name}"]},
        *({"Name": f"tag:{tag}", "Values": [name]} for tag in CLUSTER_TAGS),
    ]


def _instances(ec2: Any, conditions: Sequence[Mapping[str, Any]]) -> Iterator[Instance]:  # noqa: ANN401  (as above)
    for page in ec2.get_paginator("describe_instances").paginate(Filters=conditions):
        for reservation in page["Reservations"]:
            # Windows nodes are not verified; their Nodes are omitted too.
            yield from (_instance(each) for each in reservation["Instances"] if each.get("Platform") != _WINDOWS)


def _instance(found: Mapping[str, Any]) -> Instance:
    tags = {tag["Key"]: tag["Value"] for tag in found.get("Tags", ())}
    known = list_instance_types().get(found["InstanceType"])
    # What EC2 calls an instance's architecture is that of its image, which boots on the instance.
    own = _architecture([found.get("Architecture", "")])
    return Instance(
        id=found["InstanceId"],
        type=found["InstanceType"],
        architecture=known.architecture if known else own,
        image=Image(found.get("ImageId", ""), "", own),
        state=found.get("State", {}).get("Name", ""),
        launched=found["LaunchTime"],
        zone=found.get("Placement", {}).get("AvailabilityZone", ""),
        private_dns=found.get("PrivateDnsName", ""),
        tags=tags,
        profile=found.get("IamInstanceProfile", {}).get("Arn", ""),
        scaling_group=tags.get(SCALING_GROUP_TAG, ""),
    )


def _architecture(supported: Sequence[str]) -> Architecture | None:
    try:
        return parse_ec2_architecture(supported)
    except UnknownFactError:
        return None


def with_images(ec2: Any, instances: Iterable[Instance]) -> tuple[Instance, ...]:  # noqa: ANN401  (as above)
    """Add the name and architecture of their AMI to instances. One that is deregistered keeps an empty name."""
    instances = tuple(instances)
    images: dict[str, Image] = {}
    for batch in split_items(sorted({each.image.id for each in instances if each.image.id}), _IMAGES):
        # A filter passes over images that are gone; ImageIds would reject them.
        for page in ec2.get_paginator("describe_images").paginate(Filters=[{"Name": "image-id", "Values": batch}]):
            for row in page["Images"]:
                architecture = _architecture([row.get("Architecture", "")])
                images[row["ImageId"]] = Image(row["ImageId"], row.get("Name", ""), architecture)
    return tuple(replace(each, image=images.get(each.image.id, each.image)) for each in instances)


def with_scaling_groups(autoscaling: Any, instances: Iterable[Instance]) -> tuple[Instance, ...]:  # noqa: ANN401  (as above)
    """Return the instances with their state in their Auto Scaling Group and the version of its launch template.

    Of a group with ``$Latest`` or ``$Default`` the version is not known.
    """
    instances = tuple(instances)
    members: dict[str, tuple[Mapping[str, Any], tuple[str, str]]] = {}
    for batch in split_items(sorted({each.scaling_group for each in instances if each.scaling_group}), _GROUPS):
        pages = autoscaling.get_paginator("describe_auto_scaling_groups").paginate(AutoScalingGroupNames=batch)
        for group in (row for page in pages for row in page["AutoScalingGroups"]):
            members |= {row["InstanceId"]: (row, _template_of(group)) for row in group.get("Instances", ())}
    return tuple(_as_member(each, *members[each.id]) if each.id in members else each for each in instances)


def _template_of(group: Mapping[str, Any]) -> tuple[str, str]:
    """Return ID and version of the launch template that a group uses now."""
    policy = group.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {}).get("LaunchTemplateSpecification")
    template = policy or group.get("LaunchTemplate") or {}
    return template.get("LaunchTemplateId", ""), template.get("Version", "")


def _as_member(instance: Instance, member: Mapping[str, Any], current: tuple[str, str]) -> Instance:
    own, template = member.get("LaunchTemplate"), None
    if own:
        version = current[1] if own["LaunchTemplateId"] == current[0] and "$" not in current[1] else ""
        template = LaunchTemplateVersion(own["LaunchTemplateId"], own.get("Version", ""), version)
    return replace(instance, lifecycle=member.get("LifecycleState", ""), template=template)


def get_console_output(ec2: Any, identifier: str) -> str:  # noqa: ANN401  (as above)
    """Return the console output of an instance as far as EC2 has it; empty while there is none."""
    from botocore.exceptions import ClientError  # noqa: PLC0415  (loaded with the client)

    try:
        answer = ec2.get_console_output(InstanceId=identifier, Latest=True)
    except ClientError as error:
        # Only Nitro instances have the latest output.
        if error.response["Error"]["Code"] not in ("UnsupportedOperation", "InvalidParameterCombination"):
            raise
        answer = ec2.get_console_output(InstanceId=identifier)
    return str(answer.get("Output") or "")
