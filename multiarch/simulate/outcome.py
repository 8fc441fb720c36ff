"""The result of a simulation, put together once all pods are placed: for every group why it was used, or why not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import HOSTNAME
from multiarch.scheduling.fit import explain_never, list_unmodelled, runs_on
from multiarch.scheduling.pods import Pod
from multiarch.simulate.model import (
    Batch,
    GroupAnswer,
    GroupOutcome,
    OmittedPods,
    PodPlacement,
    Reasons,
    SimulatedDaemonSet,
    Simulation,
    TypeCount,
    Waiting,
    WorkloadOutcome,
)
from multiarch.simulate.nodes import Nodes, SimNode
from multiarch.simulate.notes import list_notes
from multiarch.simulate.offerings import list_type_indices
from multiarch.simulate.pools import Pool, relax_spec
from multiarch.simulate.supply import Supply

_HOST = re.compile(rf"(?<={re.escape(HOSTNAME)})=\S+")
"""The name of a node in a reason: one that differs by it alone is the same."""


@dataclass(frozen=True)
class FinalState:
    """The state once all pods are placed."""

    plan: AutoscalingPlan
    supply: Supply
    nodes: Nodes
    reasons: Reasons

    @cached_property
    def pools(self) -> Mapping[str, Pool]:
        """The NodePools, by name."""
        return {pool.plan.name: pool for pool in self.supply.pools}

    @cached_property
    def groups(self) -> tuple[GroupOutcome, ...]:
        """All groups in the order in which they are tried: of the autoscaler in use first, then by preference."""
        return tuple(sorted((*self._node_groups(), *self._node_pools()), key=self._rank))

    def _node_groups(self) -> Iterator[GroupOutcome]:
        autoscaler = self.plan.cluster_autoscaler
        priorities = {row.group: row.priority for row in autoscaler.priorities} if autoscaler else {}
        scaled_by = Autoscaler.CLUSTER_AUTOSCALER if autoscaler else None
        for group in self.supply.groups:
            kind = f"node group, {group.architecture} {group.bought}"
            most = group.sizes.maximum if autoscaler else None
            yield self._outcome(group.name, kind, scaled_by, priorities.get(group.name), most)

    def _node_pools(self) -> Iterator[GroupOutcome]:
        for name, pool in self.pools.items():
            capacities = " and ".join(f"{each.architecture} {each.capacity_type}" for each in pool.plan.capacities)
            scaled_by = Autoscaler.AUTO_MODE if pool.plan.auto_mode else Autoscaler.KARPENTER
            yield self._outcome(name, f"NodePool, {capacities}", scaled_by, pool.plan.weight)

    def _outcome(
        self, name: str, kind: str, scaled_by: Autoscaler | None, preference: int | None, most: int | None = None
    ) -> GroupOutcome:
        nodes = self.nodes.of_group(name)
        new = [node for node in nodes if node.new]
        return GroupOutcome(
            name=name,
            kind=kind,
            scaled_by=scaled_by,
            preference=preference,
            existing=len(nodes) - len(new),
            new=len(new),
            max_size=most,
            instance_types=tuple(starmap(TypeCount, sorted(Counter(node.instance_type for node in new).items()))),
            pods=sum(node.pods for node in nodes),
            cpu_allocatable=sum(node.shape.allocatable.cpu for node in nodes),
            cpu_requested=sum(node.shape.allocatable.cpu - node.free.cpu for node in nodes),
            memory_allocatable=sum(node.shape.allocatable.memory for node in nodes),
            memory_requested=sum(node.shape.allocatable.memory - node.free.memory for node in nodes),
        )

    def _rank(self, group: GroupOutcome) -> tuple[int, int, str]:
        order = {self.plan.use: 0, None: 2}.get(group.scaled_by, 1)
        return order, -(group.preference or 0), group.name


def list_places(batch: Batch, state: FinalState) -> tuple[PodPlacement, ...]:
    """Return the node of each placed pod of a batch, in the order in which they were placed."""
    found = state.nodes.where[batch.number]
    return tuple(
        PodPlacement(pod.name, node.group, node.node.name, node.new, node.architectures) for pod, node in found
    )


def list_answers(batch: Batch, unplaced: bool, state: FinalState) -> tuple[GroupAnswer, ...]:  # noqa: FBT001
    """Return one answer for each group, in the order in which they are tried for a batch."""
    nodes = [node for _, node in state.nodes.where[batch.number]]
    counts = Counter(node.group for node in nodes)
    fresh = {node.group for node in nodes if node.new}
    views = state.groups
    used = [view for view in views if view.name in fresh]
    rows, rank = [], 0
    for view in views:
        never = _why_never(batch, view, state)
        tried = never is None and view.scaled_by is not None
        rank += tried
        if never is not None:
            reason = never
        elif counts[view.name]:
            # It took pods: why it was not the first choice says nothing any more.
            others = unplaced or len(counts) > 1
            reason = _why_no_more(batch, view, state, unplaced=unplaced) if others else ""
        else:
            reason = _why_unused(batch, view, used, state, unplaced=unplaced)
        rows.append(GroupAnswer(view.name, rank if tried else None, never is None, counts[view.name], reason))
    return tuple(rows)


def _why_never(batch: Batch, view: GroupOutcome, state: FinalState) -> str | None:
    """Return why a pod does not fit even an empty node of a group, or None."""
    pool = state.pools.get(view.name)
    if pool is None:
        reason = explain_never(batch.sample.spec, state.supply.shapes[view.name])
        return None if reason is None else reason.text
    offer = pool.offer(batch.sample.spec, soft_taints=False)
    if offer is not None and offer.types & pool.with_room_for(batch.sample.requests):
        return None
    if key := pool.unknown_topology_key(batch.sample.spec):
        return f"{pool.plan.owner} knows no values of the topology key {key}"
    texts = []
    for type_set in pool.type_sets:
        reason = explain_never(batch.sample.spec, pool.shapes[max(list_type_indices(type_set))])
        if reason is not None and reason.text not in texts:
            texts.append(reason.text)
    return "; ".join(texts) or "too large for its instance types, DaemonSets included"


def _why_no_more(batch: Batch, view: GroupOutcome, state: FinalState, *, unplaced: bool) -> str:
    """Return why a group that got pods of a batch got no more of them, where that is a limit and not a preference."""
    if view.scaled_by is None:
        more = unplaced or any(node.new for _, node in state.nodes.where[batch.number])
        return f"{_why_not_there(batch, view, state)}, and no autoscaler adds nodes" if more else ""
    return state.reasons.rejected.get((batch.number, view.name), "")


def _why_unused(
    batch: Batch, view: GroupOutcome, used: list[GroupOutcome], state: FinalState, *, unplaced: bool
) -> str:
    """Return why a group that fits the pods got no new node for them."""
    recorded = state.reasons.get(batch, view.name)
    if view.scaled_by is None:
        if not used and not unplaced:
            return "existing nodes of other groups had room"
        return f"{_why_not_there(batch, view, state)}, and no autoscaler adds nodes"
    pool = state.pools.get(view.name)
    if pool is not None and pool.closed:
        return pool.why_limited(batch.sample.requests)
    better = [each for each in used if each.scaled_by is view.scaled_by]
    if better:
        return _why_not_before(batch, view, better[0], recorded, pool)
    if used and not recorded:
        return f"{used[0].scaled_by} placed the pods first"
    return recorded or "existing nodes had room"


def _why_not_there(batch: Batch, view: GroupOutcome, state: FinalState) -> str:
    """Return why the nodes of a group without an autoscaler take no more pods, each reason once."""
    there = state.nodes.of_group(view.name)
    if not there:
        return "it has no nodes"
    texts = Counter(_why_not_on(batch, node, state) for node in there)
    whole = "its node" if len(there) == 1 else f"its {len(there)} nodes"
    return "; ".join(
        f"{text} on {whole}" if count == len(there) else f"{text} on {count} of {whole}"
        for text, count in texts.items()
    )


def _why_not_on(batch: Batch, node: SimNode, state: FinalState) -> str:
    """Return why one node takes no more pods of a batch, without the name of the node."""
    spec = batch.sample.spec
    if not node.free.covers(batch.sample.requests):
        return "no room left"
    if not spec.affinity.allows(node.node.labels):
        return "nodeSelector or affinity requires another zone"
    reason = state.nodes.why_not(batch, node.node)
    return _HOST.sub("", reason.text) if reason else "excluded by other pods when these were scheduled"


def _why_not_before(batch: Batch, view: GroupOutcome, best: GroupOutcome, recorded: str, pool: Pool | None) -> str:
    """Return why the same autoscaler chose another group."""
    word = "weight" if pool else "priority"
    if (view.preference or 0) < (best.preference or 0):
        return f"{word} {view.preference} below {best.name}'s {best.preference}"
    if recorded:
        return recorded
    if pool is not None and _is_tried_later(batch, pool):
        return f"{pool.plan.owner} tries the affinity term or preference first that {best.name} satisfies"
    if view.preference == best.preference:
        return f"same {word} as {best.name}, which was chosen"
    return f"a planned node of {best.name} has room, and planned nodes are filled first"


def _is_tried_later(batch: Batch, pool: Pool) -> bool:
    spec, soft = next(iter(relax_spec(batch.sample.spec, soft_taints=True)))
    return pool.offer(spec, soft_taints=soft) is None


def build_simulation(
    state: FinalState,
    batches: Sequence[Batch],
    pods: Sequence[Pod],
    waiting: Waiting,
    *,
    zones_assumed: str,
    region: str | None,
) -> Simulation:
    """Return the result for ``pods``, of which ``batches`` were placed, except those in ``waiting``."""
    daemons = [pod for pod in pods if pod.per_node]
    left = {batch.number: [pod.name for pod in waiting.get(batch, ())] for batch in batches}
    return Simulation(
        autoscaler=state.plan.use,
        groups=state.groups,
        workloads=tuple(_workload(batch, left[batch.number], state) for batch in batches),
        daemon_sets=_daemon_sets(daemons, state.nodes),
        omitted=_omitted(pods),
        notes=list_notes(state.plan, state.supply, batches, zones_assumed=zones_assumed, region=region),
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
    placed = list_places(batch, state)
    return WorkloadOutcome(
        name=batch.name,
        namespace=batch.sample.namespace,
        pods=len(batch.pods),
        answers=list_answers(batch, bool(left), state),
        places=placed,
        unplaced=tuple(left),
        notes=list_unmodelled(batch.sample),
        on_amd64=sum(each.architectures == (Architecture.AMD64,) for each in placed)
        if any(Architecture.ARM64 in each.architectures for each in state.supply.takers(batch.sample.spec, sized=True))
        else 0,
    )


def _daemon_sets(daemons: Sequence[Pod], nodes: Nodes) -> tuple[SimulatedDaemonSet, ...]:
    counts = Counter(node.shape for node in nodes.all)
    return tuple(
        SimulatedDaemonSet(
            name=daemon.name,
            namespace=daemon.namespace,
            nodes=sum(count for shape, count in counts.items() if runs_on(daemon, shape)),
            cpu=daemon.requests.cpu,
            memory=daemon.requests.memory,
        )
        for daemon in daemons
    )
