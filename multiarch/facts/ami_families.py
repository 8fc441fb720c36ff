"""EKS-optimized images: which exist, for which architecture and accelerator, and where AWS publishes them.

The names are the EKS API's ``amiType`` values. A combination without a row has no image, and querying
for it is an error, not a fallback to the nearest one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Literal

from multiarch.errors import UnknownFactError, look_up
from multiarch.facts.architectures import Architecture, format_ami_architecture
from multiarch.facts.instance_types import Accelerator, InstanceType
from multiarch.facts.kubernetes import LAST_AL2_VERSION
from multiarch.frozen import dataclass

SsmAttribute = Literal["image_id", "release_version"]


class AmiFamily(StrEnum):
    """An operating system with its own bootstrap. Windows is only recognised; no node group uses it."""

    AL2 = "AL2"
    AL2023 = "AL2023"
    BOTTLEROCKET = "Bottlerocket"
    WINDOWS = "Windows"
    CUSTOM = "Custom"


@dataclass(frozen=True, slots=True)
class Devices:
    """Block devices of a family's images.

    ``root`` is the device the image boots from. ``data`` is a second volume for images, logs and pods; a disk size
    that a team writes belongs to it where it exists, and to ``root`` where it is ``None``.
    ``root_gib`` is the root's size in GiB when it is fixed by the image.
    """

    root: str
    data: str | None = None
    root_gib: int | None = None

    @property
    def node_storage(self) -> str:
        """The device that holds container images and pods' ephemeral storage."""
        return self.data or self.root


@dataclass(frozen=True, slots=True)
class FamilyFacts:
    """What all images of one AMI family have in common.

    ``parameter`` is the public SSM parameter of the recommended image: ``{k}`` is the Kubernetes minor, ``{variant}``
    the image's own part, ``{attribute}`` ``image_id`` or ``release_parameter``.
    ``has_shell`` families run scripts from user data and take kubelet flags; others take settings. ``takes_kubelet`` is
    whether user data that EKS merges with its own can set the kubelet's flags and maximum pods.

    ``os_image`` begins what a Node of the family has in ``status.nodeInfo.osImage``, and ``os_example`` is one.
    ``image_name`` is what AWS calls an image: ``{k}``, ``{arch}`` and ``{variant}`` as in ``parameter``, ``{uname}``
    the kernel's word for the architecture, ``{release}`` the alias's with ``v``, ``{full}`` the whole EKS release.
    ``not_on`` has the families of instance types that the image does not boot on, with the reason. ``last_version`` is
    the last Kubernetes minor with such images, empty when they still appear.

    ``release`` is the form of an EKS release: its group ``minor`` is the Kubernetes minor where it has one, its group
    ``alias`` what Karpenter's alias has behind ``v``. ``alias_release`` is the form of that, and Karpenter reads the
    image from ``pinned``, in place of the recommended image's name, or else from ``image_name``: ``{number}`` is the
    release without the ``v``.
    ``reserves_by_max_pods``: the memory that the kubelet keeps follows from the node's max pods, not from the addresses
    of its instance type.
    ``has_device_plugin``: its images for GPUs run NVIDIA's device plugin. Source: EKS user guide, "Install Kubernetes
    device plugin for GPUs".
    """

    parameter: str
    devices: Devices
    os_image: str
    os_example: str
    image_name: str
    release_parameter: str = "release_version"
    has_shell: bool = True
    takes_kubelet: bool = True
    not_on: Mapping[str, str] = field(default_factory=dict)
    last_version: str = ""
    reserves_by_max_pods: bool = False
    has_device_plugin: bool = False
    release: str = r"(?P<minor>[0-9]+\.[0-9]+)\.[0-9]+-(?P<alias>[0-9]{8})"
    release_example: str = "{k}.2-20260715"
    alias_release: str = r"v[0-9]{8}"
    alias_example: str = "v20260715"
    pinned: str = ""


