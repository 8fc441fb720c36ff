"""Which node groups replace their nodes, by the stack files alone: where there is no preview, as for a fork.

The tables are those of ``docs/reference/changes.md``. Without a preview the number of nodes is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from multiarch.nodes.model import BootstrapCase, NodeGroupKind, NodeGroupPlan
from multiarch.plurals import counted
from multiarch.review.nodes.group_ends import REMOVE, ROLL
from multiarch.review.nodes.group_states import GroupChange, GroupKind
from multiarch.rules import Finding
from multiarch.stack.model import NewNetwork, Plan

_Rows = Sequence[tuple[str, Callable[[NodeGroupPlan], object]]]
_REPLACE: _Rows = (
    ("instanceTypes", lambda group: group.instance_types),
    ("capacityType", lambda group: group.capacity_type),
    ("amiType", lambda group: group.ami_type),
    ("zones", lambda group: group.zones),
)
_ROLL: _Rows = (
    ("ami", lambda group: (group.ami.id, group.ami.release)),
    ("diskSize", lambda group: group.disk_size),
    ("imdsHopLimit", lambda group: group.imds_hop_limit),
    ("maxPods", lambda group: (group.max_pods_written and group.max_pods, group.max_pods_written)),
    ("bootstrap", lambda group: (group.pre_bootstrap, group.kubelet_extra_args)),
)
# EKS sets these on running nodes, unless the user data does.
_BY_USER_DATA: _Rows = (
    ("labels", lambda group: group.labels),
    ("taints", lambda group: sorted(group.taints)),
)
_NETWORK = ("zones", "network", "network.zones", "network.cidr")
_NO_NUMBER = "How many nodes, and for how long at most, a preview says: the stack file has no number of nodes."


def find_planned_rolls(old: Plan, new: Plan) -> Iterator[Finding]:
    """Yield a finding for each group of both plans whose nodes are replaced."""
    before = {group.name: group for group in old.node_groups}
    for group in new.node_groups:
        was = before.get(group.name)
        # A group of another kind is a new one beside a removed one.
        if was is None or was.kind is not group.kind:
            continue
        reasons = [name for name, of in _REPLACE if of(was) != of(group)]
        reasons += _of_network(old, new) if was.zones == group.zones == () else []
        if group.kind is NodeGroupKind.SELF_MANAGED:
            # An Auto Scaling Group takes new subnets for new nodes, and the rest in its launch template.
            rolls, replaces = [name for name in reasons if name not in _NETWORK], []
        else:
            rolls, replaces = [], reasons
            if was.ami.release and group.case is BootstrapCase.CUSTOM_AMI:
                replaces.append("ami.id")
        rolls += [name for name, of in _ROLL if of(was) != of(group)]
        if group.case is not BootstrapCase.EKS:
            rolls += [name for name, of in _BY_USER_DATA if of(was) != of(group)]
        rolls += _of_stack(old, new, group)
        if replaces or rolls:
            yield _finding(group, replaces, rolls)


def find_planned_removals(groups: Iterable[GroupChange], renamed: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each removed node group. ``renamed``: what becomes of some of them, by subject."""
    for group in groups:
        pool = group.kind is GroupKind.NODE_POOL
        if pool or group.before is None or group.after is not None or group.step is not None:
            continue
        successor = renamed.get(group.subject)
        details = (f"It has a successor: {successor}.",) if successor else ()
        rule = ROLL if successor else REMOVE
        yield Finding(rule, group.subject, "The group is deleted, and all of its nodes end.", (*details, _NO_NUMBER))


def _of_stack(old: Plan, new: Plan, group: NodeGroupPlan) -> Iterator[str]:
    """Yield what all groups take from their stack."""
    if old.cluster.version != new.cluster.version and group.ami.id is None:
        yield f"kubernetesVersion {old.cluster.version} → {new.cluster.version}"
    if old.tags != new.tags:
        yield "tags"


def _of_network(old: Plan, new: Plan) -> list[str]:
    """Return what gives groups other subnets."""
    one, other = old.network, new.network
    if not isinstance(one, NewNetwork) or not isinstance(other, NewNetwork):
        return [] if one == other else ["network"]
    names = one.zones and other.zones and one.zones != other.zones
    zones = ["network.zones"] if one.zone_count != other.zone_count or names else []
    return [*zones, *([] if one.cidr == other.cidr else ["network.cidr"])]


def _finding(group: NodeGroupPlan, replaces: Sequence[str], rolls: Sequence[str]) -> Finding:
    managed = group.kind is NodeGroupKind.MANAGED
    subject = f"{GroupKind.MANAGED if managed else GroupKind.SELF_MANAGED} {group.name}"
    if replaces:
        text = "The group is replaced: a new one is created, then the old one is deleted with its nodes."
    else:
        text = f"Its nodes are replaced, {_pace(group)}."
    return Finding(ROLL, subject, text, (f"Reason: {'; '.join((*replaces, *rolls))}.", _NO_NUMBER))


def _pace(group: NodeGroupPlan) -> str:
    if group.update.max_unavailable_percentage is not None:
        return f"{group.update.max_unavailable_percentage} % of them at a time"
    return f"{counted(group.update.max_unavailable or 1, 'node')} at a time"
