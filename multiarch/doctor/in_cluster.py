"""What in an existing cluster would stop a stack: objects and releases of others, and rights that are missing.

The provider creates objects and takes none over: `pulumi up` would end at the first that exists, with a part of the
stack made. Sources: pulumi-kubernetes, provider/pkg/await/await.go, Creation; helm, pkg/action/install.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from multiarch.autoscaling.expander import CONFIG_MAP
from multiarch.doctor.model import CheckResult, CheckState, judge_faults, judge_found
from multiarch.doctor.reach import list_charts
from multiarch.errors import MultiarchError
from multiarch.facts.admission import INSTALLATION_NAME
from multiarch.facts.rebalance import PLACEHOLDER_NAMESPACE
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ClusterError
from multiarch.kubernetes.resources import (
    AUTO_MODE_CLASSES,
    CONFIG_MAPS,
    NAMESPACES,
    NODE_CLASSES,
    NODE_POOLS,
    SECRETS,
    ApiResource,
)
from multiarch.manifests.values import to_mapping
from multiarch.schema.cluster import CLUSTER_ADMIN_POLICY
from multiarch.stack.checks.access import identify_principal
from multiarch.stack.model import Plan

_SYSTEM = "kube-system"
_RELEASES = ApiResource("Release", "helm.sh", "releases")
"""Helm keeps releases in Secrets; Pulumi's state has this kind."""
_EVERYTHING = ApiResource("*", "*", "*")
UNAUTHORIZED = 401


class AccessError(MultiarchError):
    """Rights in the cluster that the identity of Pulumi does not have."""


@dataclass(frozen=True, slots=True)
class DeclaredObject:
    """An object that a stack declares; ``fix`` is for where there is one of its name that the stack did not make.

    It is harmless beside an object of the stack's own with the ID ``beside``.
    """

    resource: ApiResource
    namespace: str
    name: str
    fix: str
    beside: str = ""

    def __str__(self) -> str:
        """``ConfigMap kube-system/NAME``: kind and ID, as Pulumi's state has them."""
        return f"{self.resource.kind} {f'{self.namespace}/' if self.namespace else ''}{self.name}"


def list_declared(plan: Plan) -> Iterator[DeclaredObject]:
    """Yield the objects with names that others may have taken, and Helm releases.

    What is in a namespace of the stack's own follows from that namespace.
    """
    scaling = plan.autoscaling
    if scaling.cluster_autoscaler and scaling.cluster_autoscaler.settings.installed:
        fix = "Take its lines over as autoscaling.clusterAutoscaler.priorities, and delete it."
        yield DeclaredObject(CONFIG_MAPS, scaling.cluster_autoscaler.settings.namespace, CONFIG_MAP, fix)
    if owner := scaling.pool_owner:
        resource = AUTO_MODE_CLASSES if scaling.auto_mode else NODE_CLASSES
        fix = "Delete it if no NodePool refers to it. Its name is the stack's: another team or environment changes it."
        yield DeclaredObject(resource, "", owner.node_class.name, fix)
        for pool in owner.pools:
            yield DeclaredObject(NODE_POOLS, "", pool.name, f"Choose another name than {pool.key}.")
    for wanted, key, name in (
        (plan.admission_webhook, "admissionWebhook", INSTALLATION_NAME),
        (plan.rebalance, "rebalance", PLACEHOLDER_NAMESPACE),
    ):
        if wanted:
            fix = f"A cluster has it once: remove {key}, or uninstall what is there with its namespace."
            yield DeclaredObject(NAMESPACES, "", name, fix)
    for name in sorted(list_charts(plan)):
        namespace = INSTALLATION_NAME if name == INSTALLATION_NAME else _SYSTEM
        fix = f"`helm list --namespace {namespace}` shows it. Uninstall it, or let the stack do without its own."
        yield DeclaredObject(_RELEASES, namespace, name, fix)


def find_present(cluster: KubernetesCluster, plan: Plan) -> list[DeclaredObject]:
    """Return what a stack declares and the cluster has, whoever made it, and NodePools that another Karpenter has.

    Raises ClusterError.
    """
    secrets = cluster.list_metadata(SECRETS, "owner=helm") if list_charts(plan) else ()
    releases = {(each["namespace"], each["labels"].get("name")) for each in secrets}
    found = [
        each
        for each in list_declared(plan)
        if (
            (each.namespace, each.name) in releases
            if each.resource is _RELEASES
            else cluster.get(each.resource, each.namespace or None, each.name) is not None
        )
    ]
    return [*found, *_find_other_pools(cluster, plan)]


