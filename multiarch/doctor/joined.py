"""What keeps a stack from adding nodes to a cluster that is there already, before the first change.

The clients are the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from multiarch.aws_errors import translate_failures
from multiarch.doctor.existing import OWN_TAG, Clients
from multiarch.errors import KeyPath, OutsideError, Problem
from multiarch.nodes.model import CLUSTER_TAG, GROUP_TAG, NodeGroupKind
from multiarch.stack.eks_cluster import EksCluster, describe_eks_cluster, read_addons
from multiarch.stack.engine_config import format_scalar
from multiarch.stack.model import ExistingClusterPlan, ExistingNetwork, Plan
from multiarch.stack.network import count_addresses
from multiarch.stack.origin import Origin

_OF_ONE_STACK = ("team", "environment", "managed-by")
"""Tags that tell a stack's node groups from another's."""
_SUFFIX = "[0-9a-f]+"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class JoinedCluster:
    """The existing cluster of a plan, as AWS has it.

    ``cluster`` is None if there is none. ``subnets`` are EC2's rows of the plan's subnets that exist, by ID, and
    ``security_groups`` those of its security groups; None if they could not be read. ``groups`` are the cluster's node
    groups with a name of the plan's, each with its tags; those of other tools have none. ``unread`` says what could not
    be read, and why.
    """

    cluster: EksCluster | None
    subnets: Mapping[str, Mapping[str, Any]] | None = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    security_groups: Mapping[str, Mapping[str, Any]] | None = field(default_factory=dict)
    unread: tuple[UncheckedPart, ...] = ()


@dataclass(frozen=True, slots=True)
class UncheckedPart:
    """A part of what a plan is compared with that could not be read: what is not checked for that reason."""

    unchecked: str
    error: OutsideError
    groups: bool = False
    """Whether node groups of the plan's names may exist that were not read."""

    def __str__(self) -> str:
        """Return what is not checked, and why."""
        return f"not checked: {self.unchecked}. {self.error.message}"


def read_joined_cluster(clients: Clients, plan: Plan) -> JoinedCluster:
    """Read the cluster, the subnets of new nodes, and node groups with the names of the plan's.

    Raises OutsideError if the cluster itself can't be read: the rest is compared with it, and Pulumi reads it too.
    """
    with translate_failures():
        cluster = describe_eks_cluster(clients("eks"), plan.cluster.name)
    if cluster is None or not cluster.is_usable:
        return JoinedCluster(cluster)
    unread: list[UncheckedPart] = []

    def attempt(unchecked: str, read: Callable[[], _T], *, groups: bool = False) -> _T | None:
        try:
            with translate_failures():
                return read()
        except OutsideError as error:
            unread.append(UncheckedPart(unchecked, error, groups))
            return None

    complete = attempt(
        "cluster.prefixDelegation, cluster.customNetworking and cluster.podIdentityAgent",
        lambda: read_addons(clients("eks"), cluster),
    )
    if complete is None and isinstance(plan.cluster, ExistingClusterPlan):
        complete = replace(cluster, pod_identity_agent=plan.cluster.pod_identity_agent)
    subnets = attempt("VPC, zones and free addresses of cluster.subnets", lambda: _read_subnets(clients, plan))
    security_groups = attempt("the VPC of cluster.securityGroups", lambda: _read_security_groups(clients, plan))
    managed = attempt("names of managed node groups", lambda: dict(_read_managed(clients, plan)), groups=True)
    own = attempt("names of self-managed node groups", lambda: dict(_read_self_managed(clients, plan)), groups=True)
    groups = {**(managed or {}), **(own or {})}
    return JoinedCluster(complete or cluster, subnets, groups, security_groups, tuple(unread))


def _read_subnets(clients: Clients, plan: Plan) -> dict[str, Mapping[str, Any]]:
    # A filter, because an ID that does not exist is an error otherwise.
    by = [{"Name": "subnet-id", "Values": list(_network(plan).private_subnet_ids)}]
    return {row["SubnetId"]: row for row in clients("ec2").describe_subnets(Filters=by)["Subnets"]}


def _read_security_groups(clients: Clients, plan: Plan) -> dict[str, Mapping[str, Any]]:
    if not plan.security_groups:
        return {}
    by = [{"Name": "group-id", "Values": list(plan.security_groups)}]
    return {row["GroupId"]: row for row in clients("ec2").describe_security_groups(Filters=by)["SecurityGroups"]}


