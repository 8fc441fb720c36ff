"""What was assumed for a capacity report, what is wrong with its input, and what is never modelled."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from multiarch.capacity.failures import Before
from multiarch.capacity.model import FailureResult
from multiarch.capacity.waiting import describe_waits
from multiarch.capacity.workloads import SPREAD, Replicas, claims_volumes, get_pod_key
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ZONE
from multiarch.plurals import join_names
from multiarch.prices.model import RegionPrices
from multiarch.scheduling.fit import list_unmodelled
from multiarch.simulate.notes import list_reservation_notes
from multiarch.simulate.supply import Supply

_PREEMPTION = "priority class"
"""How the note begins about pods of higher priority, which displace others here."""
_VOLUMES = ("volumes (persistentVolumeClaim)", "volume claim templates")
_SHOWN = 5
"""Workloads that a sentence names."""


def name_workloads(workloads: Iterable[Replicas]) -> str:
    """Return ``shop Deployment/api, shop Deployment/web and 3 more``."""
    return join_names([str(each) for each in workloads], _SHOWN)


def list_assumptions(before: Before, workloads: Sequence[Replicas], node_start: int) -> Iterator[str]:
    """Yield what is assumed for these workloads, a sentence or more each."""
    if before.context.assumed:
        yield before.context.assumed
    if pools := before.plan.autoscaling.pools:
        yield _about_types(f"{pools[0].owner}'s nodes", before.context.prices)
    without = [each for each in workloads if not all((each.pods[0].requests.cpu, each.pods[0].requests.memory))]
    if without:
        yield (
            f"{name_workloads(without)}: without a request for CPU or memory, which counts as 0. Defaults of a "
            "LimitRange are not read."
        )
    if not before.daemons:
        yield "There are no DaemonSets among the workloads; theirs take CPU, memory and a pod slot on every node."
    claiming = [each for each in workloads if claims_volumes(each.pods[0].spec)]
    if claiming and before.zonal_volumes:
        yield (
            f"{name_workloads(claiming)}: volumes of PersistentVolumeClaims stay in the zone of their pod, as EBS "
            "volumes do; --movable-volumes is for others. How many an instance can attach is not checked."
        )
    yield from list_reservation_notes(before.plan.autoscaling, before.plan.node_groups)
    yield from describe_waits(node_start)


def _about_types(whose: str, prices: RegionPrices | None) -> str:
    """Return which instance types nodes of NodePools are of: failures lose other pods with other nodes."""
    if prices is None:
        return f"{whose} are of the smallest instance type that holds their pods; by --prices of the cheapest."
    return (
        f"{whose} are of the cheapest instance type that holds their pods, by the prices of "
        f"{prices.fetched:%Y-%m-%d %H:%M} UTC."
    )


def list_warnings(
    before: Before, workloads: Sequence[Replicas], without_failure: FailureResult, supply: Supply
) -> Iterator[str]:
    """Yield what makes the report uncertain or worse than it has to be."""
    for result in without_failure.workloads:
        if result.pending:
            yield (
                f"{result.namespace} {result.name}: {result.pending} of {result.replicas} pods get no node even when "
                f"nothing fails: {result.limit}."
            )
    yield from _about_zones(before, workloads, supply)
    yield from _about_images(before, workloads, supply)
    by_note: dict[str, list[Replicas]] = {}
    for workload in workloads:
        for note in list_unmodelled(workload.pods[0]):
            if not note.startswith(_PREEMPTION) and not (before.zonal_volumes and note.startswith(_VOLUMES)):
                by_note.setdefault(note, []).append(workload)
    unknown = [each for each in workloads if each.pods[0].spec.priority is None]
    if unknown:
        names = ", ".join(dict.fromkeys(each.pods[0].spec.priority_class for each in unknown))
        yield f"{name_workloads(unknown)}: the PriorityClass {names} is not in the manifests; its priority counts as 0."
    for note, found in by_note.items():
        yield f"{name_workloads(found)}: not checked: {note}."


def _about_zones(before: Before, workloads: Sequence[Replicas], supply: Supply) -> Iterator[str]:
    """Yield workloads that one zone takes as a whole, though their pods could be in several.

    Those with volumes are advised where a failure holds them.
    """
    zones: dict[Hashable, set[str | None]] = {}
    for node in before.settled.nodes:
        for pod in node.pods:
            zones.setdefault(get_pod_key(pod), set()).add(node.zone)
    together: dict[str, list[Replicas]] = {}
    for workload in workloads:
        spec, where = workload.pods[0].spec, zones.get(get_pod_key(workload.pods[0]), set())
        (only, *others) = sorted(zone or "" for zone in where) or [""]
        if not only or others or len(workload.pods) == 1 or workload.batch or workload.bare:
            continue
        held = before.zonal_volumes and claims_volumes(spec)
        if not held and not any(each.topology_key == ZONE for each in spec.spread) and len(supply.zones(spec)) > 1:
            together.setdefault(only, []).append(workload)
    for zone, found in sorted(together.items()):
        yield (
            f"{name_workloads(found)}: all pods are in zone {zone}. Spread them by {SPREAD} DoNotSchedule, or "
            "ScheduleAnyway as a preference: `multiarch workload patch --manifests FILE --spread-zones DoNotSchedule`."
        )


def _about_images(before: Before, workloads: Sequence[Replicas], supply: Supply) -> Iterator[str]:
    for workload in workloads:
        support = before.images.get(workload.key)
        if support is None:
            continue
        for image, reason in support.unknown:
            yield f"{workload}: it is unknown which architectures {image} supports: {reason.rstrip('.')}."
        for architecture in Architecture:
            missing = support.missing(architecture)
            written = before.written.get(workload.key)
            if written is not None and missing and architecture in supply.architectures(written.spec):
                yield (
                    f"{workload}: its pods may be scheduled to {architecture} nodes, where {', '.join(missing)} does "
                    f"not run. `multiarch workload patch --manifests FILE --require {_other(architecture)}` prevents "
                    "it; here they are kept off."
                )


def _other(architecture: Architecture) -> Architecture:
    return next(each for each in Architecture if each is not architecture)