def _find_other_pools(cluster: KubernetesCluster, plan: Plan) -> Iterator[DeclaredObject]:
    """Yield the NodePools that a Karpenter of the stack would reconcile beside that which they belong to.

    Those of EKS Auto Mode are not among them: Karpenter takes the node classes of its own provider. Source:
    kubernetes-sigs/karpenter, pkg/utils/nodepool, IsManaged.
    """
    karpenter = plan.autoscaling.karpenter
    if karpenter is None or karpenter.settings.installed:
        return
    own = {pool.name for pool in karpenter.pools}
    fix = (
        "The Karpenter that the stack installs would change its nodes too. If one is in the cluster, set "
        "autoscaling.karpenter.installed and nodeRole."
    )
    for pool in cluster.list_custom(NODE_POOLS):
        template = to_mapping(to_mapping(pool.get("spec")).get("template"))
        kind = to_mapping(to_mapping(template.get("spec")).get("nodeClassRef"))
        name = str(to_mapping(pool.get("metadata")).get("name"))
        if kind.get("group") != AUTO_MODE_CLASSES.group and name not in own:
            # Once the stack has its Karpenter, another stack may have NodePools for it.
            yield DeclaredObject(NODE_POOLS, "", name, fix, beside=f"Release {_SYSTEM}/karpenter")


def find_denied(cluster: KubernetesCluster, plan: Plan) -> str:
    """Return what the user may not do in the cluster of what a stack needs, empty if nothing. Raises ClusterError."""
    if list_charts(plan) or plan.rebalance:
        return "" if cluster.may("*", _EVERYTHING) else "change everything, as charts need, in the API"
    for each in list_declared(plan):
        if not cluster.may("create", each.resource, each.namespace):
            return f"create {each.resource.plural} in the API"
    return ""


def list_obstacles(cluster: KubernetesCluster, plan: Plan) -> list[str]:
    """Return what would stop a stack that has nothing in the cluster yet, with the fix.

    Raises AccessError for rights that are missing, ClusterError for a cluster that can't be read.
    """
    try:
        denied = find_denied(cluster, plan)
    except ClusterError as error:
        if error.status != UNAUTHORIZED:
            raise
        denied = "use the API"
    if denied:
        hint = f"`multiarch doctor {plan.stack}` shows the command that grants it."
        raise AccessError(f"The identity that runs Pulumi may not {denied} of {plan.cluster.name}.", hint=hint)
    return [f"{explain_present(each, plan)}. {each.fix}" for each in find_present(cluster, plan)]


def explain_present(found: DeclaredObject, plan: Plan) -> str:
    """Return what is wrong with an object that is there."""
    return f"{found} is in the cluster {plan.cluster.name} already, and the stack {plan.stack} did not make it"


def judge_objects(found: list[DeclaredObject], own: AbstractSet[str], plan: Plan) -> Iterator[CheckResult]:
    """Yield a row for each object that is there and not among the stack's ``own``, or one that there is none."""
    others = (each for each in found if own.isdisjoint({str(each), each.beside}))
    fine = f"nothing that the stack declares in {plan.cluster.name} is another's"
    return judge_faults("object", fine, ((explain_present(each, plan), each.fix) for each in others))


def judge_access(plan: Plan, caller: str, mode: str, denied: str, user: str = "") -> CheckResult:
    """Judge whether ``caller``, an ARN, may do what a stack needs; ``denied`` says what not, empty if it may.

    ``user`` is the one of a kubeconfig that was queried in its place.
    """
    who = user or caller
    found = "" if denied else f"{who} may create what the stack declares"
    return judge_found("kubernetes access", found, f"{who} may not {denied}", _grant(plan, caller, mode))


def judge_entry(plan: Plan, caller: str, mode: str, entries: list[str], reason: str) -> CheckResult:
    """Judge by access entries where the Kubernetes API can't be queried, for ``reason``."""
    check, fix = "kubernetes access", _grant(plan, caller, mode)
    if identify_principal(caller) in {identify_principal(each) for each in entries}:
        text = f"{caller} has an access entry; what it allows was not read: {reason}"
        return CheckResult(check, CheckState.UNKNOWN, text)
    if mode == "API":
        return CheckResult(check, CheckState.FAILED, f"{caller} has no access entry of {plan.cluster.name}", fix)
    text = f"{caller} has no access entry, and the ConfigMap aws-auth was not read: {reason}"
    return CheckResult(check, CheckState.UNKNOWN, text, f"If {caller} is not in aws-auth: {fix}")


def _grant(plan: Plan, caller: str, mode: str) -> str:
    """Return the commands that give a role or user access. A session's ARN lacks the path of its role.

    Source: EKS user guide, "Create access entries", "Grant IAM users access to Kubernetes with a ConfigMap".
    """
    _, kind, name = identify_principal(caller)
    arn = f'"$(aws iam get-{kind} --{kind}-name {name} --query {kind.title()}.Arn --output text)"'
    cluster = f"--cluster-name {plan.cluster.name} --principal-arn {arn}"
    if mode == "CONFIG_MAP":
        return (
            f"`eksctl create iamidentitymapping --cluster {plan.cluster.name} --arn {arn} --group system:masters "
            f"--username {name}` adds it to aws-auth."
        )
    partition = caller.split(":")[1]
    policy = f"arn:{partition}:eks::aws:cluster-access-policy/{CLUSTER_ADMIN_POLICY}"
    return (
        f"`aws eks create-access-entry {cluster}`, then `aws eks associate-access-policy {cluster} --policy-arn "
        f"{policy} --access-scope type=cluster`."
    )
