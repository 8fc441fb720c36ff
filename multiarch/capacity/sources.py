"""Workloads and PodDisruptionBudgets out of loaded objects, and what audits of their images say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from multiarch.capacity.workloads import ImageSupport, WorkloadName, get_workload_name
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.files import format_input
from multiarch.images.model import Judgement, Verdict
from multiarch.kubernetes.source import LoadedObject, add_object_source
from multiarch.manifests.disruption_budgets import DISRUPTION_BUDGET, DisruptionBudget, read_disruption_budgets
from multiarch.manifests.kinds import find_pod_spec, find_pod_template
from multiarch.manifests.objects import Object, unpack_objects
from multiarch.manifests.templates import find_templates
from multiarch.manifests.values import ManifestError
from multiarch.observed.cluster import read_object_pods
from multiarch.plurals import format_count
from multiarch.scheduling.pods import Pod

_AUTOSCALER = "HorizontalPodAutoscaler"


@dataclass(frozen=True, slots=True)
class Workloads:
    """Pods, DaemonSets' templates among them, and budgets; ``notes`` say where a cluster has other pods."""

    pods: tuple[Pod, ...]
    budgets: tuple[DisruptionBudget, ...]
    notes: tuple[str, ...] = ()


def read_workloads(objects: Sequence[LoadedObject], files: Sequence[str]) -> Workloads:
    """Read the workloads of ``objects``; ``files`` are those that they come from.

    Raises MultiarchError, naming file, document and line; also if there is no pod but those of DaemonSets.
    """
    pods, budgets = read_object_pods(objects), read_budgets(objects)
    notes = tuple(_list_other_pods(objects, pods))
    if all(pod.per_node for pod in pods):
        there = f": {format_count(len(pods), 'DaemonSet')}, and no node is created for a DaemonSet" if pods else ""
        hint = "Give Deployments, StatefulSets, Jobs, CronJobs, bare pods and others that create pods."
        if not objects and "-" in files:
            hint = f"Did the command before the pipe fail? {hint}"
        hint = " ".join((*notes, hint))
        raise MultiarchError(f"{', '.join(map(format_input, files))}: no workloads found{there}.", hint=hint)
    return Workloads(pods, budgets, notes)


def _list_other_pods(objects: Iterable[LoadedObject], pods: Sequence[Pod]) -> Iterator[str]:
    """Yield a sentence for each workload of which a cluster has other pods than are counted."""
    counts = Counter(get_workload_name(pod) for pod in pods)
    making = {f"{pod.owner.kind} {pod.namespace}/{pod.owner.name}" for pod in pods if pod.owner}
    for each in objects:
        if find_pod_spec(each.value["kind"], each.value.get("apiVersion")) is not None:
            continue
        try:
            for found in unpack_objects(each.value, 1):
                if found.kind == _AUTOSCALER:
                    yield from _number_of(found, counts)
                elif find_pod_template(found.kind, found.value) is None:
                    titles = {template.title for template in find_templates(found.value.mapping(), 1)}
                    for title in sorted(titles - making):
                        yield (
                            f"{title}: its pods are not simulated, because their number is not known. Give the pods "
                            "themselves: `kubectl get pods -o yaml`."
                        )
        except ManifestError as error:
            raise add_object_source(error, [each]) from error


def _number_of(scaler: Object, counts: Counter[WorkloadName]) -> Iterator[str]:
    spec = scaler.value["spec"]
    target = spec["scaleTargetRef"]
    key = scaler.namespace, f"{target['kind'].text()}/{target['name'].text()}"
    least, most = spec["minReplicas"].whole(1, least=0), spec["maxReplicas"].whole(1, least=0)
    if counts[key]:
        yield (
            f"{' '.join(key)}: its {_AUTOSCALER} keeps {least} to {most} pods; {counts[key]} are counted, as its "
            "manifest says."
        )


def read_budgets(objects: Sequence[LoadedObject]) -> tuple[DisruptionBudget, ...]:
    """Return the PodDisruptionBudgets among ``objects``. Raises MultiarchError, naming the object's source."""
    budgets = [each for each in objects if each.value["kind"] == DISRUPTION_BUDGET]
    try:
        return tuple(read_disruption_budgets(each.value for each in budgets))
    except ManifestError as error:
        raise add_object_source(error, budgets) from error


def get_image_support(judged: Iterable[tuple[WorkloadName, str, Judgement]]) -> dict[WorkloadName, ImageSupport]:
    """Return what look-ups of images say, by workload; each entry of ``judged`` is about one image of a workload."""
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
