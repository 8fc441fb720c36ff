"""Rebuild the instance-type table from EC2's DescribeInstanceTypes, and add new regions from its DescribeRegions.

The caller passes the client. A region offers only part of all types, so by
default rows that the region does not have are kept, and reported. Regions are only added: an account sees those of its
own partition.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from multiarch.errors import MultiarchError, OutsideError
from multiarch.facts.architectures import parse_ec2_architecture
from multiarch.facts.instance_types import COLUMNS, NO_CARDS, Accelerator, InstanceType, read_csv
from multiarch.facts.partitions import REGIONS_FILE, find_partition, read_regions
from multiarch.files import reject_device, write_atomically

Client = Any
"""boto3's client of EC2, which has no types."""


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh changed: type names and names of new ``regions``, sorted.

    Types of the old table that the region does not offer are ``kept`` when they were merged, ``removed`` when not.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    kept: tuple[str, ...]
    regions: tuple[str, ...] = ()


# EC2 answers without NeuronInfo for these (seen for trn2u.48xlarge, the Trn2 UltraServer's host: 16 Trainium2).
_SILENT: Mapping[str, tuple[Accelerator, int]] = MappingProxyType({"trn2u.48xlarge": (Accelerator.NEURON, 16)})
# Families of EC2's "accelerated computing" section. One of them without any accelerator in the answer
# is a gap in the answer, not a plain type.
_ACCELERATED = ("dl", "f1", "f2", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "gr", "inf", "p", "trn", "vt")


def fetch_instance_types(client: Client) -> list[InstanceType]:
    """List every type that EC2 offers in the region, all pages, sorted by name.

    Raises :class:`UnknownFactError` for an unknown architecture, :class:`OutsideError` for an answer that is
    incomplete; botocore's own errors pass through.
    """
    pages = client.get_paginator("describe_instance_types").paginate()
    rows = [read_instance_type(description) for page in pages for description in page["InstanceTypes"]]
    if not rows:
        raise OutsideError("EC2 answered DescribeInstanceTypes without a single type.", hint="Check the region.")
    return sorted(rows, key=lambda row: row.name)


def read_instance_type(description: Mapping[str, Any]) -> InstanceType:
    """Turn one element of DescribeInstanceTypes' ``InstanceTypes`` into a row.

    Raises :class:`OutsideError` when a field that the row needs is missing.
    """
    name = str(description["InstanceType"]) if "InstanceType" in description else "a type without a name"
    try:
        supported = list(description["ProcessorInfo"]["SupportedArchitectures"])
        network = description["NetworkInfo"]
        accelerator, count = _accelerator(name, description)
        bare_metal = bool(description["BareMetal"])
        return InstanceType(
            name=name,
            architecture=parse_ec2_architecture(supported),
            vcpus=int(description["VCpuInfo"]["DefaultVCpus"]),
            memory_mib=int(description["MemoryInfo"]["SizeInMiB"]),
            accelerator=accelerator,
            accelerator_count=count,
            enis=_default_card_interfaces(network),
            ipv4_per_eni=int(network["Ipv4AddressesPerInterface"]),
            # Bare metal has no hypervisor to name; all of it runs on Nitro cards, and the VPC CNI treats it as Nitro.
            nitro=bare_metal or description.get("Hypervisor") == "nitro",
            bare_metal=bare_metal,
            spot="spot" in description["SupportedUsageClasses"],
            eks=not any(word.endswith("_mac") for word in supported),
            nvme_gb=_local_nvme(description),
            efa_cards=_efa_cards(network),
        )
    except (KeyError, StopIteration) as missing:
        raise OutsideError(f"EC2's description of {name} lacks {missing}.") from missing


def _default_card_interfaces(network: Mapping[str, Any]) -> int:
    """Return the interfaces of the default network card: the VPC CNI gives pods addresses on that card alone."""
    default = int(network["DefaultNetworkCardIndex"])
    for card in network["NetworkCards"]:
        if card["NetworkCardIndex"] == default:
            return int(card["MaximumNetworkInterfaces"])
    raise KeyError(f"NetworkCards[{default}]")


