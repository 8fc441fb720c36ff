"""Which instance types satisfy a NodePool's requirements.

Karpenter gives each type labels and compares them with the requirements; so does this, for the labels that our pools
use. Categories and generations come from a type's name, by Karpenter's rule; architectures never do.
Source: karpenter-provider-aws, ``pkg/providers/instancetype/types.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from types import MappingProxyType

from multiarch.autoscaling.model import Requirement
from multiarch.facts.instance_types import Accelerator, InstanceType, list_instance_types
from multiarch.facts.labels import (
    ARCHITECTURE,
    INSTANCE_TYPE,
    KARPENTER_CAPACITY_TYPE,
    KARPENTER_GPU_MANUFACTURER,
    OPERATING_SYSTEM,
    ZONE,
)

_AWS = "karpenter.k8s.aws/"
_AUTO_MODE = "eks.amazonaws.com/"
CATEGORY = f"{_AWS}instance-category"
FAMILY = f"{_AWS}instance-family"
GENERATION = f"{_AWS}instance-generation"
SIZE = f"{_AWS}instance-size"
HYPERVISOR = f"{_AWS}instance-hypervisor"
VIRTUAL = ("nitro", "xen")
"""Hypervisors of virtual machines; bare metal has none."""


def get_label(key: str, *, auto_mode: bool) -> str:
    """Return EKS Auto Mode's name of Karpenter's label for a property of an instance type, other labels unchanged.

    Source: EKS user guide, "EKS Auto Mode Supported Labels".
    """
    return f"{_AUTO_MODE}{key.removeprefix(_AWS)}" if auto_mode and key.startswith(_AWS) else key


def _to_karpenter(key: str) -> str:
    return f"{_AWS}{key.removeprefix(_AUTO_MODE)}" if key.startswith(_AUTO_MODE) else key


_VALUES: Mapping[str, Callable[[InstanceType], tuple[str, ...]]] = MappingProxyType(
    {
        ARCHITECTURE: lambda instance: (str(instance.architecture),),
        OPERATING_SYSTEM: lambda _: ("linux",),
        INSTANCE_TYPE: lambda instance: (instance.name,),
        KARPENTER_CAPACITY_TYPE: lambda instance: ("on-demand", "reserved", *(("spot",) if instance.spot else ())),
        FAMILY: lambda instance: (instance.family,),
        SIZE: lambda instance: (instance.size,),
        HYPERVISOR: lambda instance: ("" if instance.bare_metal else "nitro" if instance.nitro else "xen",),
        CATEGORY: lambda instance: (instance.category,) if instance.category else (),
        GENERATION: lambda instance: (instance.generation,) if instance.generation else (),
        KARPENTER_GPU_MANUFACTURER: lambda each: ("nvidia",) if each.accelerator is Accelerator.NVIDIA else (),
    }
)


def list_absent_labels(instance: InstanceType, *, auto_mode: bool) -> tuple[str, ...]:
    """Return the labels of :func:`list_type_labels` that a type's nodes do not carry; of others it is not known."""
    return tuple(
        get_label(key, auto_mode=auto_mode)
        for key, list_values in _VALUES.items()
        if not any(list_values(instance)) and instance.accelerator is not Accelerator.OTHER
    )


def list_label_values(instance: InstanceType, key: str) -> tuple[str, ...]:
    """Return the values that a type's nodes can have for a label of :func:`list_type_labels`; none for another one.

    EKS Auto Mode's labels have the values of Karpenter's.
    """
    known = _to_karpenter(key)
    return _VALUES[known](instance) if known in _VALUES else ()


@cache
def _group_by_family() -> Mapping[str, list[InstanceType]]:
    found: dict[str, list[InstanceType]] = {}
    for each in list_instance_types().values():
        found.setdefault(each.family, []).append(each)
    return MappingProxyType(found)


@cache  # the pools of a stack have nearly the same requirements
def _index_types(key: str) -> Mapping[str, AbstractSet[str]]:
    """Return the names of all known types by each value of one of Karpenter's labels."""
    found: dict[str, set[str]] = {}
    list_values = _VALUES.get(key)
    if list_values is None:
        return MappingProxyType({})
    if key in {FAMILY, CATEGORY, GENERATION}:  # the same for all types of a family
        for types in _group_by_family().values():
            for value in list_values(types[0]):
                found.setdefault(value, set()).update([each.name for each in types])
        return MappingProxyType(found)
    for each in list_instance_types().values():
        for value in list_values(each):
            found.setdefault(value, set()).add(each.name)
    return MappingProxyType(found)


def list_known_values(key: str) -> AbstractSet[str]:
    """Return the values that the nodes of any known type can have for a label; none for another label."""
    return _index_types(_to_karpenter(key)).keys()


@cache  # a simulation needs those of all types of each NodePool
def list_type_labels(instance: InstanceType) -> Mapping[str, frozenset[str]]:
    """Return the labels of a type's nodes that our pools use, each with its possible values.

    Labels that Karpenter does not set are missing: names such as ``mac-m4.metal`` have no category.
    """
    return MappingProxyType({key: frozenset(found) for key in _VALUES if (found := list_label_values(instance, key))})


def select_types(types: Iterable[InstanceType], requirements: Sequence[Requirement]) -> tuple[InstanceType, ...]:
    """Return the known types that satisfy all requirements and can be EKS nodes, sorted by name.

    Raises ValueError for an operator that no pool of a stack has.
    """
    chosen = [each for each in types if each.eks]
    for requirement in requirements:
        if requirement.key != ZONE:  # any type can be in any zone
            names = _find_names(requirement)
            chosen = [each for each in chosen if each.name in names]
    return tuple(sorted(chosen, key=lambda each: each.name))


def find_excluding_requirement(
    types: Iterable[InstanceType], requirements: Sequence[Requirement]
) -> Requirement | None:
    """Return the requirement that, in their order, leaves no type; None where some are left."""
    known = tuple(types)
    counted = enumerate(requirements, start=1)
    return next((each for count, each in counted if not select_types(known, requirements[:count])), None)


def _find_names(requirement: Requirement) -> AbstractSet[str]:
    """Return the names of the known types that meet a requirement. Raises ValueError as :func:`select_types` does."""
    names = _index_types(_to_karpenter(requirement.key))
    if requirement.operator == "In":
        values: Iterable[str] = requirement.values
    elif requirement.operator == "Gt":
        limit = int(requirement.values[0])
        values = [each for each in names if int(each) > limit]
    else:
        raise ValueError(requirement.operator)
    return frozenset().union(*(names.get(each, ()) for each in values))


def describe_requirement(requirement: Requirement) -> str:
    """Write a requirement as ``instance-generation Gt 5``, without the label's domain."""
    name = requirement.key.rpartition("/")[2]
    return f"{name} {requirement.operator} {', '.join(requirement.values)}".rstrip()
