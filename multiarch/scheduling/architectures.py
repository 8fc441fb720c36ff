"""Which architectures a pod's own rules allow, and what excludes the others.

What counts are rules on labels that follow from the architecture, and rules that no node ever meets. A kubelet sets the
architecture's labels to the same value (https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-arch).
Instance types, their families and processor makers are of one architecture each, and so are some categories with their
generation; EKS has Windows nodes for amd64 only
(https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import attrgetter
from types import MappingProxyType

from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType, list_instance_types
from multiarch.facts.labels import (
    CPU_MANUFACTURERS,
    INSTANCE_CATEGORIES,
    INSTANCE_FAMILIES,
    INSTANCE_GENERATIONS,
    INSTANCE_TYPE,
    OPERATING_SYSTEM,
    REPLACED_BY,
    WINDOWS_BUILD,
)
from multiarch.manifests.selectors import ARCHITECTURE_LABELS, Expression, Operator
from multiarch.manifests.values import ObjectReference, Value
from multiarch.scheduling.affinity import NodeAffinity, describe_required, read_node_affinity

__all__ = ["Exclusion", "list_allowed_architectures", "list_exclusions"]

_Rule = tuple[Expression, str]
"""A rule on the labels of nodes, and how it is named."""
_LINUX = "linux"
_SYSTEMS: Mapping[Architecture, tuple[str, ...]] = MappingProxyType(
    {Architecture.AMD64: (_LINUX, "windows"), Architecture.ARM64: (_LINUX,)}
)
_MANUFACTURERS: Mapping[str, Collection[Architecture]] = MappingProxyType(
    {"amd": (Architecture.AMD64,), "aws": (Architecture.ARM64,), "intel": (Architecture.AMD64,)}
)
_SYSTEM_LABELS = (OPERATING_SYSTEM, *(old for old, new in REPLACED_BY.items() if new == OPERATING_SYSTEM))
_TYPE_LABELS = (INSTANCE_TYPE, *(old for old, new in REPLACED_BY.items() if new == INSTANCE_TYPE))
_OF_THE_TYPE: Mapping[str, Callable[[InstanceType], str]] = MappingProxyType(
    {
        **dict.fromkeys(_TYPE_LABELS, attrgetter("name")),
        **dict.fromkeys(INSTANCE_FAMILIES, attrgetter("family")),
        **dict.fromkeys(INSTANCE_CATEGORIES, attrgetter("category")),
        **dict.fromkeys(INSTANCE_GENERATIONS, attrgetter("generation")),
    }
)
"""Labels whose values an instance type decides, each with its value; an empty one is not set."""


@dataclass(frozen=True, slots=True, order=True)
class Exclusion:
    """An architecture that a pod can't be on. ``reason`` is a clause without a full stop."""

    architecture: Architecture
    reason: str


def wrap_pod_spec(pod_spec: Mapping[str, object] | Value) -> Value:
    """Take a pod's ``spec`` that stands alone as a value whose errors say ``spec.…``."""
    return pod_spec if isinstance(pod_spec, Value) else Value(pod_spec, ObjectReference(1), None, "spec")


def list_allowed_architectures(pod_spec: Mapping[str, object] | Value) -> frozenset[Architecture]:
    """Say which architectures ``nodeSelector``, required node affinity and ``os`` of a pod's ``spec`` leave open.

    Labels that do not follow from the architecture are taken to be met by some node. Raises ManifestError for what the
    API server rejects.
    """
    return frozenset(Architecture) - {each.architecture for each in list_exclusions(pod_spec)}


def list_exclusions(pod_spec: Mapping[str, object] | Value) -> tuple[Exclusion, ...]:
    """List the architectures that are not open, sorted, each with what excludes it.

    Such as ``architecture amd64 required by affinity term 2`` or ``nodeSelector requires kubernetes.io/arch=amd64``.
    Raises ManifestError for what the API server rejects.
    """
    value = wrap_pod_spec(pod_spec)
    affinity = read_node_affinity(value)
    found = ((each, explain_exclusion(value, affinity, each)) for each in sorted(Architecture))
    return tuple(Exclusion(architecture, reason) for architecture, reason in found if reason is not None)


