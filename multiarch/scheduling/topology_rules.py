"""What a pod says about other pods: topology spread constraints, pod affinity and anti-affinity.

Sources: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/,
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from multiarch.manifests.selectors import Expression, LabelSelector, Operator, read_label_selector
from multiarch.manifests.values import Value
from multiarch.scheduling.affinity import PREFERRED, REQUIRED, read_weight

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that every namespace has: its own name."""
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """One topology spread constraint. ``hard`` is ``DoNotSchedule``; the other kind excludes no node.

    ``selector`` ``None`` selects nothing. ``honor_affinity`` and ``honor_taints`` tell whether nodes that the pod
    cannot be on for that cause are omitted of the count.
    """

    max_skew: int
    topology_key: str
    hard: bool
    selector: LabelSelector | None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    match_label_keys: tuple[str, ...] = ()

    def selector_for(self, labels: Mapping[str, str]) -> LabelSelector | None:
        """Build the selector of a pod with ``labels``: its own values of ``matchLabelKeys`` are required too.

        A key that the pod has no label for is omitted.
        """
        return _narrowed(self.selector, labels, self.match_label_keys, ())


@dataclass(frozen=True, slots=True)
class BoundTerm:
    """A term of one pod's affinity to pods, its own labels and namespace filled in: which pods it selects.

    ``namespaces`` are named ones; ``namespace_selector`` adds those whose labels it selects.
    """

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...]
    namespace_selector: LabelSelector | None

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether the term selects a pod.

        Of a namespace's labels only its name is known; see ``unmodelled`` for selectors that need others.
        """
        if self.selector is None or not self.selector.matches(labels):
            return False
        if namespace in self.namespaces:
            return True
        return self.namespace_selector is not None and self.namespace_selector.matches({NAMESPACE_NAME: namespace})


@dataclass(frozen=True, slots=True)
class PodTerm:
    """One term of pod affinity or anti-affinity, as written. ``selector`` ``None`` selects nothing."""

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()

    def bound(self, namespace: str, labels: Mapping[str, str]) -> BoundTerm:
        """Return the term of a pod in ``namespace`` with ``labels``.

        Without namespaces and namespace selector it selects the pod's own namespace. Values of
        ``matchLabelKeys`` are required and those of ``mismatchLabelKeys`` excluded, as the API server writes them
        into the selector when the pod is made.
        """
        own = (namespace,) if not self.namespaces and self.namespace_selector is None else self.namespaces
        narrowed = _narrowed(self.selector, labels, self.match_label_keys, self.mismatch_label_keys)
        return BoundTerm(self.topology_key, narrowed, tuple(sorted(own)), self.namespace_selector)


@dataclass(frozen=True, slots=True)
class PreferredPodTerm:
    """A preferred term: a place that meets ``term`` is worth ``weight`` (1 to 100) more."""

    weight: int
    term: PodTerm


def _narrowed(
    selector: LabelSelector | None, labels: Mapping[str, str], match: tuple[str, ...], mismatch: tuple[str, ...]
) -> LabelSelector | None:
    if selector is None or not (match or mismatch):
        return selector
    same = [Expression(key, Operator.IN, (labels[key],)) for key in match if key in labels]
    other = [Expression(key, Operator.NOT_IN, (labels[key],)) for key in mismatch if key in labels]
    return selector.narrowed(*same, *other)


def read_spread(value: Value) -> tuple[SpreadConstraint, ...]:
    """Read ``topologySpreadConstraints``, in their order. Raises ManifestError for what the API server rejects."""
    return tuple(_constraint_from(element) for element in value.items())


def _constraint_from(value: Value) -> SpreadConstraint:
    action = _one_of(value["whenUnsatisfiable"], _ACTIONS, None)
    minimum = value["minDomains"]
    if not minimum.missing and action != _ACTIONS[0]:
        raise minimum.error(f"needs whenUnsatisfiable: {_ACTIONS[0]}.")
    if value["maxSkew"].missing:
        raise value["maxSkew"].error("is missing.")
    return SpreadConstraint(
        max_skew=value["maxSkew"].whole(1, least=1),
        topology_key=value["topologyKey"].required_text(),
        hard=action == _ACTIONS[0],
        selector=read_label_selector(value["labelSelector"]),
        min_domains=minimum.whole(1, least=1),
        honor_affinity=_one_of(value["nodeAffinityPolicy"], _POLICIES, "Honor") == "Honor",
        honor_taints=_one_of(value["nodeTaintsPolicy"], _POLICIES, "Ignore") == "Honor",
        match_label_keys=value["matchLabelKeys"].texts(),
    )


def _one_of(value: Value, known: tuple[str, ...], default: str | None) -> str:
    text = value.text() if default is None else value.text(default)
    if text not in known:
        raise value.error(f"{text!r} is unknown." if text else "is missing.", hint=f"Write {' or '.join(known)}.")
    return text


def read_pod_terms(rules: Value) -> tuple[PodTerm, ...]:
    """Read the required terms of ``podAffinity`` or ``podAntiAffinity``, in their order."""
    return tuple(_pod_term_from(term) for term in rules[REQUIRED].items())


def read_preferred_pod_terms(rules: Value) -> tuple[PreferredPodTerm, ...]:
    """Read the preferred terms of ``podAffinity`` or ``podAntiAffinity``, in their order."""
    return tuple(
        PreferredPodTerm(read_weight(each["weight"]), _pod_term_from(each["podAffinityTerm"]))
        for each in rules[PREFERRED].items()
    )


def _pod_term_from(term: Value) -> PodTerm:
    return PodTerm(
        topology_key=term["topologyKey"].required_text(),
        selector=read_label_selector(term["labelSelector"]),
        namespaces=term["namespaces"].texts(),
        namespace_selector=read_label_selector(term["namespaceSelector"]),
        match_label_keys=term["matchLabelKeys"].texts(),
        mismatch_label_keys=term["mismatchLabelKeys"].texts(),
    )
