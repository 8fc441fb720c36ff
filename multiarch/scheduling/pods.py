"""Pods out of manifests: bare ones, and those that Deployments, Jobs and all other workloads would make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from multiarch.manifests.kinds import DAEMON_SET, MOST_PODS, PodTemplate, find_pod_template
from multiarch.manifests.objects import Object, unpack_objects
from multiarch.manifests.owners import WorkloadKey
from multiarch.manifests.values import Labels
from multiarch.scheduling.pod_spec import PodSpec, PodSpecs
from multiarch.scheduling.priorities import PriorityClasses
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.scheduling.tolerations import list_daemon_tolerations

VOLUME_CLAIMS = "volume claim templates: the zones of the volumes that exist already"
_Seen = dict[tuple[str, str, str], set[str | tuple[str, str]]]
"""The names of objects, with their uids where they have one, by API group, kind and namespace."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod to place. Pods that request the same share one ``spec`` object.

    ``node_name`` and ``phase`` are what a live pod says, empty in a manifest; ``terminating`` that it is on its way
    out. ``per_node`` marks a DaemonSet's template: there is one such pod on each node that it may be on.
    """

    name: str
    namespace: str
    labels: Labels
    owner: WorkloadKey | None
    spec: PodSpec
    node_name: str = ""
    phase: str = ""
    terminating: bool = False
    per_node: bool = False

    @property
    def workload(self) -> WorkloadKey:
        """Its owner, or a pod without one itself."""
        return self.owner or WorkloadKey(self.namespace, "Pod", self.name)

    @property
    def requests(self) -> ResourceAmounts:
        """What the scheduler reserves for the pod, itself counted as one pod."""
        return self.spec.requests

    @property
    def daemon(self) -> bool:
        """Whether a DaemonSet owns it: autoscalers add no node for such a pod."""
        return self.owner is not None and self.owner.kind == DAEMON_SET

    @property
    def waiting(self) -> bool:
        """Whether the scheduler still has to find a node for it."""
        return not self.node_name and not self.terminating and self.phase in ("", "Pending")

    def __str__(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Workload:
    """A pod template and how many pods it makes at a time. ``labels`` and ``spec`` are the pods'."""

    kind: str
    name: str
    namespace: str
    labels: Labels
    spec: PodSpec
    count: int
    first: int

    def pods(self) -> Iterator[Pod]:
        """Yield the pods, ``NAME-0`` on; for a DaemonSet one for all nodes, with its own name."""
        owner = WorkloadKey(self.namespace, self.kind, self.name)
        if self.kind == DAEMON_SET:
            yield Pod(self.name, self.namespace, self.labels, owner, self.spec, per_node=True)
            return
        for number in range(self.first, self.first + self.count):
            yield Pod(f"{self.name}-{number}", self.namespace, self.labels, owner, self.spec)


def read_pods(documents: Iterable[object]) -> Iterator[Pod]:
    """Yield the pods of loaded YAML or JSON documents, in their order; empty documents are passed over.

    Every workload that embeds a pod's spec becomes its pods, ``List`` objects are unpacked, objects of other kinds
    yield nothing; PriorityClasses give pods their priority. A workload (a DaemonSet aside) whose pods, ReplicaSets or
    Jobs are in the stream too is left to them, so that a dump of a cluster counts nothing twice. All documents are read
    before the first pod comes.
    Raises ManifestError, naming document, kind, name and path, for a document that Kubernetes would reject, and for an
    object that is there twice: its pods would count twice.
    """
    for found in read_workloads(documents):
        if isinstance(found, Pod):
            yield found
        else:
            yield from found.pods()


def read_workloads(documents: Iterable[object]) -> Iterator[Workload | Pod]:
    """Yield like :func:`read_pods`, with each workload as one template, of which there may be no pods at present."""
    objects = [each for number, document in enumerate(documents, start=1) for each in unpack_objects(document, number)]
    made_by = {each.owner for each in objects if each.owner}
    specs = PodSpecs(PriorityClasses(objects))
    seen: _Seen = {}
    total = 0
    for each in objects:
        found = _pod(each, specs) if each.kind == "Pod" else _workload(each, made_by, specs)
        if found is not None:
            _reject_second(each, seen)
            total += found.count if isinstance(found, Workload) else 1
            if total > MOST_PODS:
                hint = "A cluster can have no more. Give the workloads of one cluster."
                raise each.value.error(f"makes more than {MOST_PODS} pods, with the objects before it.", hint=hint)
            yield found


def _reject_second(each: Object, seen: _Seen) -> None:
    """Add an object that makes pods to ``seen``. Raises ManifestError if it is there already."""
    metadata = each.value["metadata"]
    if metadata["name"].missing:
        return  # generateName: each object gets a name of its own
    names = seen.setdefault((each.value["apiVersion"].text().partition("/")[0], each.kind, each.namespace), set())
    # A cluster's list that starts again may have a pod of a StatefulSet and the one that came in its place.
    uid = metadata["uid"].text()
    key = (each.name, uid) if uid else each.name
    if key in names:
        raise each.value.error(
            "is given twice.", hint="`kubectl apply` would keep the last one. Give each object once."
        )
    names.add(key)


def _named(each: Object) -> str:
    if not each.name:
        raise each.value["metadata"]["name"].error("is missing or empty.")
    return each.name


def _pod(each: Object, specs: PodSpecs) -> Pod:
    value = each.value
    return Pod(
        name=_named(each),
        namespace=each.namespace,
        labels=value["metadata"]["labels"].pairs(),
        owner=each.owner,
        spec=specs.read(value["spec"]),
        node_name=value["spec"]["nodeName"].text(),
        phase=value["status"]["phase"].text(),
        terminating=not value["metadata"]["deletionTimestamp"].missing,
    )


def _workload(each: Object, made_by: set[WorkloadKey], specs: PodSpecs) -> Workload | None:
    found = find_pod_template(each.kind, each.value)
    if found is None or (each.key in made_by and each.kind != DAEMON_SET):
        return None
    return Workload(
        kind=each.kind,
        name=_named(each),
        namespace=each.namespace,
        labels=found.value["metadata"]["labels"].pairs(),
        spec=_spec_of(each, found, specs),
        count=found.count,
        first=found.first,
    )


def _spec_of(each: Object, found: PodTemplate, specs: PodSpecs) -> PodSpec:
    value = found.value["spec"]
    daemon = list_daemon_tolerations(value) if each.kind == DAEMON_SET else ()
    claims = (VOLUME_CLAIMS,) if list(each.value["spec"]["volumeClaimTemplates"].items()) else ()
    node = value["nodeName"].text()
    bound = (f"spec.nodeName {node}: the pods go to this node without kube-scheduler",) if node else ()
    return specs.read(value, more_tolerations=daemon, more_unmodelled=(*claims, *bound))
