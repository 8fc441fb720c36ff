"""What a pod requests that ``fit`` and ``topology`` do not check: reported, never guessed."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.facts.tolerations import Toleration
from multiarch.manifests.selectors import LabelSelector
from multiarch.manifests.values import Value
from multiarch.scheduling.topology_rules import NAMESPACE_NAME, PodTerm

# Volumes that live on the node or in the API server tie a pod to no zone and use no attachment of the instance.
_FREE_VOLUMES = frozenset(
    ("name", "configMap", "downwardAPI", "emptyDir", "hostPath", "image", "nfs", "projected", "secret", "gitRepo")
)


def find_unmodelled(pod_spec: Value, tolerations: tuple[Toleration, ...], terms: tuple[PodTerm, ...]) -> Iterator[str]:
    """Yield what a pod's spec requests and is not checked, one clause each."""
    yield from _about_the_node(pod_spec)
    yield from _about_scheduling(pod_spec)
    for toleration in tolerations:
        if toleration.unsupported:
            yield toleration.unsupported
    if any(_needs_namespace_labels(term.namespace_selector) for term in terms):
        yield f"namespaceSelector of a pod affinity term: of a namespace's labels only {NAMESPACE_NAME} is known"


def _about_the_node(pod_spec: Value) -> Iterator[str]:
    containers = [*pod_spec["containers"].items(), *pod_spec["initContainers"].items()]
    if any(not port["hostPort"].missing for container in containers for port in container["ports"].items()):
        yield "host ports: two pods with the same one cannot share a node"
    tied = {key for volume in pod_spec["volumes"].items() for key in volume.mapping()} - _FREE_VOLUMES
    if tied:
        yield f"volumes ({', '.join(sorted(tied))}): their zones, and how many an instance can attach"
    if list(pod_spec["resourceClaims"].items()):
        yield "resource claims (dynamic resource allocation)"
    runtime = pod_spec["runtimeClassName"].text()
    if runtime and pod_spec["overhead"].missing:
        yield f"runtime class {runtime}: its overhead and its node selector are not in the manifest"
    if not pod_spec["resources"].missing:
        yield "pod-level resources: counted as Kubernetes does from 1.34 on"


def _about_scheduling(pod_spec: Value) -> Iterator[str]:
    if list(pod_spec["schedulingGates"].items()):
        yield "scheduling gates: the pod waits until they are removed"
    scheduler = pod_spec["schedulerName"].text("default-scheduler")
    if scheduler != "default-scheduler":
        yield f"scheduler {scheduler}: its own rules"
    if not pod_spec["schedulingGroup"].missing:
        yield "scheduling group: pods that are placed together or not at all"
    if not pod_spec["priorityClassName"].missing and pod_spec["preemptionPolicy"].text() != "Never":
        yield f"priority class {pod_spec['priorityClassName'].text()}: running pods that would make room for this one"


def _needs_namespace_labels(selector: LabelSelector | None) -> bool:
    return selector is not None and any(expression.key != NAMESPACE_NAME for expression in selector.expressions)
