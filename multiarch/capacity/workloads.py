"""The pods of each workload, what its images support, and what was assumed about both."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE, ZONE
from multiarch.facts.taints import Effect, Taint
from multiarch.manifests.selectors import Expression, Operator
from multiarch.scheduling.affinity import Term
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import VOLUME_CLAIMS, Pod

UNREACHABLE = Taint("node.kubernetes.io/unreachable", "", Effect.NO_EXECUTE)
"""The taint of a node that no longer reports to the API server."""
SPREAD = f"topologySpreadConstraints with topologyKey {ZONE} and whenUnsatisfiable"
"""What spreads pods over zones, up to its last value."""
_CLAIM = "persistentVolumeClaim"
_BATCH = ("Job", "CronJob")
_NODE = "Node"
WorkloadName = tuple[str, str]
"""Namespace and ``Kind/name``."""


@dataclass(frozen=True, slots=True)
class ImageSupport:
    """What a workload's images say about architectures.

    ``unsupported`` are pairs of an image and an architecture that it has no build for, ``unknown`` images that could
    not be read, each with the reason.
    """

    unsupported: tuple[tuple[str, Architecture], ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """The architectures that every image that could be read supports, sorted."""
        missing = {architecture for _, architecture in self.unsupported}
        return tuple(sorted(each for each in Architecture if each not in missing))

    def missing(self, architecture: Architecture) -> tuple[str, ...]:
        """Return the images without a build for ``architecture``."""
        return tuple(sorted(image for image, each in self.unsupported if each is architecture))


@dataclass(frozen=True, slots=True)
class Replicas:
    """The pods of one workload, those on nodes included."""

    namespace: str
    name: str
    pods: tuple[Pod, ...]

    @property
    def key(self) -> WorkloadName:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def bare(self) -> bool:
        """Whether no controller makes its pods again."""
        return self.pods[0].owner is None

    @property
    def batch(self) -> bool:
        """Whether it runs to its end, so that its pods may wait."""
        owner = self.pods[0].owner
        return owner is not None and owner.kind in _BATCH

    def __str__(self) -> str:
        """``shop Deployment/api``."""
        return f"{self.namespace} {self.name}"


def get_workload_name(pod: Pod) -> WorkloadName:
    """Return a workload's namespace, and its kind and name: ``Deployment/api``. A pod without a controller is one."""
    return pod.namespace, str(pod.workload)


def get_pod_key(pod: Pod) -> Hashable:
    """Return a key: equal for pods of one controller, and for pods without one that differ in their names only."""
    return pod.owner or (pod.namespace, None, pod.labels, pod.spec)


def group_replicas(pods: Iterable[Pod]) -> list[Replicas]:
    """Group ``pods`` into workloads, sorted by namespace and name. Pods without a controller are one if alike."""
    found: dict[Hashable, list[Pod]] = {}
    for pod in pods:
        found.setdefault(get_pod_key(pod), []).append(pod)
    made = []
    for of_workload in found.values():
        namespace, name = get_workload_name(of_workload[0])
        if of_workload[0].owner is None and len(of_workload) > 1:
            name = f"{name} and {len(of_workload) - 1} like it"
        made.append(Replicas(namespace, name, tuple(of_workload)))
    return sorted(made, key=lambda each: each.key)


def can_move(pod: Pod) -> bool:
    """Return whether a pod is looked at: not one of a DaemonSet, not a node's own, not ended or being deleted."""
    static = pod.owner is not None and pod.owner.kind == _NODE
    return not (pod.daemon or pod.per_node or pod.terminating or static or pod.phase in ("Succeeded", "Failed"))


def get_unreachable_seconds(spec: PodSpec, default: int) -> int | None:
    """Return how long a pod stays on a node that can't be reached; None without a bound.

    The admission plugin DefaultTolerationSeconds gives ``default`` to pods without a toleration of their own.
    """
    matching = [each for each in spec.tolerations if each.tolerates(UNREACHABLE)]
    if not matching:
        return default
    bounds = [each.seconds for each in matching if each.seconds is not None]
    return max(0, min(bounds)) if bounds else None


def claims_volumes(spec: PodSpec) -> bool:
    """Return whether a pod uses PersistentVolumeClaims, as the notes on its spec say."""
    return any(each == VOLUME_CLAIMS or ("volumes (" in each and _CLAIM in each) for each in spec.unmodelled)


def make_waiting(pod: Pod) -> Pod:
    """Return the pod that its controller makes in place of one that was on a node."""
    return replace(pod, node_name="", phase="") if pod.node_name or pod.phase else pod


def restrict_pods(pods: Iterable[Pod], images: Mapping[WorkloadName, ImageSupport]) -> Iterator[Pod]:
    """Yield the pods, kept off the nodes of architectures that their images do not support by required affinity."""
    for pod in pods:
        support = images.get(get_workload_name(pod))
        yield narrow_pod(pod, ARCHITECTURE, support.architectures) if support and support.unsupported else pod


def narrow_pod(pod: Pod, label: str, values: tuple[str, ...]) -> Pod:
    """Return the pod, with one of ``values`` of a node label required besides its own rules."""
    return replace(pod, spec=_narrowed_spec(pod.spec, label, values))


@lru_cache(maxsize=1 << 12)  # pods with the same spec share the changed one
def _narrowed_spec(spec: PodSpec, label: str, values: tuple[str, ...]) -> PodSpec:
    allowed = Expression(label, Operator.IN, values)
    required = spec.affinity.required
    terms = (Term((allowed,)),) if required is None else tuple(_narrowed(term, allowed) for term in required)
    return replace(spec, affinity=replace(spec.affinity, required=terms))


def _narrowed(term: Term, allowed: Expression) -> Term:
    # An empty term matches no node, and still does not with one more requirement.
    return term if term.empty else replace(term, expressions=(*term.expressions, allowed))
