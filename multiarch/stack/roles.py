"""The IAM roles of a stack: which there are, and which of them may be roles that exist already."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.errors import KeyPath
from multiarch.facts.admission import INSTALLATION_NAME as WEBHOOK
from multiarch.facts.rebalance import LEASE as REBALANCE
from multiarch.nodes.model import NodeGroupKind
from multiarch.nodes.report import ProblemReport
from multiarch.stack.model import ExistingClusterPlan, NewNetwork, Plan

OF_NODES = "-nodes"
"""The end of the names of nodes' roles."""
FARGATE = "fargate"
"""The name of the role of Fargate pods."""
_MANAGED = f"{NodeGroupKind.MANAGED}{OF_NODES}"


def list_roles(plan: Plan) -> Iterator[str]:
    """Yield the name of each IAM role that the stack's components declare, unless ``iam.roles`` names another."""
    if not isinstance(plan.cluster, ExistingClusterPlan):
        yield "cluster"
    if isinstance(plan.network, NewNetwork) and plan.network.flow_logs:
        yield "flow-logs"
    if plan.fargate_profiles:
        yield FARGATE
    for kind in sorted({group.kind for group in plan.node_groups}):
        yield f"{kind}{OF_NODES}"
    autoscaling = plan.autoscaling
    if autoscaling.auto_mode and not autoscaling.auto_mode.node_class.role:
        yield f"auto-mode{OF_NODES}"
    if autoscaling.karpenter and not autoscaling.karpenter.settings.installed:
        yield from (f"karpenter{OF_NODES}", "karpenter")
    if autoscaling.cluster_autoscaler and not autoscaling.cluster_autoscaler.settings.installed:
        yield "cluster-autoscaler"
    yield from (addon.name for addon in plan.addons if addon.service_account)
    yield from (each.name for each in plan.pod_roles)
    if plan.admission_webhook and plan.admission_webhook.ecr_repositories:
        yield WEBHOOK
    if plan.rebalance and plan.rebalance.ecr_repositories:
        yield REBALANCE


def format_role_prefix(cluster: str, name: str) -> str:
    """Return how the name of a role begins that a stack makes: at most 38 characters, before AWS's suffix."""
    name = name[:32]
    return f"{cluster[: 36 - len(name)]}-{name}-"


def check_roles(plan: Plan, report: ProblemReport) -> None:
    """Report existing roles without a place in the stack, the stack's own, those that nodes can't share, and paths.

    For a role that it managed before, the engine gives up the role and deletes the attachments of policies.
    EKS makes and deletes the access entry of managed groups' roles itself, and an entry is one per role.
    ``aws-auth`` has ARNs without path, and EKS writes those of managed groups with it.
    Sources: EKS user guide, "Troubleshooting IAM", "aws-auth ConfigMap does not grant access to the cluster";
    https://github.com/aws/containers-roadmap/issues/926.
    """
    names, seen = tuple(list_roles(plan)), dict[str, str]()
    for name, arn in plan.iam.roles.items():
        path: KeyPath = ("iam", "roles", name)
        if name not in names:
            report("role-name", path, f"the stack has no role {name}.", hint=f"Its roles: {', '.join(sorted(names))}.")
        elif arn.rpartition("/")[2].startswith(format_role_prefix(plan.cluster.name, name)):
            report("role-own", path, f"{arn} is a role that the stack makes: the update would detach its policies.")
        elif name.endswith(OF_NODES) and arn in seen:
            report("role-shared", path, f"{arn} is the role of {seen[arn]} too.")
        elif name.endswith(OF_NODES):
            seen[arn] = name
    cluster, of_managed = plan.cluster, plan.iam.get_role_path(_MANAGED)
    if not isinstance(cluster, ExistingClusterPlan) or cluster.takes_access_entries or _MANAGED not in names:
        return
    if of_managed != "/":
        path = ("iam", "roles", _MANAGED) if _MANAGED in plan.iam.roles else ("iam", "path")
        why = f"{cluster.name} has no access entries"
        report("role-path", path, f"nodes of managed groups can't join with a role in {of_managed}: {why}.")
