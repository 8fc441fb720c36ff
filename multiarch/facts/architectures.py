"""The two architectures, in Kubernetes' words, and the one place where other spellings are translated.

Kubernetes says ``amd64`` and ``arm64`` (label ``kubernetes.io/arch``, Go's GOARCH); EC2, AMIs and
Amazon's SSM parameters say ``x86_64`` and ``arm64``; the kernel says ``x86_64`` and ``aarch64``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from multiarch.errors import UnknownFactError


class Architecture(StrEnum):
    """A node's architecture as the label ``kubernetes.io/arch`` spells it."""

    AMD64 = "amd64"
    ARM64 = "arm64"


# i386 never stands alone in EC2's table: it only says that an x86_64 type also boots 32-bit images,
# and no EKS image is 32-bit. Mac hosts have the suffix _mac because only macOS images boot on them.
_EC2: Mapping[str, Architecture] = MappingProxyType(
    {
        "x86_64": Architecture.AMD64,
        "x86_64_mac": Architecture.AMD64,
        "arm64": Architecture.ARM64,
        "arm64_mac": Architecture.ARM64,
    }
)
_UNAME: Mapping[str, Architecture] = MappingProxyType(
    {
        "x86_64": Architecture.AMD64,
        "amd64": Architecture.AMD64,
        "aarch64": Architecture.ARM64,
        "arm64": Architecture.ARM64,
    }
)
_AMI: Mapping[Architecture, str] = MappingProxyType({Architecture.AMD64: "x86_64", Architecture.ARM64: "arm64"})


def from_ec2(supported: Sequence[str]) -> Architecture:
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
        "EC2 architecture", ", ".join(supported), hint="Known are x86_64 (with or without i386) and arm64, each alone."
    )


def from_uname(machine: str) -> Architecture:
    """Translate ``uname -m`` (``x86_64``, ``aarch64``; macOS and BSD say ``arm64``, ``amd64``).

    Raises :class:`UnknownFactError` for anything else, 32-bit ``armv7l`` and ``i686`` included.
    """
    try:
        return _UNAME[machine]
    except KeyError:
        raise UnknownFactError("64-bit machine name", machine, hint=f"Known are {', '.join(sorted(_UNAME))}.") from None


def to_ami(architecture: Architecture) -> str:
    """Spell an architecture as AMIs and Amazon's SSM parameters do: ``x86_64`` or ``arm64``."""
    return _AMI[architecture]
