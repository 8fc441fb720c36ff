"""What a pod requests in all: containers, init containers, sidecars, pod-level resources and overhead.

Sources: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
(KEP-753), https://kubernetes.io/docs/tasks/configure-pod-container/assign-pod-level-resources/ (KEP-2837),
https://kubernetes.io/docs/concepts/scheduling-eviction/pod-overhead/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

from multiarch.manifests.values import Value
from multiarch.scheduling.resources import ResourceAmounts

_Amounts = dict[str, Fraction]
_NOTHING: Mapping[str, Fraction] = MappingProxyType({})
_ASSUMED = MappingProxyType({"cpu": Fraction(1, 10), "memory": Fraction(200 * 2**20)})
"""What kube-scheduler's scores assume of a container without requests (``schedutil.DefaultMilliCPURequest``)."""


def sum_requests(pod_spec: Value) -> ResourceAmounts:
    """Return what the scheduler reserves for a pod, ``pods`` = 1.

    Raises ManifestError for an invalid quantity, and for a pod without containers.
    """
    return _requests(pod_spec, _NOTHING)


def sum_assumed_requests(pod_spec: Value, requests: ResourceAmounts) -> ResourceAmounts:
    """Return what scores add to a pod's ``requests`` for containers without requests of CPU or memory."""
    with_defaults = _requests(pod_spec, _ASSUMED)
    return ResourceAmounts(cpu=with_defaults.cpu - requests.cpu, memory=with_defaults.memory - requests.memory)


def _requests(pod_spec: Value, missing: Mapping[str, Fraction]) -> ResourceAmounts:
    """Add up requests, with those in ``missing`` for containers that have none."""
    containers = list(pod_spec["containers"].items())
    if not containers:
        raise pod_spec["containers"].error("is missing or empty.")
    of_containers = _of_containers(containers, pod_spec["initContainers"].items(), missing)
    amounts = _at_pod_level(pod_spec["resources"], of_containers)
    _add(amounts, pod_spec["overhead"].quantities())
    return ResourceAmounts.of({**amounts, "pods": Fraction(1)})


def _of_containers(
    containers: Iterable[Value], init_containers: Iterable[Value], missing: Mapping[str, Fraction]
) -> _Amounts:
    """Return the larger of what runs for good and the most that start-up takes, resource by resource.

    A sidecar (an init container with restartPolicy Always) runs for good, beside each init container after it.
    """
    running: _Amounts = {}
    for container in containers:
        _add(running, {**missing, **_of_container(container)})
    sidecars: _Amounts = {}
    starting: _Amounts = {}
    for container in init_containers:
        wanted = {**missing, **_of_container(container)}
        if container["restartPolicy"].text() == "Always":
            _add(running, wanted)
            _add(sidecars, wanted)
            _raise_to(starting, sidecars)
        else:
            _add(wanted, sidecars)
            _raise_to(starting, wanted)
    _raise_to(running, starting)
    return running


def _of_container(container: Value) -> _Amounts:
    # The API server fills in the limit where there is no request.
    resources = container["resources"]
    return {**resources["limits"].quantities(), **resources["requests"].quantities()}


def _at_pod_level(resources: Value, of_containers: _Amounts) -> _Amounts:
    """Put pod-level requests in the containers' place, for CPU, memory and huge pages.

    A pod-level limit stands in for the request only where no container requests that resource.
    """
    limits = {name: amount for name, amount in resources["limits"].quantities().items() if _pod_level(name)}
    requests = {name: amount for name, amount in resources["requests"].quantities().items() if _pod_level(name)}
    # Huge pages can't be overcommitted: their request is the limit, even if containers request less.
    huge = {name: amount for name, amount in limits.items() if name.startswith("hugepages-")}
    return {**limits, **of_containers, **huge, **requests}


def _pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _add(amounts: _Amounts, more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        amounts[name] = amounts.get(name, Fraction(0)) + amount


def _raise_to(amounts: _Amounts, least: Mapping[str, Fraction]) -> None:
    for name, amount in least.items():
        amounts[name] = max(amounts.get(name, Fraction(0)), amount)
