"""Pods grouped by their spec: those that differ in nothing but their names are judged once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from multiarch.facts.labels import HOSTNAME, REPLACED_BY, ZONE
from multiarch.manifests.selectors import Expression
from multiarch.manifests.values import Labels
from multiarch.scheduling.affinity import NodeAffinity
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.topology_rules import BoundTerm, PodTerm
from multiarch.simulate.model import Batch


def make_batches(pods: Iterable[Pod]) -> list[Batch]:
    """Return the batches in the order of their first pods."""
    found: dict[tuple[object, ...], list[Pod]] = {}
    for pod in pods:
        found.setdefault((pod.namespace, pod.owner, pod.labels, pod.spec), []).append(pod)
    counted = Counted(alike[0] for alike in found.values())
    made = []
    for number, alike in enumerate(found.values()):
        sample = alike[0]
        name = str(sample.workload)
        if sample.owner is None and len(alike) > 1:
            name = f"{name} and {len(alike) - 1} like it"
        matters = bool(list_terms(sample.spec)) or counted(sample)
        made.append(Batch(number, name, tuple(alike), depends_on_pods(sample.spec), matters))
    return made


class Counted:
    """Whether a rule of some of the given pods selects a pod. Counting others would only take time."""

    def __init__(self, samples: Iterable[Pod], rules: Callable[[Pod], Iterable[BoundTerm]] | None = None) -> None:
        """Collect the rules of one pod of each batch: all, or those that ``rules`` gives."""
        rules = rules or _rules
        self._rules = tuple({rule: None for sample in samples for rule in rules(sample)})
        self._known: dict[tuple[str, Labels], bool] = {}

    def __call__(self, pod: Pod) -> bool:
        """Whether a rule selects ``pod``."""
        peers = (pod.namespace, pod.labels)
        if peers not in self._known:
            labels = dict(pod.labels)
            self._known[peers] = any(rule.selects(pod.namespace, labels) for rule in self._rules)
        return self._known[peers]


def list_used_labels(spec: PodSpec) -> Iterator[str]:
    """Yield the node labels that a spec uses: in its node selector and affinity, and as topology keys.

    Deprecated labels come under their new names; zone and host name only as part of a node selector or affinity.
    """
    yield from (REPLACED_BY.get(key, key) for key in _written(spec.affinity))
    yield from list_domains(spec)


def list_domains(spec: PodSpec, *, hard: bool = False) -> Iterator[str]:
    """Yield the topology keys, except zone and host name, of a spec's spread constraints and pod (anti-)affinity.

    ``hard``: without those of preferences.
    """
    terms = (*spec.pod_affinity, *spec.pod_anti_affinity) if hard else list_terms(spec)
    spread = (rule.topology_key for rule in spec.spread if rule.hard or not hard)
    keys = (*spread, *(term.topology_key for term in terms))
    yield from (key for key in keys if key not in (ZONE, HOSTNAME))


def list_topology_keys(spec: PodSpec) -> Iterator[str]:
    """Yield the topology keys, except host name, of a spec's rules about other pods."""
    yield from (ZONE, *list_domains(spec)) if depends_on_pods(spec) else ()


def has_host_rule(spec: PodSpec) -> bool:
    """Return whether a spread constraint or pod (anti-)affinity of a spec is about hosts."""
    keys = (*(rule.topology_key for rule in spec.spread), *(term.topology_key for term in list_terms(spec)))
    return HOSTNAME in keys


def list_wanted_values(spec: PodSpec, key: str) -> Iterator[str]:
    """Yield the values of a node label that a spec's node selector and required or preferred affinity name."""
    yield from (value for each, value in spec.affinity.selector if each == key)
    for expression in _expressions(spec.affinity):
        if expression.key == key:
            yield from expression.values


def _written(affinity: NodeAffinity) -> Iterator[str]:
    yield from (key for key, _ in affinity.selector)
    yield from (expression.key for expression in _expressions(affinity))


def _expressions(affinity: NodeAffinity) -> Iterator[Expression]:
    terms = (*(affinity.required or ()), *(preferred.term for preferred in affinity.preferred))
    yield from (expression for term in terms for expression in term.expressions)


def depends_on_pods(spec: PodSpec) -> bool:
    """Return whether a spec has rules about other pods: topology spread, pod affinity, pod anti-affinity."""
    return bool(spec.spread or list_terms(spec))


def list_terms(spec: PodSpec) -> tuple[PodTerm, ...]:
    """Return the pod affinity and anti-affinity terms, required and preferred."""
    preferred = (*spec.preferred_pod_affinity, *spec.preferred_pod_anti_affinity)
    return (*spec.pod_affinity, *spec.pod_anti_affinity, *(each.term for each in preferred))


def _rules(sample: Pod) -> Iterator[BoundTerm]:
    """Yield a pod's rules as terms that select pods."""
    labels = dict(sample.labels)
    for constraint in sample.spec.spread:
        yield BoundTerm(constraint.topology_key, constraint.selector_for(labels), (sample.namespace,), None)
    for term in list_terms(sample.spec):
        yield term.bound(sample.namespace, labels)


def list_repelling_terms(sample: Pod) -> Iterator[BoundTerm]:
    """Yield the terms by which a pod keeps others away from its node."""
    labels = dict(sample.labels)
    yield from (term.bound(sample.namespace, labels) for term in sample.spec.pod_anti_affinity)


def list_attracting_terms(sample: Pod) -> Iterator[BoundTerm]:
    """Yield the terms by which a pod makes its node better or worse for others."""
    labels = dict(sample.labels)
    preferred = (*sample.spec.preferred_pod_affinity, *sample.spec.preferred_pod_anti_affinity)
    for term in (*sample.spec.pod_affinity, *(each.term for each in preferred)):
        yield term.bound(sample.namespace, labels)
