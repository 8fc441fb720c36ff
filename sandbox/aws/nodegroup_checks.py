"""EKS's checks of a node group before it creates anything.

Upstream: Amazon EKS API reference, CreateNodegroup; EKS user guide, "Customize managed nodes with launch templates".
Every function raises InvalidParameterException.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from moto.ec2.models.amis import Ami
from moto.ec2.models.instance_types import INSTANCE_TYPES

from multiarch.facts.ami_families import get_family
from sandbox.aws.eks_base import Record, invalid
from sandbox.aws.facts import AMI_TYPES, CLUSTER_VERSIONS, architecture_of, latest_release, minor_number, offered
from sandbox.aws.shapes import faults, model

_MAX_SKEW = 3


def check_names_and_sizes(params: Record) -> None:
    """Check what the API's model says (names of capacity types, taint effects and amiTypes), labels and sizes."""
    if wrong := faults(params, model("eks").operation_model("CreateNodegroup").input_shape):
        raise invalid("; ".join(wrong))
    if any(key.startswith(("eks.amazonaws.com/", "kubernetes.io/")) for key in params.get("labels") or {}):
        raise invalid("Label cannot contain reserved prefixes [kubernetes.io/, eks.amazonaws.com/]")
    scaling(params.get("scalingConfig") or {})


def scaling(config: Record) -> dict[str, int]:
    """Return the three sizes, EKS's defaults filled in (2, 2, 2)."""
    sizes = {"minSize": 2, "maxSize": 2, "desiredSize": 2, **config}
    if not 0 <= sizes["minSize"] <= sizes["desiredSize"] <= sizes["maxSize"]:
        raise invalid(
            f"minimum capacity {sizes['minSize']}, desired capacity {sizes['desiredSize']} and "
            f"maximum capacity {sizes['maxSize']} must be in this order"
        )
    return sizes


def check_template(params: Record, data: Record) -> bool:
    """Reject settings that conflict with the launch template; return whether the template has a custom AMI."""
    if data.get("InstanceType") and params.get("instanceTypes"):
        raise invalid("Cannot specify instance types in launch template and API request")
    if (data.get("InstanceMarketOptions") or {}).get("MarketType") == "spot":
        raise invalid("Spot in a launch template is not allowed in a managed node group; use capacityType")
    if (data.get("IamInstanceProfile")) and data["IamInstanceProfile"] != {}:
        raise invalid(
            "An IAM instance profile in the launch template is not allowed in a managed node group; use nodeRole"
        )
    if not data.get("ImageId"):
        return False
    if params.get("amiType") not in (None, "CUSTOM"):
        raise invalid("You cannot specify an AMI Type when specifying an image id in the launch template")
    for key in ("version", "releaseVersion"):
        if params.get(key):
            raise invalid(f"You cannot specify {key} when specifying an image id in the launch template")
    return True


def checked_version(wanted: str | None, cluster: str) -> str:
    """Return the node group's minor: the cluster's, or at most three older."""
    version = wanted or cluster
    if version not in CLUSTER_VERSIONS:
        raise invalid(f"Requested Nodegroup version {version} is not supported")
    if not 0 <= minor_number(cluster) - minor_number(version) <= _MAX_SKEW:
        raise invalid(f"Nodegroup Kubernetes version {version} does not fit cluster version {cluster}")
    return version


def check_architecture(ami_type: str, types: Sequence[str], version: str, image: Ami | None) -> None:
    """Require the architecture of the amiType, or of the custom image, of every instance type."""
    if ami_type == "CUSTOM":
        architecture = image.architecture if image else None
    elif ami_type not in AMI_TYPES:
        raise invalid(f"amiType {ami_type} is not one the sandbox's EKS knows: {', '.join(AMI_TYPES)}")
    else:
        architecture = architecture_of(AMI_TYPES[ami_type])
        if not offered(AMI_TYPES[ami_type], version):
            last = get_family(AMI_TYPES[ami_type].family).last_version
            raise invalid(f"AMI Type {ami_type} is only supported for kubernetes versions {last} or earlier")
    for name in types:
        data: dict[str, Any] | None = INSTANCE_TYPES.get(name)
        if data is None:
            raise invalid(f"The following supplied instance types do not exist: [{name}]")
        supported = data["ProcessorInfo"]["SupportedArchitectures"]
        if architecture is not None and architecture not in supported:
            raise invalid(f"[{name}] is not a valid instance type for requested amiType {ami_type} ({architecture})")


def check_not_older(ami_type: str, current: str, wanted: str) -> None:
    """Reject a release before the one that the group has.

    Upstream: EKS API reference, UpdateNodegroupVersion; the words are those of its description.
    """
    form = get_family(AMI_TYPES[ami_type].family).release
    now, then = (re.fullmatch(form, release) for release in (current, wanted))
    if now and then and now.groupdict().get("minor") == then.groupdict().get("minor"):
        one, other = (tuple(map(int, each["alias"].split("."))) for each in (now, then))
        if other < one:
            raise invalid("You cannot roll back a node group to an earlier Kubernetes version or AMI version.")


def checked_release(ami_type: str, version: str, wanted: str | None) -> str:
    """Return the AMI release, the latest by default; a release of another minor is rejected."""
    row = AMI_TYPES[ami_type]
    if wanted is None:
        return latest_release(row, version)
    found = re.fullmatch(get_family(row.family).release, wanted)
    if found is None or found.groupdict().get("minor", version) != version:
        raise invalid(
            f"Requested release version {wanted} is not valid for kubernetes version {version} and {ami_type}"
        )
    return wanted