def explain_exclusion(pod_spec: Value, affinity: NodeAffinity, architecture: Architecture) -> str | None:
    """Say what keeps a pod off every node of ``architecture``, or ``None``; ``affinity`` is that of ``pod_spec``.

    Raises ManifestError for an operating system that is not a string.
    """
    system = pod_spec["os"]["name"].text()
    if system and system not in _SYSTEMS[architecture]:
        return f"os.name requires {system}{_only(each for each in Architecture if system in _SYSTEMS[each])}"
    selector = [
        (Expression(key, Operator.IN, (value,)), f"nodeSelector requires {key}={value}")
        for key, value in affinity.selector
    ]
    if why := _why_unmet(selector, architecture):
        return why
    if affinity.required is None:
        return None
    if not affinity.required:
        return affinity.unmet_terms({})
    unmet = [
        f"affinity term {number} is empty, which matches no node"
        if term.empty
        else _why_unmet([(each, describe_required(each, number)) for each in term.expressions], architecture, selector)
        for number, term in enumerate(affinity.required, start=1)
    ]
    reasons = [each for each in unmet if each is not None]
    return ", and ".join(reasons) if len(reasons) == len(unmet) else None


def _why_unmet(rules: Sequence[_Rule], architecture: Architecture, beside: Sequence[_Rule] = ()) -> str | None:
    """Return what no node of the architecture meets, ``None`` if some may meet all rules.

    First each rule by itself; then those on the instance type together, with those ``beside`` them that the same node
    has to meet: no type of the architecture may meet them, but one of the other.
    """
    for each, text in sorted(rules, key=lambda rule: not rule[0].invalid):
        why = _unmet(each, architecture)
        if why is not None:
            return f"{text}{why}"
    of_type = [rule for rule in (*beside, *rules) if rule[0].key in _OF_THE_TYPE]
    met_by = _meeting(tuple(each for each, _ in of_type)) if len(of_type) > 1 else ()
    if met_by and architecture not in met_by:
        return f"{' and '.join(text for _, text in of_type)}{_only(met_by)}"
    return None


def _unmet(expression: Expression, architecture: Architecture) -> str | None:
    """What to add about a requirement that no node of the architecture meets; ``None`` if some node may meet it."""
    key = expression.key
    if expression.invalid:
        return ""
    if key in ARCHITECTURE_LABELS:
        return None if expression.matches({key: str(architecture)}) else ""
    if key == WINDOWS_BUILD:
        met_by: Collection[Architecture] = tuple(Architecture) if expression.matches({}) else (Architecture.AMD64,)
    elif key in _SYSTEM_LABELS:
        met_by = [each for each in Architecture if any(expression.matches({key: name}) for name in _SYSTEMS[each])]
    elif key in CPU_MANUFACTURERS and expression.operator is Operator.IN:
        met_by = sorted({each for value in expression.values for each in _MANUFACTURERS.get(value, Architecture)})
    elif key in _OF_THE_TYPE:
        met_by = _meeting((expression,)) or tuple(Architecture)
    else:
        return None
    return None if architecture in met_by else _only(met_by)


def _only(architectures: Iterable[Architecture]) -> str:
    """Return `` (amd64 only)``."""
    names = ", ".join(architectures)
    return f" ({names} only)" if names else ""


@lru_cache(maxsize=1024)
def _meeting(rules: tuple[Expression, ...]) -> tuple[Architecture, ...]:
    """Return the architectures of the instance types that meet all rules, sorted; none where the table does not tell.

    It tells only where a rule names values that are all in it: a name that is not there may be of either architecture,
    and what excludes values leaves types open that are not there.
    """
    if not any(each.operator is Operator.IN for each in rules):
        return ()
    if not all(
        each.key in _OF_THE_TYPE and (each.operator is not Operator.IN or _values_of(each.key).issuperset(each.values))
        for each in rules
    ):
        return ()
    found: set[Architecture] = set()
    for kind in list_instance_types().values():
        if kind.architecture not in found and all(
            each.matches({each.key: value} if (value := _OF_THE_TYPE[each.key](kind)) else {}) for each in rules
        ):
            found.add(kind.architecture)
    return tuple(sorted(found))


@cache
def _values_of(key: str) -> frozenset[str]:
    """Return the values of a label of the instance type that are in the table."""
    return frozenset(map(_OF_THE_TYPE[key], list_instance_types().values()))
