"""Which architectures a pod's own rules allow, and what excludes the others.

What counts are rules on labels that follow from the architecture, and rules that no node ever meets. A kubelet sets the
architecture's labels to the same value (https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-arch).
Instance types, their families and processor makers are of one architecture each; EKS has Windows nodes for amd64 only
(https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import instance_types
from multiarch.facts.labels import CPU_MANUFACTURERS, INSTANCE_FAMILIES, INSTANCE_TYPE, OPERATING_SYSTEM, REPLACED_BY
from multiarch.manifests.selectors import ARCHITECTURE_LABELS, Expression, Operator
from multiarch.manifests.values import ObjectReference, Value
from multiarch.scheduling.affinity import NodeAffinity, Term, node_affinity_from, required_by

__all__ = ["Exclusion", "allowed_architectures", "exclusions"]

_LINUX = "linux"
_SYSTEMS: Mapping[Architecture, tuple[str, ...]] = MappingProxyType(
    {Architecture.AMD64: (_LINUX, "windows"), Architecture.ARM64: (_LINUX,)}
)
_MANUFACTURERS: Mapping[str, Collection[Architecture]] = MappingProxyType(
    {"amd": (Architecture.AMD64,), "aws": (Architecture.ARM64,), "intel": (Architecture.AMD64,)}
)
_SYSTEM_LABELS = (OPERATING_SYSTEM, *(old for old, new in REPLACED_BY.items() if new == OPERATING_SYSTEM))
_TYPE_LABELS = (INSTANCE_TYPE, *(old for old, new in REPLACED_BY.items() if new == INSTANCE_TYPE))


@dataclass(frozen=True, slots=True, order=True)
class Exclusion:
    """An architecture that a pod can't be on. ``reason`` is a clause without a full stop."""

    architecture: Architecture
    reason: str


def as_pod_spec(pod_spec: Mapping[str, object] | Value) -> Value:
    """Take a pod's ``spec`` that stands alone as a value whose errors say ``spec.…``."""
    return pod_spec if isinstance(pod_spec, Value) else Value(pod_spec, ObjectReference(1), None, "spec")


def allowed_architectures(pod_spec: Mapping[str, object] | Value) -> frozenset[Architecture]:
    """Say which architectures ``nodeSelector``, required node affinity and ``os`` of a pod's ``spec`` leave open.

    Labels that do not follow from the architecture are taken to be met by some node. Raises ManifestError for what the
    API server refuses.
    """
    return frozenset(Architecture) - {each.architecture for each in exclusions(pod_spec)}


def exclusions(pod_spec: Mapping[str, object] | Value) -> tuple[Exclusion, ...]:
    """List the architectures that are not open, sorted, each with what excludes it.

    Such as ``architecture amd64 required by affinity term 2`` or ``nodeSelector requires kubernetes.io/arch=amd64``.
    Raises ManifestError for what the API server refuses.
    """
    value = as_pod_spec(pod_spec)
    affinity = node_affinity_from(value)
    found = ((each, why_excluded(value, affinity, each)) for each in sorted(Architecture))
    return tuple(Exclusion(architecture, reason) for architecture, reason in found if reason is not None)


def why_excluded(pod_spec: Value, affinity: NodeAffinity, architecture: Architecture) -> str | None:
    """Say what keeps a pod off every node of ``architecture``, or ``None``; ``affinity`` is that of ``pod_spec``.

    Raises ManifestError for an operating system that is not a string.
    """
    system = pod_spec["os"]["name"].text()
    if system and system not in _SYSTEMS[architecture]:
        return f"os.name requires {system}{_only(each for each in Architecture if system in _SYSTEMS[each])}"
    for key, value in affinity.selector:
        why = _unmet(Expression(key, Operator.IN, (value,)), architecture)
        if why is not None:
            return f"nodeSelector requires {key}={value}{why}"
    if affinity.required is None:
        return None
    if not affinity.required:
        return affinity.unmet_terms({})
    unmet = [_unmet_of_term(term, number, architecture) for number, term in enumerate(affinity.required, start=1)]
    reasons = [each for each in unmet if each is not None]
    return ", and ".join(reasons) if len(reasons) == len(unmet) else None


def _unmet_of_term(term: Term, number: int, architecture: Architecture) -> str | None:
    """What no node of the architecture meets in a term, ``None`` if some may meet all of it."""
    if term.empty:
        return f"affinity term {number} is empty, which matches no node"
    for each in sorted(term.expressions, key=lambda each: not each.invalid):
        why = _unmet(each, architecture)
        if why is not None:
            return f"{required_by(each, number)}{why}"
    return None


def _unmet(expression: Expression, architecture: Architecture) -> str | None:
    """What to add about a requirement that no node of the architecture meets; ``None`` if some node may meet it."""
    key = expression.key
    if expression.invalid:
        return ""
    if key in ARCHITECTURE_LABELS:
        return None if expression.matches({key: str(architecture)}) else ""
    if key in _SYSTEM_LABELS:
        met_by = [each for each in Architecture if any(expression.matches({key: name}) for name in _SYSTEMS[each])]
    elif expression.operator is Operator.IN and (known := _known_values(key)) is not None:
        # A name that is not in the table may be of either architecture.
        met_by = sorted({each for value in expression.values for each in known.get(value, Architecture)})
    else:
        return None
    return None if architecture in met_by else _only(met_by)


def _only(architectures: Iterable[Architecture]) -> str:
    """`` (amd64 only)``."""
    names = ", ".join(architectures)
    return f" ({names} only)" if names else ""


def _known_values(key: str) -> Mapping[str, Collection[Architecture]] | None:
    """A label's values with the architectures that they are of; ``None`` for a label that says nothing about it."""
    if key in _TYPE_LABELS:
        return _by_type()
    if key in INSTANCE_FAMILIES:
        return _by_family()
    return _MANUFACTURERS if key in CPU_MANUFACTURERS else None


@cache
def _by_type() -> Mapping[str, Collection[Architecture]]:
    return {name: (each.architecture,) for name, each in instance_types().items()}


@cache
def _by_family() -> Mapping[str, Collection[Architecture]]:
    found: dict[str, set[Architecture]] = {}
    for each in instance_types().values():
        found.setdefault(each.family, set()).add(each.architecture)
    return found
