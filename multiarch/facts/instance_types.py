"""Every EC2 instance type: architecture, size, accelerator and the network limits that give max pods.

The table is ``data/instance_types.csv``, one row per type, written by
:mod:`multiarch.facts.refresh` from EC2's DescribeInstanceTypes. Category and
generation come from a type's name, as Karpenter has them, and nothing else: regular expressions over names miss
families (``i4g``, ``x8g``, ``a1``), and then take arm64 for amd64.
An unknown type is an error.

Types that EC2 offers only in some regions, or to few accounts, were added from the VPC CNI's ``eni-max-pods.txt``
(1.23.2) and EC2's guide "Accelerated computing". Of ``p6e-gb200.36xlarge`` the guide has 39 interfaces on 17 network
cards; how many the first card has is not published, so it counts with two, nor which cards take EFA. Sizes of local
disks were added from Karpenter's reference of instance types (1.14, ``karpenter.k8s.aws/instance-local-nvme``).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType

from multiarch.errors import UnknownFactError, look_up
from multiarch.facts.architectures import Architecture
from multiarch.frozen import dataclass

# A type missing from the table may exist: newer, or not offered in the queried region.
_REFRESH = "If it is new, run `multiarch facts refresh`."
DATA_FILE = Path(__file__).parent / "data" / "instance_types.csv"

NO_CARDS = "none"
"""The cell of a type without EFA."""
IPS_PER_PREFIX = 16
"""Addresses in the /28 prefix that the VPC CNI takes per slot when prefix delegation is on."""
POD_CEILING_SMALL = 110
POD_CEILING_LARGE = 250
_NAME = re.compile(r"^([a-z]+)(?:-[0-9]+tb)?([0-9]+).*\.")
"""Letters, for the old high-memory types also their memory, then the generation: m of m7g, u of u-12tb1, inf of inf2.

Source: karpenter-provider-aws, ``pkg/providers/instancetype/types.go``.
"""
LARGE_VCPUS = 30
"""Above this many vCPUs the larger ceiling applies."""


class Accelerator(StrEnum):
    """What the AMI must bring drivers for. ``other`` has no EKS-optimized AMI: AMD, Habana, Qualcomm, FPGAs."""

    NONE = "none"
    NVIDIA = "nvidia"
    NEURON = "neuron"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One EC2 instance type.

    ``memory_mib`` is in MiB; ``accelerator_count`` counts devices that the node sees (a fraction of a
    GPU, as in ``g6f``, counts as one); ``enis`` is the limit of the default network card, the only one
    the VPC CNI uses for pods; ``ipv4_per_eni`` includes the interface's own address; ``nitro`` holds for
    bare metal too; ``spot`` says whether EC2 sells the type as spot; ``eks`` is false where no EKS node can run;
    ``nvme_gb`` is the size of all local NVMe disks in GB (10⁹ bytes), 0 without any, None where it is not known.
    ``efa_cards`` are the indexes of the network cards for EFA interfaces, one each; empty without EFA, None where they
    are not known.
    """

    name: str
    architecture: Architecture
    vcpus: int
    memory_mib: int
    accelerator: Accelerator
    accelerator_count: int
    enis: int
    ipv4_per_eni: int
    nitro: bool
    bare_metal: bool
    spot: bool
    eks: bool
    nvme_gb: int | None
    efa_cards: tuple[int, ...] | None

    def __hash__(self) -> int:
        """Hash the name alone: tables hold a thousand types, and each has its own."""
        return hash(self.name)

    @property
    def family(self) -> str:
        """The part before the dot: ``m7g`` of ``m7g.large``, ``p6-b200`` of ``p6-b200.48xlarge``."""
        return self.name.partition(".")[0]

    @property
    def size(self) -> str:
        """The part after the dot: ``large`` of ``m7g.large``."""
        return self.name.partition(".")[2]

    @property
    def category(self) -> str:
        """What Karpenter calls its category: ``m`` of ``m7g.large``; empty for names such as ``mac-m4.metal``."""
        return _category_and_generation(self.name)[0]

    @property
    def generation(self) -> str:
        """What Karpenter calls its generation: ``7`` of ``m7g.large``; empty for names such as ``mac-m4.metal``."""
        return _category_and_generation(self.name)[1]


@cache  # a plan of several NodePools needs those of a thousand types again and again
def _category_and_generation(name: str) -> tuple[str, str]:
    found = _NAME.match(name)
    return (found[1], found[2]) if found else ("", "")


COLUMNS = tuple(field.name for field in fields(InstanceType))
"""The CSV's header; yes/no columns hold 1 or 0, an empty cell is not known, and indexes have spaces between them."""


