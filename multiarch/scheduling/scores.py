"""Which of several nodes kube-scheduler prefers for a pod: the scores of its plugins, with their default weights.

ImageLocality is omitted: which images a node has is not known. Source: kubernetes,
``pkg/scheduler/apis/config/v1/default_plugins.go`` and ``pkg/scheduler/framework/plugins``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from multiarch.facts.labels import HOSTNAME, ZONE
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.resources import ResourceAmounts

_MOST = 100
_TAINT_TOLERATION, _NODE_AFFINITY, _POD_TOPOLOGY_SPREAD, _INTER_POD_AFFINITY = 3, 2, 2, 2


@dataclass(frozen=True, slots=True)
class SoftSpread:
    """A preference to spread pods over a topology. ``label_needed``: nodes without its label get the worst score."""

    topology_key: str
    max_skew: int
    label_needed: bool = True


DEFAULT_SPREAD = (SoftSpread(HOSTNAME, 3, label_needed=False), SoftSpread(ZONE, 5, label_needed=False))
"""How kube-scheduler spreads the pods of a ReplicaSet or StatefulSet that have no topology spread constraints."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that can take a pod.

    ``preference`` is the sum of the weights of preferred node affinity terms that it meets, ``untolerated`` the number
    of its ``PreferNoSchedule`` taints that the pod does not tolerate, ``resources`` the sum of its
    :func:`score_free` and :func:`score_balance`.
    ``spread`` has for each :class:`SoftSpread` of the pod the domain of the node (None without one) and the number of
    pods there that count; ``attraction`` is the sum of the weights by which other pods attract the pod, or repel it.
    """

    preference: int
    untolerated: int
    resources: int
    spread: tuple[tuple[str | None, int], ...] = ()
    attraction: int = 0


def score_free(allocatable: ResourceAmounts, free: ResourceAmounts, assumed: ResourceAmounts, spec: PodSpec) -> int:
    """Return the score for free CPU and memory (``LeastAllocated``) of a node with one more pod: 0 to 100.

    ``assumed`` is what counts besides for containers without requests on the node.
    """
    cpu, memory = allocatable.cpu, allocatable.memory
    if cpu <= 0 or memory <= 0:
        return 0
    cpu_left = free.cpu - assumed.cpu - spec.requests.cpu - spec.assumed.cpu
    memory_left = free.memory - assumed.memory - spec.requests.memory - spec.assumed.memory
    return (max(0, cpu_left) * _MOST // cpu + max(0, memory_left) * _MOST // memory) // 2


def score_balance(allocatable: ResourceAmounts, free: ResourceAmounts, requests: ResourceAmounts) -> int:
    """Score the balance of CPU and memory of a node with one more pod (``BalancedAllocation``): 0 to 100."""
    cpu, memory = allocatable.cpu, allocatable.memory
    if cpu <= 0 or memory <= 0 or not (requests.cpu or requests.memory):
        return 0
    before = _balance(free.cpu / cpu, free.memory / memory)
    after = _balance((free.cpu - requests.cpu) / cpu, (free.memory - requests.memory) / memory)
    return _MOST // 2 + (_MOST // 2 + after - before) // 2


def _balance(cpu: float, memory: float) -> int:
    """Return 100 where the same share of CPU and memory is free, less otherwise."""
    return int((1 - abs(max(cpu, 0.0) - max(memory, 0.0)) / 2) * _MOST)


def score_candidates(candidates: Sequence[Candidate], spread: Sequence[SoftSpread], nodes: int) -> list[int]:
    """Score each candidate, more is better. ``nodes`` is the number of all nodes that can take the pod."""
    wanted = max(each.preference for each in candidates)
    unwanted = max(each.untolerated for each in candidates)
    found = []
    for each in candidates:
        score = each.resources
        if wanted:
            score += _NODE_AFFINITY * (_MOST * each.preference // wanted)
        if unwanted:
            score += _TAINT_TOLERATION * (_MOST - _MOST * each.untolerated // unwanted)
        found.append(score)
    for share in (_spread_scores(candidates, spread, nodes), _attraction_scores(candidates)):
        found = [score + more for score, more in zip(found, share, strict=True)] if share else found
    return found


def _spread_scores(candidates: Sequence[Candidate], spread: Sequence[SoftSpread], nodes: int) -> list[int]:
    able = [each for each in candidates if _has_labels(each, spread)]
    if not spread or not able:
        return []
    sizes = [
        nodes - len(candidates) + len(able)
        if rule.topology_key == HOSTNAME
        else len({each.spread[number][0] for each in able})
        for number, rule in enumerate(spread)
    ]
    weights = [math.log(size + 2) for size in sizes]
    counts = [_spread_count(each, spread, weights) for each in able]
    most, least = max(counts), min(counts)
    found = iter(
        [_POD_TOPOLOGY_SPREAD * (_MOST * (most + least - count) // most if most else _MOST) for count in counts]
    )
    return [next(found) if _has_labels(each, spread) else 0 for each in candidates]


def _has_labels(candidate: Candidate, spread: Sequence[SoftSpread]) -> bool:
    """Return whether a node has the labels of all constraints that need one."""
    return all(
        domain is not None or not rule.label_needed for (domain, _), rule in zip(candidate.spread, spread, strict=True)
    )


def _spread_count(candidate: Candidate, spread: Sequence[SoftSpread], weights: Sequence[float]) -> int:
    total = 0.0
    for (domain, count), rule, weight in zip(candidate.spread, spread, weights, strict=True):
        if domain is not None:
            total += count * weight + rule.max_skew - 1
    return round(total)


def _attraction_scores(candidates: Sequence[Candidate]) -> list[int]:
    most, least = max(each.attraction for each in candidates), min(each.attraction for each in candidates)
    if most == least:
        return []
    return [_INTER_POD_AFFINITY * int(_MOST * (each.attraction - least) / (most - least)) for each in candidates]