def _efa_cards(network: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the first cards that take an EFA interface, as many as the type may have: i7ie.48xlarge has one of two."""
    most = int(network["EfaInfo"]["MaximumEfaInterfaces"]) if network["EfaSupported"] else 0
    if not most:
        return ()
    takes = sorted(int(each["NetworkCardIndex"]) for each in network["NetworkCards"] if "efa" in each["InterfaceTypes"])
    return tuple(takes[:most])


def _local_nvme(description: Mapping[str, Any]) -> int:
    storage = description.get("InstanceStorageInfo", {})
    return 0 if storage.get("NvmeSupport", "unsupported") == "unsupported" else int(storage["TotalSizeInGB"])


def _accelerator(name: str, description: Mapping[str, Any]) -> tuple[Accelerator, int]:
    """Find the accelerator in any of EC2's fields; never take an accelerated family for a plain one."""
    found = list(_devices(description))
    if not found:
        if name in _SILENT:
            return _SILENT[name]
        if name.startswith(_ACCELERATED):
            raise OutsideError(
                f"EC2 describes {name} without an accelerator, though its family has one.",
                hint="Find out what it has, and add it beside trn2u.48xlarge in multiarch/facts/refresh.py.",
            )
        return Accelerator.NONE, 0
    kinds = {kind for kind, _ in found}
    if len(kinds) > 1:
        raise OutsideError(f"EC2 describes {name} with several kinds of accelerators: {', '.join(sorted(kinds))}.")
    return kinds.pop(), sum(count for _, count in found)


def _devices(description: Mapping[str, Any]) -> Iterator[tuple[Accelerator, int]]:
    """Yield kind and count of each device; inf1 and inf2 appear under two headings and count once."""
    for gpu in description.get("GpuInfo", {}).get("Gpus", ()):
        kind = Accelerator.NVIDIA if gpu["Manufacturer"].upper() == "NVIDIA" else Accelerator.OTHER
        # A fraction of a GPU (g6f) has Count 0 and LogicalGpuCount 1; the node sees one device.
        yield kind, int(gpu["Count"]) or int(gpu.get("LogicalGpuCount", 0)) or 1
    neuron = description.get("NeuronInfo", {}).get("NeuronDevices", ())
    for device in neuron:
        yield Accelerator.NEURON, int(device["Count"])
    for device in description.get("InferenceAcceleratorInfo", {}).get("Accelerators", ()):
        if device["Manufacturer"].upper() != "AWS":
            yield Accelerator.OTHER, int(device["Count"])
        elif not neuron:
            yield Accelerator.NEURON, int(device["Count"])
    for heading, items in (("FpgaInfo", "Fpgas"), ("MediaAcceleratorInfo", "Accelerators")):
        for device in description.get(heading, {}).get(items, ()):
            yield Accelerator.OTHER, int(device["Count"])


def write_csv(rows: Iterable[InstanceType], path: Path) -> None:
    """Write the table, sorted by name, so that a reader sees either the old file or the new one.

    The same rows give the same bytes. Raises MultiarchError when the folder cannot be written.
    """
    cells = ([_cell(value) for value in astuple(row)] for row in sorted(rows, key=lambda row: row.name))
    _write([list(COLUMNS), *cells], path)


def _write(rows: Iterable[list[str]], path: Path) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, text.getvalue())


def _read(path: Path) -> dict[str, InstanceType]:
    try:
        reject_device(path)
        return dict(read_csv(path))
    except OSError as error:
        raise MultiarchError(f"{path} can't be read: {error.strerror or error}.") from error
    except (ValueError, csv.Error) as error:
        raise MultiarchError(f"{path} is not a table of instance types: {error}.") from error


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or NO_CARDS
    return "" if value is None else str(int(value) if isinstance(value, bool) else value)


def update_file(client: Client, path: Path, *, merge: bool = True) -> RefreshReport:
    """Rebuild the table at ``path`` from the client's region, with ``regions.csv`` beside it, and say what changed.

    With ``merge`` (the default) types that the region does not offer stay; without it they go.
    ``path`` may not exist yet. Raises as :func:`fetch_instance_types` and :func:`write_csv`; the old files then stay as
    they were.
    """
    old = _read(path) if path.exists() else {}
    new = {row.name: row for row in fetch_instance_types(client)}
    regions = add_regions(client, path.with_name(REGIONS_FILE.name))
    missing = sorted(old.keys() - new.keys())
    table = {**old, **new} if merge else new
    write_csv(table.values(), path)
    return RefreshReport(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=() if merge else tuple(missing),
        changed=tuple(sorted(name for name in old.keys() & new.keys() if old[name] != new[name])),
        kept=tuple(missing) if merge else (),
        regions=regions,
    )


def add_regions(client: Client, path: Path) -> tuple[str, ...]:
    """Add the regions that EC2 names to the file at ``path``, which may not exist yet; return those, sorted.

    A region of a geography that no partition here has is omitted.
    """
    old = read_regions(path) if path.exists() else ()
    named = {str(region["RegionName"]) for region in client.describe_regions(AllRegions=True)["Regions"]}
    named = {name for name in named if find_partition(name)}
    new = tuple(sorted(named.difference(old)))
    if new:
        _write([["region"], *([name] for name in sorted({*old, *new}))], path)
    return new
