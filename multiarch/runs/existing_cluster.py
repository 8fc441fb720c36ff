"""Checks of AWS before the first change of a run."""

from __future__ import annotations

from multiarch.aws_errors import open_clients, translate_failures
from multiarch.doctor.existing import (
    Clients,
    find_fixed_changes,
    find_foreign_log_group,
    read_cluster,
    read_log_group,
)
from multiarch.doctor.joined import find_obstacles, find_unread, read_joined_cluster
from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.rules import Severity
from multiarch.stack.load import Stack
from multiarch.stack.model import ExistingClusterPlan, Plan


def open_stack_clients(plan: Plan) -> Clients:
    """Return clients of the plan's region, with the identity that Pulumi uses."""
    who, hint = plan.identity, "Set aws:region in the stack file, or AWS_REGION."
    return open_clients(plan.region, region_hint=hint, profile=who.profile, role_arn=who.role_arn)


def reject_conflicts(stack: Stack, plan: Plan) -> list[Problem]:
    """Reject what would fail half-way, or never end: other values than the cluster keeps, a log group that is left.

    Returns warnings, also of what could not be read. Raises StackError.
    """
    existing = isinstance(plan.cluster, ExistingClusterPlan)
    try:
        with translate_failures():
            clients = open_stack_clients(plan)
            found = _list_obstacles(stack, plan, clients) if existing else _list_conflicts(stack, plan, clients)
    except MultiarchError as error:
        message = f"what exists of {plan.cluster.name} in AWS could not be read: {error.message}"
        path = ("cluster", "existing") if existing else ("clusterName",)
        return [stack.origin.problem("cluster-not-read", path, message)]
    if any(each.severity is Severity.ERROR for each in found):
        raise StackError(found)
    return found


def _list_obstacles(stack: Stack, plan: Plan, clients: Clients) -> list[Problem]:
    joined = read_joined_cluster(clients, plan)
    return [*find_obstacles(plan, stack.origin, joined), *find_unread(stack.origin, joined)]


def _list_conflicts(stack: Stack, plan: Plan, clients: Clients) -> list[Problem]:
    if cluster := read_cluster(clients, plan):
        return list(find_fixed_changes(plan, stack.origin, cluster))
    if not plan.own_cluster.logging.types:
        return []
    tags = read_log_group(clients, plan.own_cluster.log_group_name)
    return list(find_foreign_log_group(plan, stack.origin, tags))
