"""Which architectures a pod's own rules allow, and what excludes the others.

Only rules on the architecture's labels count, and rules that no node ever meets. A kubelet sets both labels, to the
same value: https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-arch
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE
from multiarch.manifests.selectors import ARCHITECTURE_LABELS, Expression, Operator
from multiarch.manifests.values import ObjectReference, Value
from multiarch.scheduling.affinity import NodeAffinity, Term, node_affinity_from

__all__ = ["Exclusion", "allowed_architectures", "exclusions"]

_ALWAYS_MET = Expression(ARCHITECTURE, Operator.EXISTS)
"""In place of a term's other requirements: every node has an architecture."""


@dataclass(frozen=True, slots=True, order=True)
class Exclusion:
    """An architecture that a pod can't be on. ``reason`` is a clause without a full stop."""

    architecture: Architecture
    reason: str


def as_pod_spec(pod_spec: Mapping[str, object] | Value) -> Value:
    """Take a pod's ``spec`` that stands alone as a value whose errors say ``spec.…``."""
    return pod_spec if isinstance(pod_spec, Value) else Value(pod_spec, ObjectReference(1), None, "spec")


def allowed_architectures(pod_spec: Mapping[str, object] | Value) -> frozenset[Architecture]:
    """Say which architectures ``nodeSelector`` and required node affinity of a pod's ``spec`` leave open.

    Labels other than the architecture's are taken to be met by some node. Raises ManifestError for what the API server
    refuses.
    """
    return frozenset(Architecture) - {each.architecture for each in exclusions(pod_spec)}


def exclusions(pod_spec: Mapping[str, object] | Value) -> tuple[Exclusion, ...]:
    """List the architectures that are not open, sorted, each with what excludes it.

    Such as ``architecture amd64 required by affinity term 2`` or ``nodeSelector requires kubernetes.io/arch=amd64``.
    Raises ManifestError for what the API server refuses.
    """
    affinity = node_affinity_from(as_pod_spec(pod_spec))
    found = ((architecture, why_excluded(affinity, architecture)) for architecture in sorted(Architecture))
    return tuple(Exclusion(architecture, reason) for architecture, reason in found if reason is not None)


def why_excluded(affinity: NodeAffinity, architecture: Architecture) -> str | None:
    """Say what keeps a pod with ``affinity`` off every node of ``architecture``, or ``None``."""
    about = NodeAffinity(
        selector=tuple(pair for pair in affinity.selector if pair[0] in ARCHITECTURE_LABELS),
        required=None if affinity.required is None else tuple(_about_architecture(term) for term in affinity.required),
    )
    labels = dict.fromkeys(ARCHITECTURE_LABELS, str(architecture))
    return about.unmet_selector(labels) or about.unmet_terms(labels)


def _about_architecture(term: Term) -> Term:
    """What a term says about the architecture, and what no node meets; an empty term stays empty."""
    if term.empty:
        return term
    kept = (each for each in term.expressions if each.key in ARCHITECTURE_LABELS or each.invalid)
    return Term(tuple(kept) or (_ALWAYS_MET,))