def _network(plan: Plan) -> ExistingNetwork:
    if not isinstance(plan.network, ExistingNetwork):
        raise TypeError(f"{plan.stack} makes its own network")
    return plan.network


def _read_managed(clients: Clients, plan: Plan) -> Iterator[tuple[str, Mapping[str, str]]]:
    own = [each for each in plan.node_groups if each.kind is NodeGroupKind.MANAGED]
    if not own:
        return
    eks, cluster = clients("eks"), plan.cluster.name
    made = re.compile("|".join(f"{re.escape(group.name_prefix)}{_SUFFIX}" for group in own))
    for page in eks.get_paginator("list_nodegroups").paginate(clusterName=cluster):
        for name in page["nodegroups"]:
            if any(group.name == name for group in own):
                yield name, {}
            elif made.fullmatch(name):
                row = eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
                yield name, row.get("tags", {})


def _read_self_managed(clients: Clients, plan: Plan) -> Iterator[tuple[str, Mapping[str, str]]]:
    own = [each.name for each in plan.node_groups if each.kind is NodeGroupKind.SELF_MANAGED]
    if not own:
        return
    by = [
        {"Name": f"tag:{CLUSTER_TAG}", "Values": [plan.cluster.name]},
        {"Name": f"tag:{GROUP_TAG}", "Values": own},
    ]
    pages = clients("autoscaling").get_paginator("describe_auto_scaling_groups").paginate(Filters=by)
    for row in (each for page in pages for each in page["AutoScalingGroups"]):
        yield row["AutoScalingGroupName"], {tag["Key"]: tag["Value"] for tag in row["Tags"]}


def find_unread(origin: Origin, found: JoinedCluster) -> Iterator[Problem]:
    """Yield a warning for each check that could not be made."""
    for each in found.unread:
        yield origin.problem("cluster-not-read", ("cluster", "existing"), str(each), hint=each.error.hint)


def find_obstacles(plan: Plan, origin: Origin, found: JoinedCluster) -> Iterator[Problem]:
    """Yield an error for everything that would stop a run half-way, or have nodes that never join."""
    wanted, cluster = plan.cluster, found.cluster
    path: KeyPath = ("cluster", "existing")
    if cluster is None or not isinstance(wanted, ExistingClusterPlan):
        where = f"in {plan.region}" if plan.region else "in the region of the environment"
        region = f" --region {plan.region}" if plan.region else ""
        hint = f"`aws eks list-clusters{region}` shows those that are; check aws:region too."
        message = f"there is no EKS cluster {wanted.name} {where}."
        yield origin.problem("cluster-not-found", path, message, hint=hint)
        return
    if not cluster.is_usable:
        message, hint = cluster.explain_status(plan.region)
        yield origin.problem("cluster-not-found", path, f"the {message}", hint=hint)
        return
    yield from _find_differences(plan, wanted, origin, cluster)
    yield from _find_wrong_network(plan, origin, found, cluster)
    yield from _find_groups_of_others(plan, origin, found)


def _find_differences(
    plan: Plan, wanted: ExistingClusterPlan, origin: Origin, cluster: EksCluster
) -> Iterator[Problem]:
    hint = f"Run `multiarch stack pin {plan.stack}`."
    rows: tuple[tuple[KeyPath, object, object], ...] = (
        (("kubernetesVersion",), wanted.version, cluster.version),
        (("cluster", "authenticationMode"), wanted.authentication_mode, cluster.authentication_mode),
        (("cluster", "ipFamily"), "ipv6" if plan.network.ipv6 else "ipv4", cluster.ip_family),
        (("cluster", "prefixDelegation"), wanted.prefix_delegation, cluster.prefix_delegation),
        (("cluster", "customNetworking"), wanted.custom_networking, cluster.custom_networking),
    )
    for path, written, there in rows:
        if there is not None and written != there:
            message = (
                f"the cluster {wanted.name} has {format_scalar(there)}, and the file says {format_scalar(written)}."
            )
            yield origin.problem("cluster-differs", path, message, hint=hint)
    if plan.autoscaling.auto_mode and not cluster.auto_mode:
        message = f"the cluster {wanted.name} has no EKS Auto Mode: its API server knows no NodeClass."
        hint = "Turn it on with its owner (EKS user guide, 'Enable EKS Auto Mode on an existing cluster')."
        yield origin.problem("cluster-differs", ("autoscaling", "use"), message, hint=hint)
    if wanted.pod_identity_agent and not cluster.pod_identity_agent:
        message = f"the cluster {wanted.name} has no Pod Identity agent: its pods would get no IAM role."
        hint = f"Install the EKS add-on eks-pod-identity-agent, or run `multiarch stack pin {plan.stack}`."
        yield origin.problem("cluster-differs", ("cluster", "podIdentityAgent"), message, hint=hint)


