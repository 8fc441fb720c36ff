"""What each node group and NodePool is before and after a change.

The preview decides whether a group changes: a plan may differ from what was deployed. Its properties say everything
about managed node groups and NodePools. Labels and taints of self-managed groups are in their user data, so they come
from the plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from multiarch.autoscaling.model import NodePoolPlan
from multiarch.facts import labels as keys
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.manifests.selectors import Operator
from multiarch.manifests.values import Labels, to_mapping
from multiarch.nodes.model import CapacityType, NodeGroupPlan
from multiarch.observed.resources.nodes import (
    AUTO_SCALING_GROUP,
    MANAGED_GROUP,
    NODE_POOL,
    POOL_TAINTS,
    find_architectures,
    find_pool_architectures,
    list_instance_types,
    list_pool_requirements,
    read_distribution,
    read_taints,
)
from multiarch.observed.resources.properties import (
    Properties,
    get_string_at,
    get_value,
    is_unknown,
    list_entries,
    read_known,
)
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.properties import list_resources
from multiarch.stack.model import Plan


class GroupKind(StrEnum):
    """Who adds the nodes, in the words of a finding's subject."""

    MANAGED = "node group"
    SELF_MANAGED = "self-managed node group"
    NODE_POOL = "NodePool"


@dataclass(frozen=True, slots=True)
class GroupState:
    """A node group or NodePool on one side of the change. None stands for what is not known.

    ``architectures`` and ``capacity_types`` are sorted; ``instance_types`` are those that are named, in order;
    ``zones`` are zone names, sorted, which only plans have.
    """

    kind: GroupKind
    architectures: tuple[Architecture, ...] | None
    capacity_types: tuple[CapacityType, ...] | None
    instance_types: tuple[str, ...]
    labels: Labels | None
    taints: tuple[Taint, ...] | None
    zones: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class GroupChange:
    """One node group or NodePool: ``before`` is None for a new one, ``after`` for one that is removed.

    ``step`` is what the preview does with it; None if the preview does not show it.
    """

    name: str
    before: GroupState | None
    after: GroupState | None
    step: Step | None

    @property
    def kind(self) -> GroupKind:
        """The kind; of a group that changes its kind the new one."""
        state = self.after or self.before
        if state is None:
            raise ValueError(f"{self.name} exists neither before nor after")
        return state.kind

    @property
    def subject(self) -> str:
        """``node group web``."""
        return f"{self.kind} {self.name}"

    @property
    def urns(self) -> tuple[str, ...]:
        """The resource, if the preview shows it."""
        return (self.step.urn,) if self.step else ()


_Key = tuple[bool, str]
_UNCHANGED = (Operation.SAME, Operation.DRIFT, Operation.READ)


def list_group_changes(change: StackChange) -> tuple[GroupChange, ...]:
    """Return every node group and NodePool that is known, node groups first, sorted by name."""
    planned = _planned(change)
    found: dict[_Key, GroupChange] = {}
    for step in list_resources(change.preview.steps, MANAGED_GROUP, AUTO_SCALING_GROUP, NODE_POOL):
        key = (step.type == NODE_POOL, step.name)
        made = GroupChange(step.name, _before(step), _after(step), step)
        # A group that changes its kind is a new resource beside a deleted one of the same name.
        made = _joined(found[key], made) if key in found else made
        found[key] = made
    for key, (old, new) in planned.items():
        if key in found:
            found[key] = _completed(found[key], old, new)
        elif not change.preview.is_complete:
            found[key] = GroupChange(key[1], old, new, None)
        elif new is not None:
            # The engine leaves unchanged resources out of some previews.
            found[key] = GroupChange(key[1], new, new, None)
    return tuple(found[key] for key in sorted(found))


def knows_all_groups(change: StackChange) -> bool:
    """Return whether :func:`list_group_changes` has all groups of the stack, also those that do not change.

    Without stack files only a preview with its unchanged resources does.
    """
    if _planned(change):
        return True
    # The engine's stack itself is shown in any case.
    shown = any(step.operation in _UNCHANGED and not step.type.startswith("pulumi:") for step in change.preview.steps)
    return change.preview.is_complete and shown


def _planned(change: StackChange) -> Mapping[_Key, tuple[GroupState | None, GroupState | None]]:
    """Return the groups of both plans, or those of a new stack; empty unless they are known."""
    plans = [side.plan if side else None for side in (change.before, change.after)]
    if plans[1] is None or (change.before and plans[0] is None):
        return {}
    old, new = (_of_plan(plan) if plan else {} for plan in plans)
    return {key: (old.get(key), new.get(key)) for key in {*old, *new}}


