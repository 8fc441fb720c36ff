"""Workloads and PodDisruptionBudgets out of loaded objects, and what audits of their images say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from multiarch.capacity.workloads import ImageSupport, WorkloadName
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.kubernetes.pods import pods_in
from multiarch.kubernetes.source import LoadedObject, placed
from multiarch.manifests.disruption_budgets import DISRUPTION_BUDGET, DisruptionBudget, disruption_budgets_from
from multiarch.manifests.values import ManifestError
from multiarch.scheduling.pods import Pod, kinds_without_pods


@dataclass(frozen=True, slots=True)
class Workloads:
    """Pods, DaemonSets' templates among them, and budgets. ``without_pods`` counts other objects by kind."""

    pods: tuple[Pod, ...]
    budgets: tuple[DisruptionBudget, ...]
    without_pods: tuple[tuple[str, int], ...]


def workloads_in(objects: Sequence[LoadedObject], names: Sequence[str]) -> Workloads:
    """Read the workloads of ``objects``; ``names`` are the files that they come from.

    Raises MultiarchError, naming file, document and line; also if there is no pod but those of DaemonSets.
    """
    pods, budgets = pods_in(objects), budgets_in(objects)
    if all(pod.per_node for pod in pods):
        files = ", ".join("standard input" if name == "-" else name for name in names)
        raise MultiarchError(
            f"{files}: no workloads found.",
            hint="Give Deployments, StatefulSets, Jobs, CronJobs, bare pods and others that create pods.",
        )
    without = tuple(each for each in kinds_without_pods(each.value for each in objects) if each[0] != DISRUPTION_BUDGET)
    return Workloads(pods, budgets, without)


def budgets_in(objects: Sequence[LoadedObject]) -> tuple[DisruptionBudget, ...]:
    """The PodDisruptionBudgets among ``objects``. Raises MultiarchError, naming the object's source."""
    try:
        return tuple(disruption_budgets_from(each.value for each in objects))
    except ManifestError as error:
        raise placed(error, objects) from error


def image_support(judged: Iterable[tuple[WorkloadName, str, Judgement]]) -> dict[WorkloadName, ImageSupport]:
    """What look-ups of images say, by workload; each entry of ``judged`` is about one image of a workload."""
    unsupported: dict[WorkloadName, set[tuple[str, Architecture]]] = {}
    unknown: dict[WorkloadName, dict[str, str]] = {}
    for key, image, judgement in judged:
        if judgement.verdict is Verdict.UNSUPPORTED:
            unsupported.setdefault(key, set()).add((image, judgement.architecture))
        elif judgement.verdict is Verdict.UNKNOWN:
            unknown.setdefault(key, {})[image] = judgement.reason
    return {
        key: ImageSupport(tuple(sorted(unsupported.get(key, ()))), tuple(sorted(unknown.get(key, {}).items())))
        for key in sorted({*unsupported, *unknown})
    }