def _find_wrong_network(plan: Plan, origin: Origin, found: JoinedCluster, cluster: EksCluster) -> Iterator[Problem]:
    if found.subnets is not None:
        yield from _find_wrong_subnets(plan, origin, found.subnets, cluster)
        # Nodes of the stack take the room.
        if not found.groups and not any(each.groups for each in found.unread):
            yield from _find_missing_addresses(plan, origin, found.subnets)
    for index, group in enumerate(plan.security_groups if found.security_groups is not None else ()):
        if fault := _find_fault((found.security_groups or {}).get(group), cluster):
            key: KeyPath = ("cluster", "securityGroups", index)
            yield origin.problem("not-in-cluster-vpc", key, f"the security group {group} {fault}.")


def _find_wrong_subnets(
    plan: Plan, origin: Origin, found: Mapping[str, Mapping[str, Any]], cluster: EksCluster
) -> Iterator[Problem]:
    for zone, subnets in _network(plan).subnets_by_zone:
        for index, subnet in enumerate(subnets):
            row = found.get(subnet)
            fault = _find_fault(row, cluster)
            if row is not None and not fault and row["AvailabilityZone"] != zone:
                fault = f"is in {row['AvailabilityZone']}"
            if fault:
                path = ("cluster", "subnets", zone, index)
                yield origin.problem("not-in-cluster-vpc", path, f"the subnet {subnet} {fault}.")


def _find_fault(row: Mapping[str, Any] | None, cluster: EksCluster) -> str:
    if row is None:
        return "does not exist in this account and region"
    return "" if row["VpcId"] == cluster.vpc_id else f"is in {row['VpcId']}; the cluster is in {cluster.vpc_id}"


def _find_missing_addresses(plan: Plan, origin: Origin, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield what a zone lacks for one node with its pods.

    Only the node's own address is certain: with custom networking or another CNI, pods have other subnets. Source: EKS
    user guide, "Deploy pods in alternate subnets with custom networking".
    """
    theirs = plan.cluster if isinstance(plan.cluster, ExistingClusterPlan) else None
    prefixes, custom = (theirs.prefix_delegation, theirs.custom_networking) if theirs else (False, False)
    for zone, subnets in _network(plan).subnets_by_zone:
        here = [group for group in plan.node_groups if not group.zones or zone in group.zones]
        if not here or not all(subnet in found for subnet in subnets):
            continue
        needed = (
            1
            if custom or plan.network.ipv6
            else min(count_addresses(group, prefix_delegation=prefixes) for group in here)
        )
        free = sum(int(found[subnet]["AvailableIpAddressCount"]) for subnet in subnets)
        if free >= needed:
            continue
        rule, more = ("no-free-pod-addresses", ", if they are the pods' subnets") if free else ("no-free-addresses", "")
        message = f"the subnets of {zone} have {free} free addresses, and a node with its pods takes {needed}{more}."
        yield origin.problem(rule, ("cluster", "subnets", zone), message)


def _find_groups_of_others(plan: Plan, origin: Origin, found: JoinedCluster) -> Iterator[Problem]:
    own = {key: value for key, value in plan.tags if key in _OF_ONE_STACK}
    for name, tags in sorted(found.groups.items()):
        if all(tags.get(key) == value for key, value in own.items()):
            continue
        group = next(each for each in plan.node_groups if name == each.name or name.startswith(each.name_prefix))
        of_a_stack = OWN_TAG in tags.items() and {"team", "environment"} <= tags.keys()
        by = f"the stack {tags['team']}-{tags['environment']}" if of_a_stack else "another tool"
        message = f"the cluster {plan.cluster.name} has a node group {name}, which {by} made."
        hint = f"Choose another name than {group.name}."
        yield origin.problem("group-of-another", group.path, message, hint=hint)
