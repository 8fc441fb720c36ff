"""What pods can use of an instance: its capacity, less what the kubelet reserves for the system and for evictions.

Sources: amazon-eks-ami, nodeadm's and ``bootstrap.sh``'s kube-reserved and eviction settings; karpenter-provider-aws
1.14, ``pkg/providers/instancetype/types.go``, which computes the same for instances that it has not seen yet.
"""

from __future__ import annotations

from multiarch.facts.instance_types import Accelerator, InstanceType, compute_max_pods
from multiarch.frozen import dataclass

MIB = 2**20
GIB = 2**30
UNUSABLE_MEMORY_PER_MILLE = 75
"""Memory that EC2 names and Linux does not see; the part is Karpenter's default (``vmMemoryOverheadPercent``)."""
ARM64_CMA_MIB = 64
"""Memory that arm64 kernels set apart."""
EVICTION_MIB = 100
"""``memory.available<100Mi``, EKS's hard eviction threshold."""
EVICTION_DISK_PERCENT = 10
"""``nodefs.available<10%``, EKS's hard eviction threshold."""
_RESERVED_MIB_PER_POD, _RESERVED_MIB = 11, 255
_RESERVED_DISK_GIB = 1
# Millicores from, millicores to, reserved part of those in units of 1/10,000.
_CPU_STEPS = ((0, 1000, 600), (1000, 2000, 100), (2000, 4000, 50), (4000, 2**31, 25))
EFA = "vpc.amazonaws.com/efa"
_DEVICES = {Accelerator.NVIDIA: "nvidia.com/gpu", Accelerator.NEURON: "aws.amazon.com/neuron"}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A hard eviction threshold: an ``amount`` in bytes, or ``per_mille`` of what there is."""

    amount: int = 0
    per_mille: int = 0

    def apply(self, capacity: int) -> int:
        """Return the bytes that stay free of ``capacity`` bytes."""
        return self.amount + capacity * self.per_mille // 1000


@dataclass(frozen=True, slots=True)
class Reservations:
    """What settings of the kubelet keep from pods, by resource name: millicores, bytes.

    ``kube`` stands in place of EKS's formulas, resource by resource; ``system`` comes on top of either.
    """

    kube: tuple[tuple[str, int], ...] = ()
    system: tuple[tuple[str, int], ...] = ()
    memory: Threshold = Threshold(EVICTION_MIB * MIB)
    disk: Threshold = Threshold(per_mille=EVICTION_DISK_PERCENT * 10)


DEFAULT_RESERVATIONS = Reservations()


def compute_reserved_cpu(vcpus: int) -> int:
    """Return the kubelet's millicores: 6 % of the first core, 1 % of the second, 0.5 % of two more, then 0.25 %."""
    millicores = vcpus * 1000
    parts = sum((min(millicores, end) - start) * part for start, end, part in _CPU_STEPS if millicores > start)
    return parts // 10_000


def compute_reserved_memory(pods: int) -> int:
    """Return bytes kept for the kubelet on a node that takes ``pods`` pods: 255 MiB and 11 MiB for each."""
    return (_RESERVED_MIB_PER_POD * pods + _RESERVED_MIB) * MIB


def compute_usable_memory(instance: InstanceType) -> int:
    """Return bytes that a node of this type reports as its capacity, estimated as Karpenter does, on the low side."""
    mib = instance.memory_mib - (ARM64_CMA_MIB if instance.architecture == "arm64" else 0)
    return (mib + -mib * UNUSABLE_MEMORY_PER_MILLE // 1000) * MIB


def compute_disk(instance: InstanceType, disk_gib: int, *, instance_store: bool) -> int:
    """Return the bytes for images and pods: the volume's, or with ``instance_store`` those of local disks, if any."""
    return instance.nvme_gb * 10**9 if instance_store and instance.nvme_gb else disk_gib * GIB


def get_allocatable(
    instance: InstanceType,
    *,
    pods: int,
    disk_gib: int,
    instance_store: bool = False,
    reserve_for: int | None = None,
    reservations: Reservations = DEFAULT_RESERVATIONS,
    efa: bool = False,
) -> dict[str, int]:
    """Return what an empty node gives to pods, by Kubernetes' resource names: millicores, bytes, numbers.

    ``pods`` is the kubelet's max pods, ``disk_gib`` the volume for images and pods; with ``instance_store`` these are
    on the local disks of an instance that has some. Memory is reserved for
    ``reserve_for`` pods, by default as many as the instance's interfaces have addresses for: as the Amazon Linux
    images do, for any max pods. ``efa``: it has all the EFA interfaces that its type may have.
    """
    reserve = compute_max_pods(instance) if reserve_for is None else reserve_for
    memory = compute_usable_memory(instance)
    disk = compute_disk(instance, disk_gib, instance_store=instance_store)
    kept = {
        "cpu": compute_reserved_cpu(instance.vcpus),
        "memory": compute_reserved_memory(reserve),
        "ephemeral-storage": _RESERVED_DISK_GIB * GIB,
    } | dict(reservations.kube)
    system = dict(reservations.system)
    given = {
        "cpu": instance.vcpus * 1000 - kept["cpu"] - system.get("cpu", 0),
        "memory": memory - kept["memory"] - system.get("memory", 0) - reservations.memory.apply(memory),
        "ephemeral-storage": (
            disk - kept["ephemeral-storage"] - system.get("ephemeral-storage", 0) - reservations.disk.apply(disk)
        ),
        "pods": pods,
    }
    if instance.accelerator in _DEVICES:
        given[_DEVICES[instance.accelerator]] = instance.accelerator_count
    if efa and instance.efa_cards:
        given[EFA] = len(instance.efa_cards)
    return given
