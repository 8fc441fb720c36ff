"""What a stack on a cluster would be: its taint, its subnets, the autoscaler that is there, its groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from multiarch.errors import MultiarchError, UnknownFactError
from multiarch.existing.counterparts import Counterpart, NoCounterpart, find_counterparts
from multiarch.facts.architectures import Architecture, names_architecture
from multiarch.facts.kubernetes import get_support_status
from multiarch.facts.labels import ARCHITECTURE
from multiarch.facts.taints import Effect, Taint
from multiarch.nodes.model import NodeGroupKind
from multiarch.observed.eks.model import ObservedCluster, ObservedPool, ObservedSubnet

DEFAULT_TAINT = Taint("arch", "arm64", Effect.NO_SCHEDULE)
_ARM64 = ("arm64", "aarch64", "graviton")
_ZONES = 2


@dataclass(frozen=True, slots=True)
class FoundAutoscaler:
    """``use`` is as in a stack file, and ``source`` says where it was found. ``role`` is that of its nodes.

    ``namespace`` is where the cluster autoscaler reads its priorities, empty where that is not known. ``isolated``:
    Karpenter makes no instance profiles of a role.
    """

    use: str
    source: str
    role: str = ""
    namespace: str = ""
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """A stack on ``cluster``. ``taint_source`` and ``subnet_source`` say where values are from.

    ``skipped`` is what gets no counterpart, ``notes`` what to know besides. ``pools`` are NodePools without arm64.
    """

    cluster: ObservedCluster
    taint: Taint
    taint_source: str
    subnets: tuple[ObservedSubnet, ...]
    subnet_source: str
    autoscaler: FoundAutoscaler
    counterparts: tuple[Counterpart, ...]
    pools: tuple[ObservedPool, ...]
    skipped: tuple[NoCounterpart, ...]
    notes: tuple[str, ...]

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of the subnets, sorted."""
        return tuple(sorted({each.zone for each in self.subnets}))

    @property
    def has_pools(self) -> bool:
        """Whether NodePools buy nodes."""
        return self.autoscaler.use in ("karpenter", "auto-mode")


def plan_addition(cluster: ObservedCluster, today: date) -> Proposal:
    """Return a stack for a cluster. Raises MultiarchError, with the fix, for one that can't have a stack now."""
    check_cluster(cluster, today)
    taint, taint_source = choose_taint(cluster)
    subnets, subnet_source = choose_subnets(cluster)
    autoscaler = find_autoscaler(cluster)
    pools = _list_amd64_pools(cluster, autoscaler.use)
    notes = tuple(_list_notes(cluster, autoscaler, subnets))
    found = Proposal(cluster, taint, taint_source, subnets, subnet_source, autoscaler, (), pools, (), notes)
    counterparts, skipped = find_counterparts(cluster, taint, found.zones)
    found = replace(found, counterparts=counterparts, skipped=skipped)
    if not counterparts and not found.has_pools:
        why = "; ".join(f"{each.what}: {each.reason}" for each in skipped) or "it has no node groups"
        raise MultiarchError(f"No arm64 group can be added to {cluster.name}: {why}.", hint="Write a stack by hand.")
    return found


def check_cluster(cluster: ObservedCluster, today: date) -> None:
    """Raise MultiarchError for a cluster that is not there yet or no more, or whose version has no support."""
    if not cluster.is_usable:
        message, hint = cluster.explain_status(cluster.region)
        raise MultiarchError(f"The {message}", hint=hint)
    upgrade = f"Upgrade it: `aws eks update-cluster-version --name {cluster.name} --region {cluster.region}`."
    try:
        unsupported = get_support_status(cluster.version, today).tier == "unsupported"
    except UnknownFactError as error:
        message = f"The cluster {cluster.name} has Kubernetes {cluster.version}, which is unknown."
        raise MultiarchError(message, hint=error.hint) from error
    if unsupported:
        message = f"The cluster {cluster.name} has Kubernetes {cluster.version}, which EKS does not support any more."
        raise MultiarchError(message, hint=upgrade)


