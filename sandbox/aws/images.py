"""EKS's machine images and the public SSM parameters that name them, seeded into moto per region.

Paths: EKS user guide, "Retrieve recommended AMI IDs" (Amazon Linux, Bottlerocket).
"""

from __future__ import annotations

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.utils import utcnow
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.amis import Ami
from moto.ssm.models import Parameter, SimpleSystemManagerBackend, ssm_backends

from multiarch.facts.ami_families import AmiType, get_family
from multiarch.facts.architectures import Architecture
from sandbox.aws.facts import (
    AMI_TYPES,
    CLUSTER_VERSIONS,
    architecture_of,
    earlier_release,
    image_id,
    latest_release,
    offered,
)

_OWNER = "602401143452"


def ensure_region(region: str) -> None:
    """Fill a region once; a second call costs one look-up."""
    ec2 = ec2_backends[DEFAULT_ACCOUNT_ID][region]
    first = AMI_TYPES["AL2023_ARM_64_STANDARD"]
    newest = list(CLUSTER_VERSIONS)[-1]
    if image_id(region, first, newest, latest_release(first, newest)) in ec2.amis:
        return
    ssm = ssm_backends[DEFAULT_ACCOUNT_ID][region]
    for version in CLUSTER_VERSIONS:
        for ami_type in AMI_TYPES.values():
            if offered(ami_type, version):
                _seed(ec2, ssm, ami_type, version)


def ensure_image(ec2: EC2Backend, ami_type: AmiType, minor: str, release: str) -> str:
    """Return the ID of the image of one release, registered at first use."""
    identifier = image_id(ec2.region_name, ami_type, minor, release)
    if identifier not in ec2.amis:
        ec2.amis[identifier] = Ami(
            ec2,
            identifier,
            name=_name(ami_type, minor, release),
            description=f"EKS node, {ami_type.name}, Kubernetes {minor}, release {release}",
            owner_id=_OWNER,
            owner_alias="amazon",
            public=True,
            virtualization_type="hvm",
            architecture=architecture_of(ami_type),
            hypervisor="xen",
            root_device_type="ebs",
            root_device_name="/dev/xvda",
            region_name=f"{ec2.region_name}a",
        )
    return identifier


def _name(ami_type: AmiType, minor: str, release: str) -> str:
    """Return the image's name, as AWS calls it.

    ``amazon-eks-node-al2023-arm64-standard-1.36-v20261106``, ``amazon-eks-arm64-node-1.32-v20251120``,
    ``bottlerocket-aws-k8s-1.36-aarch64-v1.52.0-ae0b4a82``.
    """
    return get_family(ami_type.family).image_name.format(
        k=minor,
        arch=architecture_of(ami_type),
        uname="aarch64" if ami_type.architecture is Architecture.ARM64 else "x86_64",
        variant=ami_type.variant,
        release=f"v{release.rpartition('-')[2]}",
        full=release,
    )


def _pinned(ami_type: AmiType, base: str, minor: str, release: str) -> list[str]:
    """Return paths of one release, beside that of the recommended one: what Karpenter looks a pinned alias up by.

    Shapes: ``…/standard/amazon-eks-node-al2023-arm64-standard-1.36-v20261106``; Bottlerocket's release is there with
    and without its commit, ``…/arm64/1.52.0-ae0b4a82`` and ``…/arm64/1.52.0``.
    """
    parent = base.rpartition("/")[0]
    if "{full}" in get_family(ami_type.family).image_name:
        return [f"{parent}/{release}", f"{parent}/{release.partition('-')[0]}"]
    return [f"{parent}/{_name(ami_type, minor, release)}"]


def _seed(ec2: EC2Backend, ssm: SimpleSystemManagerBackend, ami_type: AmiType, minor: str) -> None:
    newest = latest_release(ami_type, minor)
    base = ami_type.ssm_parameter(minor, "image_id").rpartition("/")[0]
    named = [
        (f"{base}/image_id", ensure_image(ec2, ami_type, minor, newest), "aws:ec2:image"),
        (ami_type.ssm_parameter(minor, "release_version"), newest, "text"),
    ]
    for release in (newest, earlier_release(ami_type, minor)):
        image = ensure_image(ec2, ami_type, minor, release)
        named += [(f"{path}/image_id", image, "aws:ec2:image") for path in _pinned(ami_type, base, minor, release)]
    for name, value, data_type in named:
        if name in ssm._parameters:  # noqa: SLF001 (public parameters cannot be put through the API)
            continue
        ssm._parameters[name].append(  # noqa: SLF001 (as above)
            Parameter(  # type: ignore[abstract]  # moto makes them the same way
                account_id=ssm.account_id,
                name=name,
                value=value,
                parameter_type="String",
                description=None,
                allowed_pattern=None,
                keyid=None,
                last_modified_date=utcnow(),
                version=1,
                data_type=data_type,
            )
        )
