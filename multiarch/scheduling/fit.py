"""Whether a pod fits a node of a shape, and the reason if not.

The filters and their order are kube-scheduler's
(https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins): node name, taints, node selector and
affinity, resources. A pod for another operating system fits no node either: the scheduler would bind it, and the
kubelet reject it. Rules about other pods are in :mod:`multiarch.scheduling.topology`; :func:`list_unmodelled` lists
what is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause, PlacementReason
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.scheduling.tolerations import explain_untolerated, find_untolerated

_SYSTEM = "linux"
_KEPT = 1 << 15


@lru_cache(maxsize=_KEPT)
def explain_never(spec: PodSpec, shape: NodeShape) -> PlacementReason | None:
    """Return why a pod cannot run on any node of this shape, even an empty one, or ``None`` if it can.

    Kept for each pair: pods of one workload share their answer.
    """
    if spec.operating_system != _SYSTEM:
        # kube-scheduler does not look at it. The kubelet rejects the pod, and its controller makes another one.
        return PlacementReason(
            Cause.OPERATING_SYSTEM, f"os.name requires {spec.operating_system}, and the nodes run Linux"
        )
    tainted = _tainted(spec, shape)
    if tainted is not None:
        return tainted
    if not list_allowed_zones(spec, shape):
        return _excluded(spec, shape)
    if not shape.allocatable.covers(spec.requests):
        return _too_large(spec.requests, shape)
    return None


@lru_cache(maxsize=_KEPT)
def list_allowed_zones(spec: PodSpec, shape: NodeShape) -> tuple[str | None, ...]:
    """List the shape's zones in which a pod's selector and affinity allow a node, in the shape's order.

    For a shape without zones the answer is ``(None,)`` or empty. A pod for another operating system has none.
    """
    if spec.operating_system != _SYSTEM:
        return ()
    return tuple(zone for zone in shape.zones or (None,) if spec.affinity.allows(shape.labels_in(zone)))


def sum_daemon_overhead(daemons: Iterable[Pod], shape: NodeShape) -> ResourceAmounts:
    """Add up what DaemonSets' pods take of each node of this shape.

    ``daemons`` are pods with ``per_node`` set; others are not counted. As for the DaemonSet controller, taints,
    selector and affinity decide whether there is one on a node, free resources do not.
    Source: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
    """
    total = ResourceAmounts()
    for daemon in daemons:
        if daemon.per_node and runs_on(daemon, shape):
            total += daemon.requests
    return total


def runs_on(daemon: Pod, shape: NodeShape) -> bool:
    """Return whether a DaemonSet has a pod on each node of this shape; free resources do not matter."""
    return _tainted(daemon.spec, shape) is None and bool(list_allowed_zones(daemon.spec, shape))


def list_unmodelled(pod: Pod) -> tuple[str, ...]:
    """List what ``pod`` requests and neither ``fit`` nor ``topology`` checks, one clause each; empty for most pods.

    Output that shows where a pod goes shows these beside it.
    """
    labels = dict(pod.labels)
    terms = (*pod.spec.pod_affinity, *pod.spec.pod_anti_affinity)
    keys = {key for constraint in pod.spec.spread for key in constraint.match_label_keys}
    keys |= {key for term in terms for key in (*term.match_label_keys, *term.mismatch_label_keys)}
    unknown = sorted(key for key in keys if key not in labels)
    if not unknown:
        return pod.spec.unmodelled
    return (
        *pod.spec.unmodelled,
        f"label keys {', '.join(unknown)}, to be compared with other pods': not in the manifest",
    )


def _tainted(spec: PodSpec, shape: NodeShape) -> PlacementReason | None:
    taint = find_untolerated(spec.tolerations, shape.taints)
    return None if taint is None else PlacementReason(Cause.TAINT, explain_untolerated(spec.tolerations, taint))


def _excluded(spec: PodSpec, shape: NodeShape) -> PlacementReason:
    """Return what excludes every zone; zones are excluded by the same thing, or else by several that are all named."""
    selectors: list[str] = []
    terms: list[str] = []
    for zone in shape.zones or (None,):
        labels = shape.labels_in(zone)
        unmet = spec.affinity.unmet_selector(labels)
        if unmet is not None:
            selectors.append(unmet)
        else:
            terms.append(spec.affinity.unmet_terms(labels) or "")
    texts = list(dict.fromkeys((*selectors, *terms)))
    return PlacementReason(Cause.NODE_SELECTOR if selectors else Cause.NODE_AFFINITY, "; ".join(texts))


def _too_large(wanted: ResourceAmounts, shape: NodeShape) -> PlacementReason:
    shortages = shape.allocatable.shortages(wanted)
    if not shortages:
        return PlacementReason(
            Cause.POD_COUNT, f"a node of {shape.name} has no room for pods (max pods {shape.allocatable.pods})"
        )
    text = "; ".join(str(shortage) for shortage in shortages)
    return PlacementReason(Cause.RESOURCES, f"too large for an empty node of {shape.name}: {text}")
