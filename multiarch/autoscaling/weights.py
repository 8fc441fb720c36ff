"""NodePool weights: from the order of capacities to numbers, all different.

Karpenter tries the highest weight first, and takes pools of the same weight in reverse alphabetical order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multiarch.autoscaling.model import Capacity, list_bases, rank_capacity
from multiarch.autoscaling.spec import PoolSpec
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.frozen import dataclass

HIGHEST = 100


@dataclass(frozen=True, slots=True)
class PoolDraft:
    """A NodePool before it has a weight. ``index`` is the position of ``spec`` among the stack's pools.

    ``taints`` are those that the file has, without the stack's arm64 taint.
    """

    spec: PoolSpec
    index: int
    name: str
    capacities: tuple[Capacity, ...]
    taints: Sequence[Taint] = ()

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """The architectures of its capacities, sorted."""
        return tuple(sorted({capacity.architecture for capacity in self.capacities}))

    @property
    def written_weight(self) -> int | None:
        """The weight in the stack file; None where it would be the weight of several NodePools."""
        single = len(self.spec.architectures) == 1 and len(self.spec.capacity_types) == 1
        return self.spec.settings.weight if single else None


def assign_weights(drafts: Sequence[PoolDraft], order: Sequence[Capacity]) -> Mapping[str, int]:
    """Return the weight of each NodePool by name, all different as long as the written ones are.

    A written weight stays; a derived weight that is taken moves down to the next free one. A NodePool with several
    capacities counts as the first of them in the order.
    """
    weights = {draft.name: draft.written_weight for draft in drafts if draft.written_weight is not None}
    used = set(weights.values())
    derived = sorted((_position(draft, order), draft.index, draft.name) for draft in drafts)
    for position, index, name in derived:
        if name in weights:
            continue
        # The index of the pool in the stack file (from 0 to 19, by name) is subtracted.
        wanted = list_bases(order)[position] - index
        down, up = range(wanted, 0, -1), range(max(wanted, 0) + 1, HIGHEST + 1)
        weights[name] = next((weight for weight in (*down, *up) if weight not in used), HIGHEST)
        used.add(weights[name])
    return weights


def assign_lowest_weights(drafts: Sequence[PoolDraft], order: Sequence[Capacity]) -> Mapping[str, int]:
    """Return the lowest possible weights, in the same order: for NodePools that a migration removes."""
    names = [name for _, _, name in sorted((_position(draft, order), draft.index, draft.name) for draft in drafts)]
    return {name: len(names) - position for position, name in enumerate(names)}


def _position(draft: PoolDraft, order: Sequence[Capacity]) -> int:
    return min(rank_capacity(capacity, order) for capacity in draft.capacities)
