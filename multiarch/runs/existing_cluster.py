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
from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.stack.load import Stack
from multiarch.stack.model import Plan


def open_stack_clients(plan: Plan) -> Clients:
    """Return clients of the plan's region, with the identity that Pulumi uses."""
    who, hint = plan.identity, "Set aws:region in the stack file, or AWS_REGION."
    return open_clients(plan.region, region_hint=hint, profile=who.profile, role_arn=who.role_arn)


def reject_conflicts(stack: Stack, plan: Plan) -> list[Problem]:
    """Reject what would fail half-way, or never end: other values than the cluster keeps, a log group that is left.

    Returns a warning for what could not be read. Raises StackError.
    """
    clients, origin = open_stack_clients(plan), stack.origin
    try:
        with translate_failures():
            if cluster := read_cluster(clients, plan):
                found = list(find_fixed_changes(plan, origin, cluster))
            elif not plan.cluster.logging.types:
                return []
            else:
                tags = read_log_group(clients, plan.cluster.log_group_name)
                found = list(find_foreign_log_group(plan, origin, tags))
    except MultiarchError as error:
        message = f"what exists of {plan.cluster.name} in AWS could not be read: {error.message}"
        return [origin.problem("cluster-not-read", ("clusterName",), message)]
    if found:
        raise StackError(found)
    return []