def read_csv(path: Path) -> Mapping[str, InstanceType]:
    """Read a table written by :func:`multiarch.facts.refresh.write_csv`, in the file's order (sorted by name).

    Raises :class:`UnknownFactError` when the header is not :data:`COLUMNS`, ``ValueError`` when a cell does not parse,
    ``OSError`` when the file cannot be read.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        if tuple(header) != COLUMNS:
            raise UnknownFactError(
                "instance-type table header", ",".join(header), hint=f"{path.name} must start with {','.join(COLUMNS)}."
            )
        return {row[0]: _from_row(row) for row in rows}


# Cells repeat: so the table is read in half the time, at the start of most commands.
_read_number, _read_architecture, _read_accelerator = cache(int), cache(Architecture), cache(Accelerator)


def _from_row(row: list[str]) -> InstanceType:
    name, architecture, vcpus, memory, accelerator, count, enis, addresses, nitro, metal, spot, eks, nvme, efa = row
    return InstanceType(
        name,
        _read_architecture(architecture),
        _read_number(vcpus),
        _read_number(memory),
        _read_accelerator(accelerator),
        _read_number(count),
        _read_number(enis),
        _read_number(addresses),
        nitro == "1",
        metal == "1",
        spot == "1",
        eks == "1",
        _read_number(nvme) if nvme else None,
        _read_cards(efa),
    )


@cache  # a thousand rows have ten different cells
def _read_cards(cell: str) -> tuple[int, ...] | None:
    return tuple(map(int, cell.replace(NO_CARDS, "").split())) if cell else None


@cache
def list_instance_types() -> Mapping[str, InstanceType]:
    """Return all known types by name, sorted by name. Read once per process, on first use."""
    return MappingProxyType(dict(read_csv(DATA_FILE)))


def get_instance_type(name: str) -> InstanceType:
    """Look one type up.

    Raises :class:`UnknownFactError`; its hint names the nearest types, of the same family if that is known, and how to
    add what is new.
    """
    table, family = list_instance_types(), name.strip().lower().partition(".")[0]
    sizes = [each for each in table if each.startswith(f"{family}.")] if name not in table else ()
    return look_up("EC2 instance type", name, table, near=sizes, hint=_REFRESH)


def explain_no_eks_support(instance: InstanceType) -> str | None:
    """Return why EKS nodes can't run on this type, or ``None``."""
    if instance.eks:
        return None
    return f"{instance.name} is a mac host: only macOS boots on it, and the EKS node images are Linux or Windows"


def get_pod_ceiling(instance: InstanceType) -> int:
    """Return the most pods AWS recommends on a node: 110 up to 30 vCPUs, 250 above.

    Source: amazon-eks-ami, ``max-pods-calculator.sh``.
    """
    return POD_CEILING_LARGE if instance.vcpus > LARGE_VCPUS else POD_CEILING_SMALL


def compute_max_pods(
    instance: InstanceType, *, prefix_delegation: bool = False, custom_networking: bool = False
) -> int:
    """Return how many pods the VPC CNI can give an address on one node, host-network pods (2) included.

    Without prefix delegation ``enis * (ipv4_per_eni - 1) + 2``, as in amazon-eks-ami's ``eni-max-pods.txt``:
    an interface's own address goes to no pod. With it every slot holds a /28,
    ``enis * (ipv4_per_eni - 1) * 16 + 2``, capped at :func:`get_pod_ceiling`. Instances without Nitro cannot
    hold prefixes; there the CNI keeps to single addresses, and so does the number. With custom networking the primary
    interface, which is in the node's subnet, gives pods no addresses.
    Source: amazon-eks-ami, ``max-pods-calculator.sh``.
    """
    slots = (instance.enis - custom_networking) * (instance.ipv4_per_eni - 1)
    if not prefix_delegation:
        return slots + 2
    per_slot = IPS_PER_PREFIX if instance.nitro else 1
    return min(slots * per_slot + 2, get_pod_ceiling(instance))


def recommend_max_pods(
    instance: InstanceType, *, prefix_delegation: bool = False, custom_networking: bool = False
) -> int:
    """Return :func:`compute_max_pods`, but never more than :func:`get_pod_ceiling`.

    EKS sets this number on the nodes of a managed group without a custom AMI, and of several instance types the
    smallest. Source: EKS user guide, "Create a managed node group".
    """
    pods = compute_max_pods(instance, prefix_delegation=prefix_delegation, custom_networking=custom_networking)
    return min(pods, get_pod_ceiling(instance))
