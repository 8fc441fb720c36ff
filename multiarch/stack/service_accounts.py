"""The plan of the roles of workloads, ``iam.serviceAccounts``."""

from __future__ import annotations

from collections.abc import Iterable

from multiarch.autoscaling.iam import format_policy
from multiarch.nodes.report import ProblemReport
from multiarch.schema.iam import PolicyStatement
from multiarch.schema.stack import StackSpec
from multiarch.stack.model import AddonPlan, PodRolePlan


def plan_service_accounts(
    spec: StackSpec, addons: Iterable[AddonPlan], report: ProblemReport
) -> tuple[PodRolePlan, ...]:
    """Plan the roles in the order of their names.

    EKS rejects a second association for a service account, also one beside an add-on's own.
    Source: EKS API reference, CreatePodIdentityAssociation.
    """
    taken = {(each.namespace, each.service_account): f"addons.extra.{each.name}" for each in addons}
    planned = []
    for key, settings in sorted(spec.iam.service_accounts.items()):
        path, who = ("iam", "serviceAccounts", key), (settings.namespace, settings.name or key)
        irsa, policy = settings.credentials == "irsa", write_policy(settings.statements)
        made = PodRolePlan(f"{key}-pods", *who, tuple(settings.policies), policy, irsa)
        planned.append(made)
        if who in taken:
            report("service-account-twice", path, f"{'/'.join(who)} has the role of {taken[who]} already.")
        taken[who] = ".".join(path)
        if not (made.policies or made.policy or made.name in spec.iam.roles):
            report("service-account-without-policies", path, "the role has no policy: its pods may do nothing in AWS.")
        if irsa and spec.cluster is not None:
            message = "the OIDC provider of a cluster that the stack does not manage is not known here."
            report("irsa-existing-cluster", (*path, "credentials"), message)
    return tuple(planned)


def write_policy(statements: list[PolicyStatement]) -> str:
    """Return the statements as a policy document (JSON), empty without one."""
    if not statements:
        return ""
    rows = [
        {"Effect": "Allow", "Action": each.actions, "Resource": each.resources}
        | ({"Condition": each.conditions} if each.conditions else {})
        for each in statements
    ]
    return format_policy({"Version": "2012-10-17", "Statement": rows})