# Sources: EKS user guide, "Retrieve recommended AMI IDs" for Amazon Linux and Bottlerocket; amazon-eks-ami's
# templates (xvda); Bottlerocket's and Karpenter's mappings (4 GiB xvda, data on xvdb); karpenter-provider-aws,
# pkg/providers/amifamily, one file per family. Amazon Linux is released by date, Bottlerocket by version.
_FAMILIES: Mapping[AmiFamily, FamilyFacts] = MappingProxyType(
    {
        AmiFamily.AL2: FamilyFacts(
            "/aws/service/eks/optimized-ami/{k}/amazon-linux-2{variant}/recommended/{attribute}",
            devices=Devices("/dev/xvda"),
            os_image=r"Amazon Linux 2(?!\d)",
            os_example="Amazon Linux 2",
            image_name="amazon-eks{variant}-node-{k}-{release}",
            takes_kubelet=False,
            last_version=LAST_AL2_VERSION,
            alias_example="v20250715",
        ),
        AmiFamily.AL2023: FamilyFacts(
            "/aws/service/eks/optimized-ami/{k}/amazon-linux-2023/{arch}/{variant}/recommended/{attribute}",
            devices=Devices("/dev/xvda"),
            os_image="Amazon Linux 2023",
            os_example="Amazon Linux 2023.8.20260715",
            image_name="amazon-eks-node-al2023-{arch}-{variant}-{k}-{release}",
            # Source: AL2023 user guide, "System requirements": ARMv8.2 with the cryptography extension.
            not_on={"a1": "has a first-generation Graviton; Amazon Linux 2023 needs Graviton2 or later"},
        ),
        AmiFamily.BOTTLEROCKET: FamilyFacts(
            "/aws/service/bottlerocket/aws-k8s-{k}{variant}/{arch}/latest/{attribute}",
            release_parameter="image_version",
            devices=Devices("/dev/xvda", data="/dev/xvdb", root_gib=4),
            os_image="Bottlerocket",
            os_example="Bottlerocket OS 1.52.0 (aws-k8s)",
            image_name="bottlerocket-aws-k8s-{k}{variant}-{uname}-v{full}",
            has_shell=False,
            reserves_by_max_pods=True,
            has_device_plugin=True,
            release=r"(?P<alias>[0-9]+\.[0-9]+\.[0-9]+)-[0-9a-f]{8}",
            release_example="1.52.0-ae0b4a82",
            alias_release=r"v?[0-9]+\.[0-9]+\.[0-9]+",
            alias_example="v1.52.0",
            pinned="{number}",
        ),
    }
)
NODE_FAMILIES = tuple(_FAMILIES)
"""The families of node groups and of Karpenter's nodes."""


def get_family(family: AmiFamily) -> FamilyFacts:
    """Look a family up. Raises :class:`UnknownFactError` for one whose images AWS does not publish."""
    return look_up("AMI family", family, _FAMILIES)


@dataclass(frozen=True, slots=True)
class AmiType:
    """One value of the EKS API's ``amiType``.

    ``accelerator`` is what the image is made for; ``also`` are further kinds it carries drivers for.
    ``architecture`` is ``None`` for ``CUSTOM`` alone. ``variant`` is the part of the SSM path that is this image's own.
    """

    name: str
    family: AmiFamily
    architecture: Architecture | None
    accelerator: Accelerator = Accelerator.NONE
    fips: bool = False
    variant: str = ""
    also: tuple[Accelerator, ...] = ()

    def serves(self, accelerator: Accelerator) -> bool:
        """Return whether the image has the drivers for this accelerator (or needs none)."""
        return accelerator is self.accelerator or accelerator in self.also

    def ssm_parameter(self, kubernetes_version: str, attribute: SsmAttribute) -> str:
        """Name of Amazon's public SSM parameter for this image and a Kubernetes minor such as ``1.35``.

        ``release_version`` is what EKS calls ``releaseVersion``; Bottlerocket publishes it as ``image_version``.
        Raises :class:`UnknownFactError` for a family without :class:`FamilyFacts`: ``CUSTOM`` and Windows.
        """
        facts = _FAMILIES.get(self.family)
        if facts is None or self.architecture is None:
            raise UnknownFactError("published AMI type", self.name, hint="Set ami.id for a custom image.")
        published = facts.release_parameter if attribute == "release_version" else attribute
        return facts.parameter.format(
            k=kubernetes_version,
            variant=self.variant,
            arch=format_ami_architecture(self.architecture),
            attribute=published,
        )


