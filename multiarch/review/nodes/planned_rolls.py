"""Which node groups replace their nodes, by the stack files alone: where there is no preview, as for a fork.

The tables are those of ``docs/reference/changes.md``. Without a preview the number of nodes is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import keeps_pods_away
from multiarch.nodes.model import BootstrapCase, NodeGroupKind, NodeGroupPlan
from multiarch.review.nodes.group_states import GroupKind
from multiarch.stack.model import ExistingClusterPlan, ExistingNetwork, Plan
from multiarch.stack.roles import OF_NODES


class Outcome(StrEnum):
    """What happens to the nodes of a group."""

    STAYS = "stays"
    ROLLS = "rolls"
    REPLACED = "replaced"
    DELETED = "deleted"
    NEW = "new"


ENDING = frozenset({Outcome.ROLLS, Outcome.REPLACED, Outcome.DELETED})
"""Outcomes in which running nodes end."""


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """One node group or NodePool. ``pace`` says how many nodes end at a time, empty if none does.

    ``reasons`` are the keys or fields that differ; of a group that stays, what may end its nodes nevertheless.
    """

    kind: GroupKind
    name: str
    outcome: Outcome
    pace: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """``node group web``."""
        return f"{self.kind} {self.name}"


_ROWS: Sequence[tuple[str, Callable[[NodeGroupPlan], object]]] = (
    ("kind", lambda group: group.kind),
    ("instanceTypes", lambda group: group.instance_types),
    ("capacityType", lambda group: group.capacity_type),
    ("amiType", lambda group: group.ami_type),
    ("ami", lambda group: group.ami.id or (group.case is BootstrapCase.EKS and group.ami.release)),
    ("diskSize", lambda group: group.disk_size),
    ("imdsHopLimit", lambda group: group.imds_hop_limit),
    ("maxPods", lambda group: (group.max_pods_written and group.max_pods, group.max_pods_written)),
    ("bootstrap", lambda group: (group.pre_bootstrap, group.kubelet_extra_args)),
    ("kubelet", lambda group: group.kubelet.config),
    ("instanceStorePolicy", lambda group: group.instance_store),
    ("registryMirrors", lambda group: group.registry_mirrors),
    ("capacityReservation", lambda group: group.capacity_reservation),
    ("placementGroup", lambda group: group.placement_group),
    ("efa", lambda group: group.efa),
    ("instancesDistribution", lambda group: group.distribution),
    ("labels", lambda group: group.labels),
    ("taints", lambda group: sorted(group.taints)),
    # The policies find arm64 nodes that any pod can use by this tag, which the launch template sets.
    ("tag of untainted arm64 nodes", lambda group: group.architecture is Architecture.ARM64 and _is_open(group)),
)
_REPLACING = frozenset({"kind", "instanceTypes", "capacityType"})
"""What replaces a managed group; with an image that EKS chooses, ``amiType`` does too."""
_IN_PLACE = frozenset({"labels", "taints"})
"""What EKS sets on running nodes, unless the user data does."""
_ALL_HEALTHY = 100
"""The percentage with which an instance refresh takes one node at a time."""
ALL_AT_ONCE = "all at the same time"


def list_ended_groups(old: Plan, new: Plan) -> Iterator[NodeOutcome]:
    """Yield each node group of both plans whose nodes end, with the keys that differ, as the new plan orders them."""
    before = {group.name: group for group in old.node_groups}
    for group in new.node_groups:
        was = before.get(group.name)
        if was is None:
            continue
        managed = group.kind is NodeGroupKind.MANAGED
        in_place = _IN_PLACE if was.case is group.case is BootstrapCase.EKS else frozenset()
        own = [name for name, of in _ROWS if of(was) != of(group) and name not in in_place]
        of_managed = (*_of_network(old, new, was, group), *_of_role(old, new, group)) if managed else ()
        fixed = [*_of_cluster(old, new), *of_managed]
        reasons = (*own, *fixed, *_of_stack(old, new, group))
        by_image = was.case is not group.case or (group.case is BootstrapCase.EKS and "amiType" in own)
        replaced = bool(fixed) or "kind" in own or (managed and (by_image or not _REPLACING.isdisjoint(own)))
        if reasons:
            outcome, pace = (Outcome.REPLACED, ALL_AT_ONCE) if replaced else (Outcome.ROLLS, _describe_pace(group))
            yield NodeOutcome(GroupKind[group.kind.name], group.name, outcome, pace, reasons)


def _describe_pace(group: NodeGroupPlan) -> str:
    """Return how many nodes end at a time when the group rolls, by its ``updateStrategy``."""
    if group.kind is NodeGroupKind.SELF_MANAGED:
        healthy = group.min_healthy_percentage
        return "1 at a time" if healthy == _ALL_HEALTHY else f"at least {healthy} % stay in service"
    if group.update.max_unavailable_percentage is not None:
        return f"{group.update.max_unavailable_percentage} % of them at a time"
    return f"{group.update.max_unavailable} at a time"


def _is_open(group: NodeGroupPlan) -> bool:
    return not keeps_pods_away(group.taints)


def _of_cluster(old: Plan, new: Plan) -> Iterator[str]:
    """Yield what makes every group another group."""
    if old.region != new.region:
        yield "aws:region"
    if old.cluster.name != new.cluster.name:
        yield "cluster.existing" if isinstance(new.cluster, ExistingClusterPlan) else "clusterName"


def _of_stack(old: Plan, new: Plan, group: NodeGroupPlan) -> Iterator[str]:
    """Yield what all groups take from their stack."""
    if old.cluster.version != new.cluster.version and group.ami.id is None:
        yield f"kubernetesVersion {old.cluster.version} → {new.cluster.version}"
    if old.tags != new.tags:
        yield "tags"
    if old.security_groups != new.security_groups:
        yield "cluster.securityGroups"
    # The instance profile has the path, and takes another role in place.
    if group.kind is NodeGroupKind.SELF_MANAGED and old.iam.path != new.iam.path:
        yield "iam.path"


def _of_role(old: Plan, new: Plan, group: NodeGroupPlan) -> Iterator[str]:
    """Yield what gives a managed group another role."""
    role = f"{group.kind}{OF_NODES}"
    if old.iam.roles.get(role, old.iam.path) != new.iam.roles.get(role, new.iam.path):
        yield "iam"


def explain_move(old: Plan, new: Plan) -> str:
    """Return where nodes go to when a stack on an existing cluster names another one, empty if it does not."""
    one, other = old.cluster, new.cluster
    if one.name == other.name or not {type(one), type(other)} & {ExistingClusterPlan}:
        return ""
    return f"All of its nodes end in the cluster {one.name}, and start in the cluster {other.name}: cluster.existing."


def _of_network(old: Plan, new: Plan, was: NodeGroupPlan, group: NodeGroupPlan) -> Iterator[str]:
    """Yield what gives a managed group other subnets. An Auto Scaling group takes new subnets for new nodes alone."""
    one, other = old.network, new.network
    if isinstance(one, ExistingNetwork) and isinstance(other, ExistingNetwork):
        if one.choose_subnets(was.zones) != other.choose_subnets(group.zones):
            yield "cluster.subnets" if isinstance(new.cluster, ExistingClusterPlan) else "network.privateSubnets"
    elif isinstance(one, ExistingNetwork) or isinstance(other, ExistingNetwork):
        yield "network"
    else:
        if one.cidr != other.cidr:
            yield "network.cidr"
        names = one.zones and other.zones and one.zones != other.zones
        if was.zones == group.zones == () and (one.zone_count != other.zone_count or names):
            yield "network.zones"
    if was.zones != group.zones:
        yield "zones"
