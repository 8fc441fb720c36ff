"""Why a group was used for a pod or not, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.nodes.model import NodeGroupPlan
from multiarch.scheduling.nodes import NodeShape
from multiarch.simulate.cluster_autoscaler import Reasons
from multiarch.simulate.model import Answer, Batch, Place
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.pools import Pool, bits, relaxations


@dataclass(frozen=True, slots=True)
class GroupView:
    """What node groups and NodePools have in common. ``preference`` is a priority or a weight, the higher first."""

    name: str
    kind: str
    scaled_by: Autoscaler | None
    preference: int | None
    most: int | None
    first_type: str
    pool: Pool | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to know once all pods are placed."""

    plan: AutoscalingPlan
    groups: tuple[NodeGroupPlan, ...]
    shapes: Mapping[str, NodeShape]
    pools: tuple[Pool, ...]
    nodes: Nodes
    reasons: Reasons

    def all_groups(self) -> tuple[GroupView, ...]:
        """Groups in the order in which they are tried: the autoscaler in use first, the most wanted first."""
        return tuple(sorted((*self._node_groups(), *self._node_pools()), key=self._place))

    def _node_groups(self) -> Iterator[GroupView]:
        autoscaler = self.plan.cluster_autoscaler
        priorities = {row.group: row.priority for row in autoscaler.priorities} if autoscaler else {}
        for group in self.groups:
            yield GroupView(
                name=group.name,
                kind=f"node group, {group.architecture} {group.capacity_type}",
                scaled_by=Autoscaler.CLUSTER_AUTOSCALER if autoscaler else None,
                preference=priorities.get(group.name),
                most=group.sizes.maximum if autoscaler else None,
                first_type=group.instance_types[0].name,
            )

    def _node_pools(self) -> Iterator[GroupView]:
        for pool in self.pools:
            capacities = " and ".join(f"{each.architecture} {each.capacity_type}" for each in pool.plan.capacities)
            yield GroupView(
                pool.plan.name, f"NodePool, {capacities}", Autoscaler.KARPENTER, pool.plan.weight, None, "", pool
            )

    def _place(self, view: GroupView) -> tuple[int, int, str]:
        order = {self.plan.use: 0, None: 2}.get(view.scaled_by, 1)
        return order, -(view.preference or 0), view.name


def places(batch: Batch, known: Known) -> tuple[Place, ...]:
    """Where each placed pod of a batch is, in the order in which they were placed."""
    found = known.nodes.where[batch.number]
    return tuple(Place(name, node.group, node.node.name, node.new, node.architectures) for name, node in found)


def answers(batch: Batch, unplaced: bool, known: Known) -> tuple[Answer, ...]:  # noqa: FBT001
    """What every group is to a batch, in the order in which they are tried."""
    counts = Counter(place.group for place in places(batch, known))
    fresh = {place.group for place in places(batch, known) if place.new}
    views = known.all_groups()
    used = [view for view in views if view.name in fresh]
    rows, rank = [], 0
    for view in views:
        never = _why_never(batch, view, known)
        tried = never is None and view.scaled_by is not None
        rank += tried
        reason = never or ""
        if never is None and view.name in fresh:
            reason = known.reasons.get((batch.number, view.name), "") if len(used) + unplaced > 1 else ""
        elif never is None and (used or unplaced or not counts[view.name]):
            reason = _why_unused(batch, view, used, known, unplaced=unplaced)
        rows.append(Answer(view.name, rank if tried else None, never is None, counts[view.name], reason))
    return tuple(rows)


def _why_never(batch: Batch, view: GroupView, known: Known) -> str | None:
    """Why no node of a group, be it empty, takes a pod, or None."""
    if view.pool is None:
        reason = known.nodes.fit.why_never(batch.sample, known.shapes[view.name])
        return None if reason is None else reason.text
    pool = view.pool
    offer = pool.offer(batch.sample.spec, shuns_wishes=False)
    if offer is not None and offer.types & pool.roomy(batch.sample.requests):
        return None
    texts = []
    for kind in pool.kinds:
        reason = known.nodes.fit.why_never(batch.sample, pool.shapes[max(bits(kind))])
        if reason is not None and reason.text not in texts:
            texts.append(reason.text)
    return "; ".join(texts) or "too large for its instance types beside DaemonSets"


def _why_unused(batch: Batch, view: GroupView, used: list[GroupView], known: Known, *, unplaced: bool) -> str:
    """Why a group that could take the pods got no new node for them."""
    said = known.reasons.get((batch.number, view.name))
    if view.scaled_by is None:
        content = "the pods found room on other nodes that are there"
        return f"{_why_no_more(batch, view, known)}, and no autoscaler adds one" if used or unplaced else content
    if view.pool is not None and view.pool.closed:
        return view.pool.limits_in_words(batch.sample.requests)
    better = [each for each in used if each.scaled_by is view.scaled_by]
    if better:
        return _why_not_before(batch, view, better[0], said)
    if used and not said:
        return f"{used[0].scaled_by} found room for the pods first"
    return said or "the pods found room on nodes that are there"


def _why_no_more(batch: Batch, view: GroupView, known: Known) -> str:
    """What keeps further pods off the nodes of a group that nobody scales: room, or the places of other pods."""
    # All nodes that are there come before the first new one, and such a group has no new one.
    there = [n for n in takewhile(lambda node: not node.new, known.nodes.all) if n.group == view.name]
    if not there:
        return "it has no node"
    whole = "its node" if len(there) == 1 else f"its {len(there)} nodes"
    spec, wanted = batch.sample.spec, batch.sample.requests
    faults: Counter[str] = Counter()
    for node in there:
        if not node.free.covers(wanted):
            faults["no room left"] += 1
        elif not spec.affinity.allows(node.node.labels):
            faults["nodeSelector or affinity names other zones"] += 1
        else:
            reason = known.nodes.why_not(batch, node.node)
            faults[reason.text if reason else "other pods' places forbade it when it was their turn"] += 1
    if len(faults) == 1 and "no room left" in faults:
        return f"no room left on {whole}"
    return "; ".join(
        text if count == len(there) else f"{text} on {count} of {whole}" if text == "no room left" else text
        for text, count in faults.items()
    )


def _why_not_before(batch: Batch, view: GroupView, best: GroupView, said: str | None) -> str:
    """Why another group of the same autoscaler was chosen."""
    word = "weight" if view.pool else "priority"
    if (view.preference or 0) < (best.preference or 0):
        return f"{word} {view.preference} below {best.name}'s {best.preference}"
    if said:
        return said
    if view.pool is not None and _not_asked_first(batch, view.pool):
        return f"{best.name} meets the affinity term or preference that Karpenter tries first, in all pools"
    if view.preference == best.preference:
        return f"{best.name} has the same {word} and was chosen"
    return f"a node of {best.name} that is made for other pods has room, and those are filled first"


def _not_asked_first(batch: Batch, pool: Pool) -> bool:
    spec, shuns = next(iter(relaxations(batch.sample.spec, wishes_on_taints=True)))
    return pool.offer(spec, shuns_wishes=shuns) is None
