"""What if pods preferred an architecture, as after ``multiarch workload patch --prefer``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE
from multiarch.manifests.selectors import Expression, Operator
from multiarch.scheduling.affinity import HIGHEST_WEIGHT, PreferredTerm, Term
from multiarch.scheduling.architectures import explain_exclusion, wrap_pod_spec
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod


def with_preference(pods: Iterable[Pod], architecture: Architecture) -> Iterator[Pod]:
    """Yield the pods; those that may be on ``architecture``, DaemonSets aside, prefer it with the highest weight."""
    term = Term((Expression(ARCHITECTURE, Operator.IN, (str(architecture),)),))
    changed: dict[PodSpec, PodSpec] = {}
    for pod in pods:
        spec = pod.spec
        if pod.per_node or pod.daemon or explain_exclusion(wrap_pod_spec({}), spec.affinity, architecture) is not None:
            yield pod
            continue
        if spec not in changed:
            others = (each for each in spec.affinity.preferred if each.term != term)
            preferred = (*others, PreferredTerm(HIGHEST_WEIGHT, term))
            changed[spec] = replace(spec, affinity=replace(spec.affinity, preferred=preferred))
        yield replace(pod, spec=changed[spec])
