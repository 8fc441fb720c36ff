"""Which kinds of objects have a pod template, where, and how many pods they make at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from multiarch.errors import KeyPath
from multiarch.manifests.values import Value

DAEMON_SET = "DaemonSet"
_TEMPLATE: KeyPath = ("spec", "template")
MOST_PODS = 150_000
"""What a cluster can have: https://kubernetes.io/docs/setup/best-practices/cluster-large/."""


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """The pod template of an object, how many pods it makes, and the number in the first one's name."""

    value: Value
    count: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class _WorkloadKind:
    """``template`` leads from the object to the pod template; ``count`` and ``first`` read the object's ``spec``."""

    count: Callable[[Value], int]
    first: Callable[[Value], int] = lambda _: 0
    template: KeyPath = _TEMPLATE


def _replicas(spec: Value) -> int:
    return spec["replicas"].whole(1, least=0, most=MOST_PODS)


def _parallel(spec: Value) -> int:
    """Return how many pods a Job runs at once: as many as it may, and none while it is suspended."""
    count = spec["parallelism"].whole(1, least=0, most=MOST_PODS)
    if not spec["completions"].missing:
        count = min(count, spec["completions"].whole(0, least=0))
    return 0 if spec["suspend"].truth() else count


def _of_one_run(spec: Value) -> int:
    count = _parallel(spec["jobTemplate"]["spec"])
    return 0 if spec["suspend"].truth() else count


KINDS: Mapping[str, _WorkloadKind] = MappingProxyType(
    {
        "CronJob": _WorkloadKind(_of_one_run, template=("spec", "jobTemplate", *_TEMPLATE)),
        DAEMON_SET: _WorkloadKind(lambda _: 1),
        "Deployment": _WorkloadKind(_replicas),
        "Job": _WorkloadKind(_parallel),
        "ReplicaSet": _WorkloadKind(_replicas),
        "ReplicationController": _WorkloadKind(_replicas),
        "StatefulSet": _WorkloadKind(_replicas, lambda spec: spec["ordinals"]["start"].whole(0, least=0)),
    }
)
POD_SPECS: Mapping[str, KeyPath] = MappingProxyType(
    {"Pod": ("spec",), "PodTemplate": ("template", "spec")}
    | {kind: (*row.template, "spec") for kind, row in KINDS.items()}
)
"""Where Kubernetes' own kinds have their pod spec."""
_OWN_GROUPS = frozenset(("", "apps", "batch", "extensions"))
"""API groups of Kubernetes' own kinds; in other groups the same name is another kind."""


def find_pod_spec(kind: str, api_version: object) -> KeyPath | None:
    """Return where an object of one of Kubernetes' own kinds has its pod spec; ``None`` for other kinds."""
    group = api_version.rpartition("/")[0] if isinstance(api_version, str) else ""
    return POD_SPECS.get(kind) if group in _OWN_GROUPS else None


def find_pod_template(kind: str, content: Value) -> PodTemplate | None:
    """Return the pod template of an object, ``None`` where it has none, as a Pod.

    A kind that is not Kubernetes' own has one where ``spec.template.spec.containers`` is a list, and makes
    ``spec.replicas`` pods (1 if that is missing). Raises ManifestError for one of these without its template, and for
    invalid counts.
    """
    row = KINDS.get(kind) if find_pod_spec(kind, content["apiVersion"].raw) else None
    if row is None:
        here: object = content.raw
        for key in (*_TEMPLATE, "spec", "containers"):
            here = here.get(key) if isinstance(here, Mapping) else None
        if not isinstance(here, list | tuple):
            return None
        row = _WorkloadKind(_replicas)
    spec, template = content["spec"], content.at(row.template)
    found = PodTemplate(template, row.count(spec), row.first(spec))
    if template["spec"].missing:
        raise template["spec"].error("is missing.")
    return found
