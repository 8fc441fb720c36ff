"""Which kinds of objects embed a pod's spec, where, and how many pods they make at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from multiarch.manifests.values import Value

DAEMON_SET = "DaemonSet"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A pod template in an object: where it stands, how many pods it makes, and the first one's number."""

    template: Value
    count: int
    first: int = 0


def _replicas(spec: Value) -> Embedded:
    return Embedded(spec["template"], spec["replicas"].whole(1, least=0))


def _stateful_set(spec: Value) -> Embedded:
    first = spec["ordinals"]["start"].whole(0, least=0)
    return Embedded(spec["template"], spec["replicas"].whole(1, least=0), first)


def _job(spec: Value) -> Embedded:
    """A job runs as many pods at once as it may, none while it is suspended."""
    count = spec["parallelism"].whole(1, least=0)
    if not spec["completions"].missing:
        count = min(count, spec["completions"].whole(0, least=0))
    return Embedded(spec["template"], 0 if spec["suspend"].truth() else count)


def _cron_job(spec: Value) -> Embedded:
    """One run's job."""
    job = _job(spec["jobTemplate"]["spec"])
    return Embedded(job.template, 0 if spec["suspend"].truth() else job.count)


def _daemon_set(spec: Value) -> Embedded:
    return Embedded(spec["template"], 1)


KINDS: Mapping[str, Callable[[Value], Embedded]] = MappingProxyType(
    {
        "CronJob": _cron_job,
        DAEMON_SET: _daemon_set,
        "Deployment": _replicas,
        "Job": _job,
        "ReplicaSet": _replicas,
        "ReplicationController": _replicas,
        "StatefulSet": _stateful_set,
    }
)


def embedded(kind: str, spec: Value) -> Embedded | None:
    """Find the pod template in an object's ``spec``; ``None`` where there is none.

    A kind that is not known has one where ``spec.template.spec.containers`` is a list, and makes ``spec.replicas``
    pods (1 if that is missing). A pod is not embedded in anything. Raises ManifestError for a known kind without its
    template, and for counts that are none.
    """
    if kind in KINDS:
        found = KINDS[kind](spec)
        if found.template["spec"].missing:
            raise found.template["spec"].error("is missing.")
        return found
    here: object = spec.raw
    for key in ("template", "spec", "containers"):
        here = here.get(key) if isinstance(here, Mapping) else None
    return _replicas(spec) if isinstance(here, list | tuple) else None
