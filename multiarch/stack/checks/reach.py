"""What needs a way to the Kubernetes API when Pulumi runs, an IAM role in the cluster, or a route out of the VPC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from multiarch.errors import KeyPath
from multiarch.facts.autoscalers import get_publisher
from multiarch.nodes.report import ProblemReport
from multiarch.schema.autoscaling import Autoscaling
from multiarch.schema.stack import StackSpec
from multiarch.stack.model import AddonPlan

_NEEDED_BY: Mapping[str, str] = {"cluster-autoscaler": "autoscaling", "karpenter": "sqs"}
"""Endpoints by autoscaler: ``sqs`` is for Karpenter's interruption queue."""


def can_reach_api(spec: StackSpec) -> bool:
    """Return whether Pulumi can reach the Kubernetes API on the first run: nothing runs in a new private VPC yet."""
    return spec.api_endpoint.public or spec.network.vpc_id is not None or spec.cluster is not None


def is_isolated(spec: StackSpec) -> bool:
    """Return whether the network has VPC endpoints only, as far as the file says."""
    return spec.network.nat == "none" or bool(spec.autoscaling.karpenter.isolated_vpc)


def can_pull(chart: str, spec: StackSpec, *, mirrored: bool = True) -> bool:
    """Return whether nodes can reach the image of a chart: its publisher has no VPC endpoint."""
    return not is_isolated(spec) or has_copy(chart, spec, mirrored=mirrored)


def has_copy(chart: str, spec: StackSpec, *, mirrored: bool = True) -> bool:
    """Return whether a registry of the organisation has the image of a chart, or with ``mirrored`` a mirror."""
    mirrors = spec.registry_mirrors if mirrored else ()
    return get_publisher(chart) in {*spec.charts.image_registries, *mirrors}


def list_also_needed(spec: StackSpec) -> Iterator[str]:
    """Yield endpoints that a cluster without a route to the internet needs for what else the team wants."""
    if spec.addons["eks-pod-identity-agent"].enabled:
        yield "eks-auth"
    if spec.session.log_to_cloud_watch:
        yield "logs"
    yield from (_NEEDED_BY[each] for each in list_own(spec.autoscaling))


def list_own(spec: Autoscaling) -> tuple[str, ...]:
    """Return the autoscalers that the stack installs."""
    there = {"cluster-autoscaler": spec.cluster_autoscaler.installed, "karpenter": spec.karpenter.installed}
    return tuple(each for each, installed in there.items() if each in {spec.use, spec.migrate_from} and not installed)


def check_reachable(rule: str, path: KeyPath, what: str, spec: StackSpec, report: ProblemReport) -> None:
    """Report what the first run can't do in the cluster, such as "install karpenter"."""
    if not can_reach_api(spec):
        report(
            rule,
            path,
            "the API server is reachable from within the VPC only, and this VPC is new: the first run can't "
            f"{what} unless Pulumi reaches the VPC. Later previews, updates and a destroy must reach it too.",
        )


def check_pod_identity(spec: StackSpec, addons: Iterable[AddonPlan], report: ProblemReport) -> None:
    """Report pods that need an IAM role and can't get it.

    Nodes of EKS Auto Mode have their own agent; those of node groups beside them do not.
    """
    who = ", ".join(_list_with_role(spec, addons))
    own_agent = spec.autoscaling.use == "auto-mode" and (spec.cluster is not None or not spec.has_node_groups)
    if not who or own_agent:
        return
    if spec.cluster is not None:
        if not spec.cluster.pod_identity_agent:
            message = f"{who} would get no IAM role: the cluster has no Pod Identity agent."
            hint = "Install the EKS add-on eks-pod-identity-agent, and set podIdentityAgent: true."
            report("pod-identity-agent", ("cluster", "podIdentityAgent"), message, hint=hint)
    elif not spec.addons["eks-pod-identity-agent"].enabled:
        path = ("addons", "podIdentityAgent", "enabled")
        report("pod-identity-agent", path, f"{who} would get no IAM role: the Pod Identity agent is turned off.")


def _list_with_role(spec: StackSpec, addons: Iterable[AddonPlan]) -> Iterator[str]:
    """Yield what gets its IAM role from the Pod Identity agent, in words."""
    yield from list_own(spec.autoscaling)
    yield from (each.name for each in addons if each.service_account)
    webhook, rebalance = spec.admission_webhook, spec.rebalance
    if webhook is not None and webhook.enabled and webhook.configuration.registries.ecr:
        yield "the admission webhook"
    if rebalance is not None and rebalance.enabled and rebalance.ecr_repositories:
        yield "the CronJob that rebalances"
    for key, each in sorted(spec.iam.service_accounts.items()):
        if each.credentials == "pod-identity":
            yield f"{each.namespace}/{each.name or key}"


def choose_storage_class(spec: StackSpec, report: ProblemReport) -> bool:
    """Return what was written, or whether a driver is there to serve it and Pulumi can reach the API.

    The driver is the add-on's, or EKS Auto Mode's own.
    """
    driver = spec.addons["aws-ebs-csi-driver"].enabled or spec.autoscaling.use == "auto-mode"
    if spec.storage_class is None:
        return driver and can_reach_api(spec)
    if spec.storage_class:
        check_reachable("storage-class-unreachable", ("storageClass",), "declare a StorageClass", spec, report)
        if not driver:
            message = "the StorageClass needs the EBS CSI driver, which is turned off."
            report("storage-class", ("storageClass",), message)
    return spec.storage_class
