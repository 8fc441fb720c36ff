"""The result of a simulation, put together once all pods are placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import starmap

from multiarch.facts.architectures import Architecture
from multiarch.scheduling.fit import runs_on, unmodelled
from multiarch.scheduling.pods import Pod
from multiarch.simulate.model import (
    Batch,
    DaemonSetOutcome,
    OmittedPods,
    Simulation,
    Waiting,
    WorkloadOutcome,
)
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.notes import notes_on
from multiarch.simulate.reasons import FinalState, answers, places


def simulation_of(
    state: FinalState,
    batches: Sequence[Batch],
    pods: Sequence[Pod],
    waiting: Waiting,
    *,
    zones_assumed: str,
    region: str | None,
) -> Simulation:
    """The result for ``pods``, of which ``batches`` were placed, except those in ``waiting``."""
    daemons = [pod for pod in pods if pod.per_node]
    left = {batch.number: [pod.name for pod in waiting.get(batch, ())] for batch in batches}
    return Simulation(
        autoscaler=state.plan.use,
        groups=state.groups,
        workloads=tuple(_workload(batch, left[batch.number], state) for batch in batches),
        daemon_sets=_daemon_sets(daemons, state.nodes),
        omitted=_omitted(pods),
        notes=notes_on(state.plan, state.supply, batches, zones_assumed=zones_assumed, region=region),
    )


def _omitted(pods: Sequence[Pod]) -> tuple[OmittedPods, ...]:
    counts: Counter[str] = Counter()
    for pod in pods:
        if pod.per_node:
            continue
        if pod.daemon:
            counts["of DaemonSets"] += 1
        elif not pod.waiting:
            counts["already on a node, or finished"] += 1
    return tuple(starmap(OmittedPods, sorted(counts.items())))


def _workload(batch: Batch, left: Sequence[str], state: FinalState) -> WorkloadOutcome:
    placed = places(batch, state)
    return WorkloadOutcome(
        name=batch.name,
        namespace=batch.sample.namespace,
        pods=len(batch.pods),
        answers=answers(batch, bool(left), state),
        places=placed,
        unplaced=tuple(left),
        notes=unmodelled(batch.sample),
        on_amd64=sum(each.architectures == (Architecture.AMD64,) for each in placed)
        if any(Architecture.ARM64 in each.architectures for each in state.supply.takers(batch.sample.spec, sized=True))
        else 0,
    )


def _daemon_sets(daemons: Sequence[Pod], nodes: Nodes) -> tuple[DaemonSetOutcome, ...]:
    counts = Counter(node.shape for node in nodes.all)
    return tuple(
        DaemonSetOutcome(
            name=daemon.name,
            namespace=daemon.namespace,
            nodes=sum(count for shape, count in counts.items() if runs_on(daemon, shape)),
            cpu=daemon.requests.cpu,
            memory=daemon.requests.memory,
        )
        for daemon in daemons
    )