def _of_plan(plan: Plan) -> dict[_Key, GroupState]:
    zones = plan.network.zones
    return {
        **{(False, group.name): _of_group_plan(group, zones) for group in plan.node_groups},
        **{(True, pool.name): _of_pool_plan(pool, zones) for pool in plan.autoscaling.pools},
    }


def _of_group_plan(group: NodeGroupPlan, zones: tuple[str, ...]) -> GroupState:
    return GroupState(
        kind=GroupKind[group.kind.name],
        architectures=(group.architecture,),
        capacity_types=group.distribution.capacity_types
        if group.capacity_type is CapacityType.SPOT
        else (group.capacity_type,),
        instance_types=tuple(each.name for each in group.instance_types),
        labels=group.labels,
        taints=tuple(sorted(group.taints)),
        zones=tuple(sorted(group.zones or zones)) or None,
    )


def _of_pool_plan(pool: NodePoolPlan, zones: tuple[str, ...]) -> GroupState:
    return GroupState(
        kind=GroupKind.NODE_POOL,
        architectures=tuple(sorted({each.architecture for each in pool.capacities})),
        capacity_types=tuple(sorted({each.capacity_type for each in pool.capacities})),
        instance_types=(),
        labels=pool.labels,
        taints=tuple(sorted(pool.taints)),
        zones=next((tuple(sorted(each.values)) for each in pool.requirements if each.key == keys.ZONE), zones) or None,
    )


def _before(step: Step) -> GroupState | None:
    if step.old is None:
        return None
    # Outputs are what AWS reported last; inputs complete them.
    return _of_state(step, step.old, {**step.old.inputs, **step.old.outputs})


def _after(step: Step) -> GroupState | None:
    if step.operation in (Operation.DELETE, Operation.FORGET):
        return None
    if step.operation in _UNCHANGED:
        return _before(step)
    return None if step.new is None else _of_state(step, step.new, step.new.inputs)


def _of_state(step: Step, state: State, properties: Properties) -> GroupState:
    if step.type == NODE_POOL:
        return _of_pool(state.inputs)
    managed = step.type == MANAGED_GROUP
    names = read_known(partial(list_instance_types, step.type), properties) or ()
    bought = read_distribution(step.type, properties)
    return GroupState(
        kind=GroupKind.MANAGED if managed else GroupKind.SELF_MANAGED,
        architectures=_sorted(find_architectures(names, get_string_at(properties, "amiType") or "")),
        capacity_types=bought.capacity_types if bought else None,
        instance_types=names,
        labels=_labels(properties, "labels") if managed else None,
        taints=_taints(properties, "taints") if managed else None,
    )


def _of_pool(properties: Properties) -> GroupState:
    requirements = read_known(list_pool_requirements, properties) or ()
    wanted = {each.key: each.values for each in requirements if each.operator == Operator.IN}
    capacity = wanted.get(keys.KARPENTER_CAPACITY_TYPE, ())
    return GroupState(
        kind=GroupKind.NODE_POOL,
        architectures=_sorted(read_known(find_pool_architectures, properties)),
        capacity_types=tuple(sorted(each for each in CapacityType if each in capacity)) or None,
        instance_types=wanted.get(keys.INSTANCE_TYPE, ()),
        labels=_labels(properties, "spec.template.metadata.labels"),
        taints=_taints(properties, POOL_TAINTS),
    )


def _sorted(found: Iterable[Architecture] | None) -> tuple[Architecture, ...] | None:
    return tuple(sorted(found or ())) or None


def _labels(properties: Properties, path: str) -> Labels | None:
    if is_unknown(properties, path):
        return None
    return tuple(sorted((str(key), str(each)) for key, each in to_mapping(get_value(properties, path)).items()))


def _taints(properties: Properties, path: str) -> tuple[Taint, ...] | None:
    return None if is_unknown(properties, path) else read_taints(list_entries(properties, path))


def _joined(first: GroupChange, second: GroupChange) -> GroupChange:
    """Join two resources of one name: the deleted one is before, the other one after."""
    return GroupChange(
        first.name,
        first.before or second.before,
        second.after or first.after,
        second.step if second.after else first.step,
    )


def _completed(made: GroupChange, old: GroupState | None, new: GroupState | None) -> GroupChange:
    """Fill in from the plans what the preview does not say."""
    unchanged = made.step is not None and made.step.operation in _UNCHANGED
    return replace(made, before=_filled(made.before, new if unchanged else old), after=_filled(made.after, new))


def _filled(state: GroupState | None, plan: GroupState | None) -> GroupState | None:
    if state is None or plan is None:
        return state
    own = state.kind is GroupKind.SELF_MANAGED
    return replace(
        state,
        architectures=state.architectures or plan.architectures,
        capacity_types=state.capacity_types or plan.capacity_types,
        labels=plan.labels if own else state.labels,
        taints=plan.taints if own else state.taints,
        zones=plan.zones,
    )
