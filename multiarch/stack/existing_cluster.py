"""The plan of a cluster that is there already, and of its subnets; and what a stack on one can't say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.errors import KeyPath
from multiarch.facts.limits import NameKind, check_name
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.schema.cluster import NEW_CLUSTER_KEYS, ExistingCluster
from multiarch.schema.stack import StackSpec
from multiarch.stack.model import ExistingClusterPlan, ExistingNetwork
from multiarch.stack.network import plan_subnets

if TYPE_CHECKING:  # a stack has none of the parts
    from multiarch.schema.parts import Cluster

_CLUSTER: KeyPath = ("cluster",)


def plan_existing_cluster(
    spec: StackSpec, settings: ExistingCluster, stack: str, region: str | None, report: ProblemReport
) -> tuple[ExistingClusterPlan, ExistingNetwork]:
    """Plan the cluster and its subnets, reporting every problem. ``stack`` is the stack's name."""
    if fault := check_name(NameKind.CLUSTER, settings.existing):
        report("cluster-name", (*_CLUSTER, "existing"), f"{fault}.", hint="Write the name that EKS shows.")
    for key in NEW_CLUSTER_KEYS:
        if key in spec.written:
            message = f"{key} belongs to the cluster {settings.existing}, which this stack does not manage."
            report("cluster-not-managed", (key,), message)
    if missing := list(_list_missing(spec, settings)):
        report(
            "cluster-not-pinned",
            _CLUSTER,
            f"{', '.join(missing)} of the cluster {settings.existing} {'is' if len(missing) == 1 else 'are'} missing.",
            hint=f"Run `multiarch stack pin {stack}`, which reads them from AWS.",
        )
    report_custom_networking(settings, report)
    cluster = ExistingClusterPlan(
        name=settings.existing,
        version=spec.kubernetes_version,
        authentication_mode=settings.authentication_mode or "",
        pod_identity_agent=settings.pod_identity_agent,
        prefix_delegation=settings.prefix_delegation,
        custom_networking=settings.custom_networking,
        security_groups=tuple(settings.security_groups),
    )
    path = (*_CLUSTER, "subnets")
    planned = plan_subnets(settings.subnets, "", path, region, report)
    if len(planned.zones) == 1:
        report("one-zone", path, f"all new nodes are in {planned.zones[0]}; they are lost together with the zone.")
    return cluster, replace(planned, ipv6=settings.ip_family == "ipv6")


def report_custom_networking(settings: ExistingCluster | Cluster, report: ProblemReport) -> None:
    """Report subnets of pods in a cluster with IPv6, where the VPC CNI uses none."""
    if settings.ip_family == "ipv6" and settings.custom_networking:
        message = "custom networking is for IPv4 addresses, and ipFamily is ipv6."
        report("ipv6", (*_CLUSTER, "customNetworking"), message, hint="Omit customNetworking.")


def _list_missing(spec: StackSpec, settings: ExistingCluster) -> Iterator[str]:
    if "kubernetesVersion" not in spec.written:
        yield "kubernetesVersion"
    if not settings.subnets:
        yield "cluster.subnets"
    if settings.authentication_mode is None:
        yield "cluster.authenticationMode"
    if settings.ip_family is None:
        yield "cluster.ipFamily"


def report_aws_auth(
    cluster: ExistingClusterPlan,
    groups: tuple[NodeGroupPlan, ...],
    autoscaling: AutoscalingPlan | None,
    report: ProblemReport,
) -> None:
    """Warn where nodes can join only by a line in ``aws-auth``; EKS writes that of managed groups itself.

    Source: EKS user guide, "Grant IAM users access to Kubernetes with a ConfigMap".
    """
    if cluster.takes_access_entries:
        return
    own: list[tuple[str, KeyPath]] = [
        (group.name, group.path) for group in groups if group.kind is NodeGroupKind.SELF_MANAGED
    ]
    if autoscaling and autoscaling.karpenter and not autoscaling.karpenter.settings.installed:
        own.append(("Karpenter", ("autoscaling", "use")))
    if own:
        names = ", ".join(name for name, _ in own)
        message = f"nodes of {names} can't join {cluster.name} before their role is in the ConfigMap aws-auth."
        report("aws-auth-line", own[0][1], message)
