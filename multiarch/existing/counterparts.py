"""For each amd64 node group an arm64 group: instance types of the same size, by facts, and the same settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from multiarch.facts.ami_families import AmiFamily, choose_ami_type, explain_boot_failure
from multiarch.facts.architectures import Architecture, names_architecture
from multiarch.facts.instance_types import Accelerator, InstanceType, list_instance_types
from multiarch.facts.limits import explain_forbidden_label, explain_forbidden_taint
from multiarch.facts.taints import Taint
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.observed.eks.model import ObservedCluster, ObservedGroup

_LONGEST = 36
"""Characters of a group's name: EKS takes 63, and AWS adds 26 with a hyphen."""
_FAMILY = re.compile(r"[a-z]+[0-9]+([a-z]*)")
_PROCESSORS = frozenset("aig")
"""Letters of a family for AMD, Intel and Graviton; the others are for disks, network or memory."""
_LOCAL_DISK = "d"
_ARCHITECTURES = re.compile(r"(?:^|-)(?:amd64|x86-64|x86|intel|arm64|aarch64|arm|graviton)(?=-|$)")
_MOST_TYPES = 20


@dataclass(frozen=True, slots=True)
class Counterpart:
    """An arm64 group for ``group``, under ``name`` in the stack file. ``types`` are in the order of preference.

    ``ami_type`` is written where the family's own is not meant. ``zones`` are empty for all of the stack's. ``notes``
    are clauses about what the arm64 group does not have of the other one.
    """

    group: ObservedGroup
    name: str
    types: tuple[str, ...]
    kind: NodeGroupKind
    ami_type: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    zones: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoCounterpart:
    """A group, or something else of the cluster, without a counterpart, and why."""

    what: str
    reason: str


def list_candidate_types(groups: Iterable[ObservedGroup]) -> frozenset[str]:
    """Return all arm64 instance types that could stand for one of an amd64 group."""
    amd64 = (each for each in groups if each.architecture is Architecture.AMD64)
    return frozenset(found.name for group in amd64 for name in group.instance_types for found in find_same_size(name))


@cache
def find_same_size(name: str) -> tuple[InstanceType, ...]:
    """Return arm64 instance types with the vCPUs, memory, category and local disks of ``name``.

    First those whose names also say the same of network and memory, the nearest generation first. Empty for an unknown
    type, and for one with an accelerator.
    """
    known = list_instance_types()
    own = known.get(name)
    if own is None or own.accelerator is not Accelerator.NONE or not own.generation:
        return ()
    alike = [
        each
        for each in known.values()
        if each.architecture is Architecture.ARM64
        and (each.vcpus, each.memory_mib, each.category) == (own.vcpus, own.memory_mib, own.category)
        and (each.accelerator, each.bare_metal) == (own.accelerator, own.bare_metal)
        and each.eks
        and (_LOCAL_DISK in _letters(each)) == (_LOCAL_DISK in _letters(own))
    ]
    wanted, letters = int(own.generation), _letters(own)
    return tuple(
        sorted(
            alike,
            key=lambda each: (_letters(each) != letters, abs(int(each.generation) - wanted), each.name),
        )
    )


def _letters(instance: InstanceType) -> frozenset[str]:
    """Return what a family's name says of disks, network and memory: ``d`` and ``n`` of ``m5dn``."""
    found = _FAMILY.match(instance.family)
    return frozenset(found[1] if found else "") - _PROCESSORS


def find_counterparts(
    cluster: ObservedCluster, taint: Taint, zones: Sequence[str]
) -> tuple[tuple[Counterpart, ...], tuple[NoCounterpart, ...]]:
    """Return a counterpart for each amd64 group without one, and the groups that get none, with the reason."""
    arm64 = [each for each in cluster.groups if each.architecture is Architecture.ARM64]
    found, skipped = [], []
    names: set[str] = set()
    for group in cluster.groups:
        if group.architecture is Architecture.ARM64:
            continue
        made = _find_counterpart(group, cluster, arm64, taint, zones, names)
        if isinstance(made, Counterpart):
            names.add(made.name)
            found.append(made)
        else:
            skipped.append(NoCounterpart(f"group {group.name}", made))
    return tuple(found), tuple(skipped)


