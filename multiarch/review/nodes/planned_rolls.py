"""Which node groups replace their nodes, by the stack files alone: where there is no preview, as for a fork.

The tables are those of ``docs/reference/changes.md``. Without a preview the number of nodes is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from multiarch.nodes.model import BootstrapCase, NodeGroupKind, NodeGroupPlan
from multiarch.review.nodes.group_ends import REMOVE, ROLL
from multiarch.review.nodes.group_states import GroupChange, GroupKind
from multiarch.rules import Finding
from multiarch.stack.model import ExistingClusterPlan, ExistingNetwork, NewNetwork, Plan

_ROWS: Sequence[tuple[str, Callable[[NodeGroupPlan], object]]] = (
    ("instanceTypes", lambda group: group.instance_types),
    ("capacityType", lambda group: group.capacity_type),
    ("amiType", lambda group: group.ami_type),
    ("zones", lambda group: group.kind is NodeGroupKind.MANAGED and group.zones),
    ("ami", lambda group: group.ami.id or group.ami.release),
    ("diskSize", lambda group: group.disk_size),
    ("imdsHopLimit", lambda group: group.imds_hop_limit),
    ("maxPods", lambda group: (group.max_pods_written and group.max_pods, group.max_pods_written)),
    ("bootstrap", lambda group: (group.pre_bootstrap, group.kubelet_extra_args)),
    ("kubelet", lambda group: group.kubelet.config),
    ("instanceStorePolicy", lambda group: group.instance_store),
    ("registryMirrors", lambda group: group.registry_mirrors),
    # EKS sets these on running nodes, unless the user data does.
    ("labels", lambda group: group.case is not BootstrapCase.EKS and group.labels),
    ("taints", lambda group: group.case is not BootstrapCase.EKS and sorted(group.taints)),
)
_NO_NUMBER = "How many nodes, in which order and for how long, a preview says: the stack file does not."


def find_planned_rolls(old: Plan, new: Plan) -> Iterator[Finding]:
    """Yield a finding for each group of both plans whose nodes are replaced."""
    if moved := _explain_move(old, new):
        for kind, names in _list_groups(new):
            yield from (Finding(REMOVE, f"{kind} {name}", moved, (_NO_NUMBER,)) for name in names)
        return
    before = {group.name: group for group in old.node_groups}
    for group in new.node_groups:
        was = before.get(group.name)
        # A group of another kind is a new one beside a removed one.
        if was is None or was.kind is not group.kind:
            continue
        managed = group.kind is NodeGroupKind.MANAGED
        reasons = [name for name, of in _ROWS if of(was) != of(group)]
        # An Auto Scaling group takes new subnets for new nodes alone.
        reasons += _of_network(old, new, group.zones) if managed and was.zones == group.zones else []
        reasons += _of_stack(old, new, group)
        if reasons:
            subject = f"{GroupKind.MANAGED if managed else GroupKind.SELF_MANAGED} {group.name}"
            yield Finding(ROLL, subject, "Its nodes are replaced.", (f"Reason: {'; '.join(reasons)}.", _NO_NUMBER))


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
    if old.security_groups != new.security_groups:
        yield "cluster.securityGroups"


def _explain_move(old: Plan, new: Plan) -> str:
    """Return where nodes go to when a stack on an existing cluster names another one, empty if it does not."""
    one, other = old.cluster, new.cluster
    if one.name == other.name or not {type(one), type(other)} & {ExistingClusterPlan}:
        return ""
    return f"All of its nodes end in the cluster {one.name}, and start in the cluster {other.name}: cluster.existing."


def _list_groups(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    for kind, of in ((GroupKind.MANAGED, NodeGroupKind.MANAGED), (GroupKind.SELF_MANAGED, NodeGroupKind.SELF_MANAGED)):
        yield kind, [group.name for group in plan.node_groups if group.kind is of]
    yield GroupKind.NODE_POOL, [pool.name for pool in plan.autoscaling.pools]


def _of_network(old: Plan, new: Plan, zones: Sequence[str]) -> list[str]:
    """Return what gives groups of these zones, all of the stack's if there are none, other subnets."""
    one, other = old.network, new.network
    if isinstance(one, ExistingNetwork) and isinstance(other, ExistingNetwork):
        key = "cluster.subnets" if isinstance(new.cluster, ExistingClusterPlan) else "network.privateSubnetIds"
        return [] if one.choose_subnets(zones) == other.choose_subnets(zones) else [key]
    if zones:
        return []
    if not isinstance(one, NewNetwork) or not isinstance(other, NewNetwork):
        return ["network"]
    names = one.zones and other.zones and one.zones != other.zones
    zones = ["network.zones"] if one.zone_count != other.zone_count or names else []
    return [*zones, *([] if one.cidr == other.cidr else ["network.cidr"])]