def choose_taint(cluster: ObservedCluster) -> tuple[Taint, str]:
    """Return the taint of arm64 nodes that is in use, or the default, and where it is from.

    Raises MultiarchError if arm64 nodes have several, or one whose value does not name arm64.
    """
    used: dict[Taint, str] = {}
    for group in cluster.groups:
        if group.architecture is Architecture.ARM64:
            used |= {each: f"the group {group.name}" for each in group.taints if each not in used}
    if cluster.inside:
        nodes = cluster.inside.taints.get(Architecture.ARM64, {})
        used |= {each: f"the node {name}" for each, name in nodes.items() if each not in used}
    found = {
        taint: where
        for taint, where in used.items()
        if taint.key in (ARCHITECTURE, DEFAULT_TAINT.key) or names_architecture(taint.value)
    }
    for taint, where in found.items():
        if taint.value.lower() not in _ARM64:
            fix = f"Give it {taint.key}=arm64:{taint.effect}, and the tolerations of its pods the same value."
            raise MultiarchError(f"The arm64 nodes of {where} have the taint {taint}, of another value.", hint=fix)
    if len(found) > 1:
        which = ", ".join(f"{taint} on {where}" for taint, where in sorted(found.items()))
        message = f"The arm64 nodes of {cluster.name} have different taints: {which}."
        raise MultiarchError(message, hint="Give all of them one taint; a stack has one.")
    for taint, where in found.items():
        return taint, f"the taint of {where}"
    return DEFAULT_TAINT, "the default: no arm64 node has a taint for its architecture"


def choose_subnets(cluster: ObservedCluster) -> tuple[tuple[ObservedSubnet, ...], str]:
    """Return the subnets of new nodes and where they are from: private ones of node groups, or else of the cluster.

    Raises MultiarchError if none has free addresses, or all are in one zone.
    """
    of_groups = {each for group in cluster.groups for each in group.subnets}
    every = of_groups.union(cluster.subnet_ids)
    choices = (
        (of_groups, False, "the private subnets of the node groups"),
        (every, False, "the private subnets of the cluster"),
        (every, True, "the subnets of the cluster, which give nodes public addresses"),
    )
    fix = f"Add private ones to it with `aws eks update-cluster-config --name {cluster.name} --resources-vpc-config`."
    full = ""
    for identifiers, public, source in choices:
        found = [
            each
            for each in cluster.subnets
            # Nodes join from a group's own subnets today, whatever their routes are.
            if each.id in identifiers and (public or (not each.public and (each.routed or each.id in of_groups)))
        ]
        with_room = tuple(each for each in found if each.free > 0)
        full = full or ", ".join(each.id for each in found if not each.free)
        if len({each.zone for each in with_room}) >= _ZONES:
            return with_room, source
    if full:
        raise MultiarchError(f"The cluster {cluster.name} has no two zones with free addresses: {full}.", hint=fix)
    zones = ", ".join(sorted({each.zone for each in cluster.subnets})) or "none"
    raise MultiarchError(f"The subnets of {cluster.name} are in one zone: {zones}. New nodes need two.", hint=fix)


def find_autoscaler(cluster: ObservedCluster) -> FoundAutoscaler:
    """Return the autoscaler of a cluster: EKS Auto Mode, else Karpenter, else the cluster autoscaler.

    Raises MultiarchError if several may scale the same groups, or if the role of Karpenter's nodes is not found.
    """
    inside = cluster.inside
    autoscalers = inside.cluster_autoscalers if inside else ()
    if len(autoscalers) > 1:
        message = f"Several cluster autoscalers own the groups of {cluster.name}: {', '.join(autoscalers)}."
        raise MultiarchError(message, hint="Remove all but one.")
    for group in cluster.groups:
        if others := [each for each in group.owners if each != cluster.name]:
            tag = f"k8s.io/cluster-autoscaler/{others[0]}"
            message = f"The autoscaler of another cluster owns the group {group.name} too: it has the tag {tag}."
            raise MultiarchError(message, hint="Remove the tag from its Auto Scaling Group.")
    found = list(_list_autoscalers(cluster))
    return found[0] if found else FoundAutoscaler("none", "no autoscaler was found")


