"""Settings of the kubelet and of containerd on nodes."""

from typing import Annotated, Literal

from pydantic import Field

from multiarch.schema.base import Section, take_form

Percent = Annotated[int, Field(ge=0, le=100)]
Signal = Literal[
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
]
Reserved = Literal["cpu", "memory", "ephemeral-storage"]
# The kubelet does not start with a fraction, and rotates logs all the time with 0 (``container_log_manager.go``).
_LOG_SIZE = take_form("^[1-9][0-9]{0,8}([KMG]i?|k)?$", "a size of files in whole units, such as 20Mi", "20Mi")
_HOST = (
    r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*(?::[0-9]{1,4}|:[1-5][0-9]{4})?"
)
_Registry = Annotated[str, take_form(f"^{_HOST}$", "the host of a registry, such as docker.io")]
_Mirror = Annotated[
    str, take_form(f"^https://{_HOST}$", "an https URL without a path, such as https://mirror.example.com")
]
RegistryMirrors = Annotated[
    dict[_Registry, Annotated[list[_Mirror], Field(min_length=1)]],
    Field(examples=[{"docker.io": ["https://mirror.example.com"]}]),
]
InstanceStorePolicy = Literal["RAID0"]
PlacementGroup = Annotated[
    str, take_form("^[!-~]([ -~]{0,253}[!-~])?$", "at most 255 characters of ASCII, without spaces at either end")
]


class Kubelet(Section):
    """Settings of the kubelet (AL2023, Bottlerocket, Karpenter), each written as the AMI family takes it."""

    eviction_hard: Annotated[dict[Signal, str], Field(examples=[{"memory.available": "200Mi"}])] = {}
    """Pods are evicted at once below these thresholds: quantities, or per cent. Signals that are omitted keep the
    values of EKS: memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%.
    """
    eviction_soft: dict[Signal, str] = {}
    """Pods are evicted below these thresholds after ``evictionSoftGracePeriod``."""
    eviction_soft_grace_period: Annotated[dict[Signal, str], Field(examples=[{"memory.available": "2m"}])] = {}
    """How long each soft threshold may be crossed, such as 2m."""
    kube_reserved: Annotated[dict[Reserved, str], Field(examples=[{"memory": "1Gi"}])] = {}
    """What is kept for kubelet and containerd. Default: EKS's formulas, by vCPUs and max pods."""
    system_reserved: Annotated[dict[Reserved, str], Field(examples=[{"cpu": "100m"}])] = {}
    """What is kept for the operating system's services. Default: nothing."""
    image_gc_high_threshold_percent: Annotated[Percent | None, Field(alias="imageGCHighThresholdPercent")] = None
    """Images are removed once the disk is this full. Default: Kubernetes' 85."""
    image_gc_low_threshold_percent: Annotated[Percent | None, Field(alias="imageGCLowThresholdPercent")] = None
    """Images are removed until the disk is only this full. Default: Kubernetes' 80."""
    container_log_max_size: Annotated[str, _LOG_SIZE] | None = None
    """The size at which a container's log is rotated. Default: Kubernetes' 10Mi."""
    container_log_max_files: Annotated[int, Field(ge=2, le=100)] | None = None
    """How many files of a container's log are kept. Default: Kubernetes' 5."""
