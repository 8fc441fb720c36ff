"""The plan of the roles of workloads, ``iam.serviceAccounts``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from multiarch.autoscaling.iam import format_policy
from multiarch.facts.admission import INSTALLATION_NAME as WEBHOOK
from multiarch.facts.limits import NameKind, check_name
from multiarch.facts.rebalance import LEASE as REBALANCE
from multiarch.facts.rebalance import PLACEHOLDER_NAMESPACE
from multiarch.nodes.report import ProblemReport
from multiarch.schema.iam import PolicyStatement
from multiarch.schema.stack import StackSpec
from multiarch.stack.model import AddonPlan, PodRolePlan

Account = tuple[str, str]
"""Namespace and name of a service account."""


def plan_service_accounts(
    spec: StackSpec, others: Mapping[Account, str], report: ProblemReport
) -> tuple[PodRolePlan, ...]:
    """Plan the roles in the order of their names; ``others`` are service accounts that get a role in the stack already.

    EKS rejects a second association for a service account, also one beside an add-on's own.
    Source: EKS API reference, CreatePodIdentityAssociation.
    """
    taken = dict(others)
    planned = []
    for key, settings in sorted(spec.iam.service_accounts.items()):
        path, who = ("iam", "serviceAccounts", key), (settings.namespace, settings.name or key)
        for kind, text in ((NameKind.NAMESPACE, who[0]), (NameKind.SERVICE_ACCOUNT, who[1])):
            if fault := check_name(kind, text):
                report("workload-name", path, f"{fault}.")
        irsa, policy = settings.credentials == "irsa", write_policy(settings.statements)
        made = PodRolePlan(f"{key}-pods", *who, tuple(settings.policies), policy, irsa)
        planned.append(made)
        if who in taken:
            report("service-account-twice", path, f"{'/'.join(who)} has the role of {taken[who]} already.")
        taken[who] = ".".join(path)
        if not (made.policies or made.policy or made.name in spec.iam.roles):
            report("service-account-without-policies", path, "the role has no policy: its pods may do nothing in AWS.")
        if made.name in spec.iam.roles and (made.policies or made.policy):
            message = f"iam.roles.{made.name} is a role that exists, to which the stack attaches no policies."
            report("service-account-existing-role", path, message)
        if irsa and spec.cluster is not None:
            message = "the OIDC provider of a cluster that the stack does not manage is not known here."
            report("irsa-existing-cluster", (*path, "credentials"), message)
    return tuple(planned)


def list_others(
    addons: Iterable[AddonPlan], autoscalers: Iterable[str], *, webhook: bool, rebalance: bool
) -> dict[Account, str]:
    """Return the service accounts of add-ons and of the stack's own controllers that get a role, each with its owner.

    ``autoscalers`` are those that the stack installs; their service accounts have the same names. ``webhook`` and
    ``rebalance``: it has a role.
    """
    found = {("kube-system", each): each for each in autoscalers}
    if webhook:
        found[WEBHOOK, WEBHOOK] = "the admission webhook"
    if rebalance:
        found[PLACEHOLDER_NAMESPACE, REBALANCE] = "rebalancing"
    return found | {
        (each.namespace, each.service_account): f"the add-on {each.name}" for each in addons if each.service_account
    }


def check_fargate(spec: StackSpec, by_agent: Iterable[Account], report: ProblemReport) -> None:
    """Report names that EKS rejects, and selectors of whole namespaces with service accounts that need the agent.

    Which pods a selector with labels matches is not known here.
    Source: EKS user guide, "Learn how EKS Pod Identity grants pods access to AWS services", restrictions.
    """
    accounts = sorted(set(by_agent))
    for key, profile in spec.fargate_profiles.items():
        if fault := check_name(NameKind.FARGATE_PROFILE, key):
            report("workload-name", ("fargateProfiles", key), f"{fault}.")
        for index, each in enumerate(profile.selectors):
            if fault := check_name(NameKind.FARGATE_NAMESPACE, each.namespace):
                report("workload-name", ("fargateProfiles", key, "selectors", index, "namespace"), f"{fault}.")
            names = [f"{space}/{name}" for space, name in accounts if fnmatchcase(space, each.namespace)]
            if names and not each.labels:
                message = f"on Fargate, pods of {', '.join(names)} get no IAM role: it has no Pod Identity agent."
                report("fargate-pod-identity", ("fargateProfiles", key, "selectors", index), message)


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