def _find_counterpart(
    group: ObservedGroup,
    cluster: ObservedCluster,
    arm64: Sequence[ObservedGroup],
    taint: Taint,
    zones: Sequence[str],
    names: set[str],
) -> Counterpart | str:
    if reason := _explain_none(group):
        return reason
    if there := next((each.name for each in arm64 if _stands_for(each, group)), None):
        return f"the arm64 group {there} is there already"
    own_zones = tuple(sorted({each.zone for each in cluster.subnets if each.id in group.subnets} & set(zones)))
    family = group.family or AmiFamily.AL2023
    if not own_zones:
        return "none of its zones has a subnet that new nodes can use"
    types = _choose_types(group, family, cluster.offered, own_zones)
    if not types:
        wanted = ", ".join(group.instance_types)
        return f"no arm64 type with the vCPUs, memory and disks of {wanted} is offered in {', '.join(own_zones)}"
    notes = list(group.settings.own)
    labels, taints = dict(group.labels), [each for each in group.taints if not names_architecture(each.value)]
    notes += [f"the taint {each}, which names an architecture" for each in group.taints if each not in taints]
    for key in [key for key in labels if explain_forbidden_label(key) or names_architecture(labels[key])]:
        notes.append(f"the label {key}={labels.pop(key)}, which Kubernetes, EKS or an architecture owns")
    managed = group.kind is NodeGroupKind.MANAGED
    forbidden = any(explain_forbidden_taint(each.key) for each in (taint, *taints))
    return Counterpart(
        group=group,
        name=_name(group.short_name, names),
        types=types,
        kind=NodeGroupKind.SELF_MANAGED if forbidden or not managed else NodeGroupKind.MANAGED,
        ami_type=choose_ami_type(family, Architecture.ARM64, Accelerator.NONE, fips=True).name if group.fips else "",
        labels=labels,
        taints=tuple(taints),
        zones=() if own_zones == tuple(zones) else own_zones,
        notes=tuple(notes),
    )


def _explain_none(group: ObservedGroup) -> str:
    """Return why a group can't have a counterpart at all; empty if it can."""
    known = list_instance_types()
    if group.why_not:
        return group.why_not
    if not group.instance_types or group.architecture is None:
        return "its instance types or their architecture are not known"
    if kinds := {known[name].accelerator for name in group.instance_types if name in known} - {Accelerator.NONE}:
        return f"its instance types have accelerators ({', '.join(sorted(kinds))})"
    if group.family is AmiFamily.WINDOWS:
        return "its nodes run Windows"
    if group.family is None:
        return f"its nodes boot an image of your own, {group.settings.image}; an arm64 build of it goes into ami.id"
    return ""


def _choose_types(
    group: ObservedGroup, family: AmiFamily, offered: Mapping[str, frozenset[str]], zones: Sequence[str]
) -> tuple[str, ...]:
    """Return one arm64 type for each type of an on-demand group; for a spot group all, since any can run out."""
    spot = group.capacity_type is CapacityType.SPOT
    chosen: dict[str, None] = {}
    for name in group.instance_types:
        fitting = [
            each
            for each in find_same_size(name)
            if offered.get(each.name, frozenset()) >= set(zones)
            and not explain_boot_failure(family, each)
            and (each.spot or not spot)
        ]
        # One with a better network costs more, so it comes alone where there is no other.
        alike = [each for each in fitting if _letters(each) == _letters(fitting[0])]
        chosen |= dict.fromkeys(each.name for each in (alike if spot else alike[:1]))
    return tuple(chosen)[:_MOST_TYPES]


def _stands_for(arm64: ObservedGroup, amd64: ObservedGroup) -> bool:
    """Return whether an arm64 group is a counterpart: by its name, or by its size, labels and taints."""
    base = _base(amd64.short_name)
    if base and base == _base(arm64.short_name):
        return True
    sizes = {each.name for name in amd64.instance_types for each in find_same_size(name)}
    own, other = ({each for each in one.taints if not names_architecture(each.value)} for one in (arm64, amd64))
    same = arm64.capacity_type is amd64.capacity_type and _plain(arm64.labels) == _plain(amd64.labels)
    return same and own == other and not sizes.isdisjoint(arm64.instance_types)


def _plain(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if not names_architecture(value)}


def _base(name: str) -> str:
    """Return a name in lower-case letters, digits and hyphens, without words for an architecture."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower())
    return _ARCHITECTURES.sub("", plain).strip("-")


def _name(short_name: str, taken: set[str]) -> str:
    base = _base(short_name) or "nodes"
    for number in range(1, len(taken) + 2):
        end = "-arm64" if number == 1 else f"-arm64-{number}"
        name = f"{base[: _LONGEST - len(end)].rstrip('-')}{end}"
        if name not in taken:
            break
    return name