def _rows() -> tuple[AmiType, ...]:
    """Return every amiType, one row each. To add one, add its row; a test compares the names with the EKS API's enum.

    Source for what serves which accelerator: EKS user guide, "Use EKS-optimized accelerated AMIs".
    """
    amd64, arm64 = Architecture.AMD64, Architecture.ARM64
    nvidia, neuron = Accelerator.NVIDIA, Accelerator.NEURON
    al2, al2023, rocket, windows = AmiFamily.AL2, AmiFamily.AL2023, AmiFamily.BOTTLEROCKET, AmiFamily.WINDOWS
    return (
        AmiType("AL2_x86_64", al2, amd64),
        # AL2's accelerated image has the NVIDIA and the Neuron drivers.
        AmiType("AL2_x86_64_GPU", al2, amd64, nvidia, variant="-gpu", also=(neuron,)),
        AmiType("AL2_ARM_64", al2, arm64, variant="-arm64"),
        AmiType("AL2023_x86_64_STANDARD", al2023, amd64, variant="standard"),
        AmiType("AL2023_ARM_64_STANDARD", al2023, arm64, variant="standard"),
        AmiType("AL2023_x86_64_NEURON", al2023, amd64, neuron, variant="neuron"),
        AmiType("AL2023_x86_64_NVIDIA", al2023, amd64, nvidia, variant="nvidia"),
        AmiType("AL2023_ARM_64_NVIDIA", al2023, arm64, nvidia, variant="nvidia"),
        # Bottlerocket's plain amd64 image carries the Neuron driver; of its FIPS image AWS does not say so.
        AmiType("BOTTLEROCKET_x86_64", rocket, amd64, also=(neuron,)),
        AmiType("BOTTLEROCKET_ARM_64", rocket, arm64),
        AmiType("BOTTLEROCKET_x86_64_FIPS", rocket, amd64, fips=True, variant="-fips"),
        AmiType("BOTTLEROCKET_ARM_64_FIPS", rocket, arm64, fips=True, variant="-fips"),
        AmiType("BOTTLEROCKET_x86_64_NVIDIA", rocket, amd64, nvidia, variant="-nvidia"),
        AmiType("BOTTLEROCKET_ARM_64_NVIDIA", rocket, arm64, nvidia, variant="-nvidia"),
        AmiType("BOTTLEROCKET_x86_64_NVIDIA_FIPS", rocket, amd64, nvidia, fips=True, variant="-nvidia-fips"),
        AmiType("BOTTLEROCKET_ARM_64_NVIDIA_FIPS", rocket, arm64, nvidia, fips=True, variant="-nvidia-fips"),
        *(
            AmiType(f"WINDOWS_{edition}_{year}_x86_64", windows, amd64)
            for year in (2019, 2022, 2025)
            for edition in ("CORE", "FULL")
        ),
        AmiType("CUSTOM", AmiFamily.CUSTOM, None),
    )


@cache
def list_ami_types() -> Mapping[str, AmiType]:
    """Return all amiType values by name, sorted by name."""
    return MappingProxyType({row.name: row for row in sorted(_rows(), key=lambda row: row.name)})


def get_ami_type(name: str) -> AmiType:
    """Look an amiType up. Raises :class:`UnknownFactError` with the nearest names."""
    return look_up("EKS AMI type", name, list_ami_types())


def choose_ami_type(
    family: AmiFamily, architecture: Architecture, accelerator: Accelerator, *, fips: bool = False
) -> AmiType:
    """Return the one image of a family for an architecture and an accelerator.

    Raises :class:`UnknownFactError` when AWS publishes no such image (AL2 for arm64 with a GPU, FIPS outside
    Bottlerocket).
    """
    found = [
        row
        for row in list_ami_types().values()
        if (row.family, row.architecture, row.fips) == (family, architecture, fips) and row.serves(accelerator)
    ]
    # Prefer an image made for the accelerator to one that also has its drivers.
    found.sort(key=lambda row: row.accelerator is not accelerator)
    if not found:
        of = [
            *([f"{accelerator} accelerators"] if accelerator is not Accelerator.NONE else []),
            *(["FIPS"] if fips else []),
        ]
        wanted = " with ".join([f"{family} for {architecture}", *([" and ".join(of)] if of else [])])
        raise UnknownFactError("image", wanted, hint="AWS publishes none: choose another amiFamily, or give ami.id.")
    return found[0]


def explain_boot_failure(family: AmiFamily, instance: InstanceType) -> str | None:
    """Return why a family's images do not boot on a type of the same architecture, or ``None``."""
    reason = _FAMILIES[family].not_on.get(instance.family) if family in _FAMILIES else None
    return None if reason is None else f"{instance.name} {reason}"
