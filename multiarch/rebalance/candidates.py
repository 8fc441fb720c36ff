"""Which pods on amd64 nodes may be moved, and why the others stay.

The reasons are those of kubectl drain and of the cluster autoscaler, and some more: what is not known stays.
Sources: https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/;
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md (what types of pods can prevent a node
from being removed); https://karpenter.sh/docs/concepts/disruption/ (pod-level controls).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from multiarch.facts.architectures import Architecture
from multiarch.facts.rebalance import DO_NOT_DISRUPT, OFF, OPT_OUT_ANNOTATION
from multiarch.facts.taints import Taint
from multiarch.manifests.owners import WorkloadKey
from multiarch.manifests.selectors import LabelSelector
from multiarch.manifests.values import ObjectReference, Value
from multiarch.rebalance.snapshot import REPLACE_PODS, LivePod, Snapshot
from multiarch.scheduling.architectures import explain_exclusion
from multiarch.scheduling.tolerations import find_untolerated

_ANNOTATIONS: Mapping[str, str] = MappingProxyType(
    {
        OPT_OUT_ANNOTATION: OFF,
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        DO_NOT_DISRUPT: "true",
    }
)
_MIRROR = "kubernetes.io/config.mirror"
"""On a static pod's object."""
_SYSTEM_PRIORITY = 2_000_000_000
_SEVERAL = 2
_DEFAULT_SCHEDULER = "default-scheduler"
_ANYWHERE = frozenset(("name", "configMap", "downwardAPI", "image", "nfs", "projected", "secret"))
"""Kinds of volumes that a pod finds on every node."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which pods may be moved: those in ``namespaces`` (empty: all) with labels that ``selector`` matches.

    ``empty_dirs``: also with emptyDir volumes, whose data is deleted; ``single``: also a workload's only ready pod.
    ``set_aside`` are workloads that an earlier run could not move.
    """

    namespaces: Collection[str] = ()
    selector: LabelSelector = field(default_factory=LabelSelector)
    empty_dirs: bool = False
    single: bool = False
    set_aside: Mapping[WorkloadKey, str] = field(default_factory=dict)


def is_meant(each: LivePod, choice: Choice) -> bool:
    """Return whether a pod is looked at: one that ``choice`` selects, that a controller replaces on whichever node."""
    pod = each.pod
    if pod.daemon or pod.terminating or _MIRROR in each.annotations:
        return False
    if choice.namespaces and pod.namespace not in choice.namespaces:
        return False
    return choice.selector.matches(dict(pod.labels))


def could_run(each: LivePod, taint: Taint | None) -> bool:
    """Return whether a pod's own rules allow arm64 nodes with this taint."""
    pod = each.pod
    if taint is not None and find_untolerated(pod.spec.tolerations, (taint,)) is not None:
        return False
    spec = Value(each.value["spec"], ObjectReference(1, "Pod", str(pod)), None, "spec")
    return explain_exclusion(spec, pod.spec.affinity, Architecture.ARM64) is None


def explain_stay(each: LivePod, snapshot: Snapshot, choice: Choice) -> str:
    """Explain in a clause why a pod that could run on arm64 stays; empty if only its images can be in the way."""
    return (
        _of_its_controller(each, snapshot)
        or explain_annotation(each.annotations)
        or _of_its_volumes(each, empty_dirs=choice.empty_dirs)
        or _of_its_scheduling(each)
        or _of_its_state(each, snapshot, choice)
    )


def _of_its_controller(each: LivePod, snapshot: Snapshot) -> str:
    owner = each.pod.owner
    if owner is None or not each.controller:
        return "it has no controller that would replace it"
    found = snapshot.controllers.get(each.controller)
    if found is None and owner.kind == "Job":
        return "it is a Job's: it would start over"
    if found is None and owner.kind in REPLACE_PODS:
        return f"its controller {owner} was not found"
    if found is None:
        return f"its controller {owner} is not a ReplicaSet, StatefulSet or ReplicationController"
    return found.changing


def explain_annotation(annotations: Mapping[str, str]) -> str:
    """Return which of a pod's annotations keeps it where it is, a clause, or an empty string."""
    found = next((key for key, off in _ANNOTATIONS.items() if annotations.get(key) == off), None)
    return "" if found is None else f"its annotation {found} is {_ANNOTATIONS[found]!r}"


def _of_its_volumes(each: LivePod, *, empty_dirs: bool) -> str:
    allowed = _ANYWHERE | {"emptyDir"} if empty_dirs else _ANYWHERE
    for volume in each.value["spec"].get("volumes") or ():
        kind = next((key for key in volume if key not in allowed), None)
        if kind is None:
            continue
        name = volume.get("name")
        if kind == "emptyDir":
            return f"volume {name} is an emptyDir, whose data would be deleted (--delete-emptydir-data)"
        if kind == "hostPath":
            return f"volume {name} is a hostPath: files of its node"
        return f"volume {name} ({kind}) may be tied to a zone or a node"
    return ""


def _of_its_scheduling(each: LivePod) -> str:
    spec = each.value["spec"]
    scheduler = spec.get("schedulerName") or _DEFAULT_SCHEDULER
    if scheduler != _DEFAULT_SCHEDULER:
        return f"the scheduler {scheduler} has rules of its own"
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    if any(port.get("hostPort") for container in containers for port in container.get("ports") or ()):
        return "it has host ports, which an arm64 node may not have free"
    if spec.get("resourceClaims"):
        return "it has resource claims"
    if (each.pod.spec.priority or 0) >= _SYSTEM_PRIORITY:
        return "its priority is a system pod's"
    return ""


def _of_its_state(each: LivePod, snapshot: Snapshot, choice: Choice) -> str:
    controller = snapshot.controllers[each.controller]
    if (why := choice.set_aside.get(controller.workload)) is not None:
        return why
    if not each.ready:
        return "it is not ready"
    budgets = snapshot.budgets_of(each.pod)
    if len(budgets) > 1:
        names = ", ".join(budget.name for budget in budgets)
        return f"several PodDisruptionBudgets select it ({names}), which the eviction API rejects"
    if budgets and not budgets[0].allowed:
        return f"the PodDisruptionBudget {budgets[0].name} allows no eviction now"
    if needs_another(each, snapshot, choice) and snapshot.ready_by_controller.get(each.controller, 0) < _SEVERAL:
        return "it is its workload's only ready pod, and no PodDisruptionBudget selects it (--evict-single)"
    return ""


def needs_another(each: LivePod, snapshot: Snapshot, choice: Choice) -> bool:
    """Return whether a pod may be evicted only while another one of its controller is ready: no budget guards it."""
    return not choice.single and not snapshot.budgets_of(each.pod)


def get_grace_seconds(value: Mapping[str, Any]) -> int:
    """Return a pod's termination grace period."""
    found = value["spec"].get("terminationGracePeriodSeconds")
    return 30 if found is None else int(found)
