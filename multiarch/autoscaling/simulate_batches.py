"""Pods by what they ask for: those that nothing tells apart are judged once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from multiarch.autoscaling.simulate_model import Batch
from multiarch.workloads.manifest_values import Pairs
from multiarch.workloads.pod_spec import PodSpec
from multiarch.workloads.pods import Pod
from multiarch.workloads.terms import BoundTerm


def batches_of(pods: Iterable[Pod]) -> list[Batch]:
    """Return batches in the order in which the first pod of each comes."""
    found: dict[tuple[object, ...], list[Pod]] = {}
    for pod in pods:
        found.setdefault((pod.namespace, pod.owner, pod.labels, pod.spec), []).append(pod)
    counted = _counted([alike[0] for alike in found.values()])
    made = []
    for number, alike in enumerate(found.values()):
        sample = alike[0]
        name = str(sample.owner) if sample.owner else f"Pod/{sample.name}"
        if sample.owner is None and len(alike) > 1:
            name = f"{name} and {len(alike) - 1} like it"
        matters = bool(sample.spec.pod_anti_affinity) or (sample.namespace, sample.labels) in counted
        made.append(Batch(number, name, tuple(alike), _ruled(sample.spec), matters))
    return made


def mentioned(spec: PodSpec) -> Iterator[str]:
    """Yield the labels that a spec asks of its node."""
    affinity = spec.affinity
    yield from (key for key, _ in affinity.selector)
    terms = [*(affinity.required or ()), *(wish.term for wish in affinity.preferred)]
    yield from (expression.key for term in terms for expression in term.expressions)


def _ruled(spec: PodSpec) -> bool:
    return bool(spec.spread or spec.pod_affinity or spec.pod_anti_affinity)


def _counted(samples: list[Pod]) -> set[tuple[str, Pairs]]:
    """Namespaces and labels of pods that any pod's rule is about. Counting others would only take time."""
    rules = {rule: None for sample in samples for rule in _rules(sample)}
    peers = {(sample.namespace, sample.labels) for sample in samples}
    return {
        (namespace, labels)
        for namespace, labels in peers
        if any(rule.selects(namespace, dict(labels)) for rule in rules)
    }


def _rules(sample: Pod) -> Iterator[BoundTerm]:
    """Yield a pod's rules as terms that say which pods they are about."""
    labels = dict(sample.labels)
    for constraint in sample.spec.spread:
        yield BoundTerm(constraint.topology_key, constraint.selector_for(labels), (sample.namespace,), None)
    for term in (*sample.spec.pod_affinity, *sample.spec.pod_anti_affinity):
        yield term.bound(sample.namespace, labels)