def _list_autoscalers(cluster: ObservedCluster) -> Iterator[FoundAutoscaler]:
    inside, accounts = cluster.inside, sorted(cluster.service_accounts)
    if cluster.auto_mode:
        yield FoundAutoscaler("auto-mode", "computeConfig of the cluster", cluster.auto_mode_role)
    karpenter = [f"the Deployment {each}" for each in (inside.karpenters if inside else ())]
    karpenter += [f"the role of the service account {each}" for each in accounts if each.endswith("/karpenter")]
    karpenter += [f"{cluster.karpenter_nodes} instances of its NodePools"] if cluster.karpenter_nodes else []
    if karpenter:
        roles = (inside.karpenter_roles if inside else ()) or cluster.karpenter_roles
        if not roles and not cluster.auto_mode:
            message = f"Karpenter runs in {cluster.name} ({karpenter[0]}), and the role of its nodes was not found."
            raise MultiarchError(message, hint="Give a kubeconfig that may list EC2NodeClasses, with --context.")
        isolated = inside is not None and inside.with_profiles
        yield FoundAutoscaler("karpenter", karpenter[0], roles[0] if roles else "", isolated=isolated)
    scaling = [f"the Deployment {each}" for each in (inside.cluster_autoscalers if inside else ())]
    scaling += [f"the role of the service account {each}" for each in accounts if "cluster-autoscaler" in each]
    # EKS itself tags the groups that it manages.
    own = (each for each in cluster.groups if each.kind is NodeGroupKind.SELF_MANAGED and cluster.name in each.owners)
    scaling += [f"the tags of the Auto Scaling Group {each.name}" for each in own]
    if scaling:
        yield FoundAutoscaler("cluster-autoscaler", scaling[0], namespace=inside.priorities_namespace if inside else "")


def _list_amd64_pools(cluster: ObservedCluster, use: str) -> tuple[ObservedPool, ...]:
    pools = cluster.inside.pools if cluster.inside else ()
    of_kind = (each for each in pools if each.auto_mode == (use == "auto-mode"))
    return tuple(each for each in of_kind if each.architectures == (Architecture.AMD64,))


def _list_notes(
    cluster: ObservedCluster, autoscaler: FoundAutoscaler, subnets: tuple[ObservedSubnet, ...]
) -> Iterator[str]:
    inside = cluster.inside
    if cluster.why_outside:
        where = "" if cluster.public_endpoint else " Its endpoint is private: run the command from within its VPC."
        yield (
            "Not read: Deployments, NodePools and Nodes, which say what autoscaler runs and which taints are in use. "
            f"{cluster.why_outside}{where}"
        )
    yield from _list_network_notes(cluster, subnets)
    for each in _list_autoscalers(cluster):
        if each.use != autoscaler.use:
            yield f"Not taken over: {each.use}, found by {each.source}. A stack has one autoscaler: {autoscaler.use}."
    roles = (inside.karpenter_roles if inside else ()) or cluster.karpenter_roles
    if autoscaler.use == "karpenter" and len(roles) > 1:
        yield f"Karpenter's nodes have several roles, of which the first is taken: {', '.join(roles)}."
    for pool in inside.pools if inside else ():
        if Architecture.ARM64 in pool.architectures:
            yield f"The NodePool {pool.name} allows arm64 already."
        elif pool.weight and pool.only_amd64:
            yield (
                f"The NodePool {pool.name} has the weight {pool.weight}: pods that tolerate arm64 get its amd64 nodes "
                "before those of NodePools with lower weights, which `multiarch stack explain` shows of the stack's."
            )
    yield "Not read: inline policies of the nodes' roles. Pods that use the role of their node need one of their own."


def _list_network_notes(cluster: ObservedCluster, subnets: tuple[ObservedSubnet, ...]) -> Iterator[str]:
    new = cluster.node_security_groups or (cluster.security_group,)
    for group in cluster.groups:
        if (own := group.settings.security_groups) and not {*own} & {*new}:
            yield (
                f"Nodes of {group.short_name} have the security groups {', '.join(own)}, and new nodes have "
                f"{', '.join(new)}: pods on both reach one another only if these let each other in."
            )
    unused = {each for group in cluster.groups for each in group.subnets} - {each.id for each in subnets}
    for subnet in cluster.subnets:
        if subnet.id in unused:
            yield f"Not used: the subnet {subnet.id}: {'no free addresses' if not subnet.free else 'it is public'}."
    if cluster.prefix_delegation is None and (cluster.inside is None or cluster.inside.prefix_delegation is None):
        yield (
            "Unknown: prefix delegation, because no configuration of an EKS add-on vpc-cni says it; false has fewer "
            "pods per node."
        )
