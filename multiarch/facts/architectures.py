"""The two architectures by Kubernetes' names, and translations of all other spellings.

Kubernetes says ``amd64`` and ``arm64`` (label ``kubernetes.io/arch``, Go's GOARCH); EC2, AMIs and
Amazon's SSM parameters say ``x86_64`` and ``arm64``; the kernel says ``x86_64`` and ``aarch64``. Image
indexes use Go's names with variants, ELF files use numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from multiarch.errors import UnknownFactError

__all__ = ["Architecture"]


class Architecture(StrEnum):
    """A node's architecture as the label ``kubernetes.io/arch`` spells it."""

    AMD64 = "amd64"
    ARM64 = "arm64"


# EC2's table never has i386 alone: it only says that an x86_64 type also boots 32-bit images,
# and no EKS image is 32-bit. Mac hosts have the suffix _mac because only macOS images boot on them.
_EC2: Mapping[str, Architecture] = MappingProxyType(
    {
        "x86_64": Architecture.AMD64,
        "x86_64_mac": Architecture.AMD64,
        "arm64": Architecture.ARM64,
        "arm64_mac": Architecture.ARM64,
    }
)
_NAMES = frozenset({"aarch64", "amd64", "arm64", "graviton", "x86_64"})
_AMI: Mapping[Architecture, str] = MappingProxyType({Architecture.AMD64: "x86_64", Architecture.ARM64: "arm64"})
_IMAGE: Mapping[str, str] = MappingProxyType(
    {"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64", "i386": "386", "armhf": "arm", "armel": "arm"}
)
_IMAGE_BASE: Mapping[str, frozenset[str]] = MappingProxyType(
    {"amd64": frozenset({"v1"}), "arm64": frozenset({"v8", "8"})}
)
_IMAGE_ARM: Mapping[str, str] = MappingProxyType({"": "v7", "5": "v5", "6": "v6", "7": "v7", "8": "v8"})
_ELF_BITS = 64
_ELF: Mapping[int, Architecture] = MappingProxyType({62: Architecture.AMD64, 183: Architecture.ARM64})
_ELF_NAMES: Mapping[int, str] = MappingProxyType(
    {
        3: "386",
        21: "ppc64",
        22: "s390x",
        40: "arm",
        62: "amd64",
        183: "arm64",
        243: "riscv",
    }
)
_ELF_NO_PROCESSORS: Mapping[int, str] = MappingProxyType({190: "NVIDIA CUDA", 224: "AMD GPU", 247: "BPF"})


def parse_ec2_architecture(supported: Sequence[str]) -> Architecture:
    """Translate EC2's ``ProcessorInfo.SupportedArchitectures``.

    ``["x86_64"]``, ``["i386", "x86_64"]`` and ``["x86_64_mac"]`` are ``amd64``; ``["arm64"]`` and
    ``["arm64_mac"]`` are ``arm64``. Anything else, also both at once or ``i386`` alone, raises
    :class:`UnknownFactError`.
    """
    found = {_EC2.get(name) for name in supported if name != "i386"}
    if len(found) == 1:
        only = found.pop()
        if only is not None:
            return only
    raise UnknownFactError(
        "EC2 architecture",
        ", ".join(supported),
        hint="Known are x86_64 (with or without i386) and arm64, but not both.",
    )


def names_architecture(text: str) -> bool:
    """Return whether a string, such as a taint's value, is Kubernetes' or the kernel's name of one, or Graviton."""
    return text.lower() in _NAMES


def format_ami_architecture(architecture: Architecture) -> str:
    """Spell an architecture as AMIs and Amazon's SSM parameters do: ``x86_64`` or ``arm64``."""
    return _AMI[architecture]


def normalise_platform(name: str, variant: str) -> tuple[str, str]:
    """Normalise an image's architecture and variant: Go's name, and no variant if it is the default.

    ``arm64`` with variant ``v8`` and ``amd64`` with ``v1`` are those without one; 32-bit ``arm`` always has one, ``v7``
    unless another is said. What is not known stays, in lower case.
    Source: https://github.com/containerd/platforms/blob/main/database.go
    """
    name, variant = name.lower(), variant.lower()
    if name == "armel":
        variant = "v6"
    name = _IMAGE.get(name, name)
    if name == "386" or variant in _IMAGE_BASE.get(name, ()):
        return name, ""
    return name, _IMAGE_ARM.get(variant, variant) if name == "arm" else variant


def parse_elf_machine(machine: int, *, bits: int, little_endian: bool) -> Architecture | None:
    """Translate an ELF header's ``e_machine``, ``EI_CLASS`` and ``EI_DATA``, or return None for other architectures.

    Both architectures are 64-bit and little-endian; x32 and ILP32 have their machine, but other kernels' ABIs.
    Source: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
    """
    return _ELF.get(machine) if bits == _ELF_BITS and little_endian else None


def name_elf_machine(machine: int) -> str:
    """Name an ELF header's ``e_machine`` as Go does, or by its number: ``riscv``, ``machine 94``."""
    return _ELF_NAMES.get(machine) or _ELF_NO_PROCESSORS.get(machine) or f"machine {machine}"


def is_elf_without_processor(machine: int) -> bool:
    """Return whether ``e_machine`` is not CPU code: BPF programs, or code for GPUs."""
    return machine in _ELF_NO_PROCESSORS
