"""Autoscalers that a cluster has already: what a stack may still say of them."""

from __future__ import annotations

import re

from multiarch.autoscaling.model import Autoscaler
from multiarch.autoscaling.spec import ROOT
from multiarch.errors import KeyPath
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext
from multiarch.schema.autoscaling import Autoscaling

_OF_THE_OWNER = {
    Autoscaler.CLUSTER_AUTOSCALER: (
        "scaleDownUnneededMinutes",
        "scaleDownDelayAfterAddMinutes",
        "scaleDownUtilizationPercent",
        "serviceMonitor",
    ),
    Autoscaler.KARPENTER: ("version", "controllerGroup", "serviceMonitor", "spotToSpotConsolidation"),
}
"""Keys of what the stack does not install."""
_OF_ALL_GROUPS = (
    "a cluster autoscaler that the stack installs would scale the node groups of others too: EKS tags all managed "
    "groups of a cluster for its discovery."
)
"""Source: EKS user guide, "Managed node groups": EKS tags them for discovery by the cluster autoscaler."""
_ROLE = re.compile(r"[\w+=,.@-]{1,64}", re.ASCII)


def check_installed(settings: Autoscaling, context: ClusterContext, report: ProblemReport) -> None:
    """Reject an installed autoscaler in a new cluster, and what only its owner can set."""
    sections = (
        (Autoscaler.CLUSTER_AUTOSCALER, "clusterAutoscaler", settings.cluster_autoscaler),
        (Autoscaler.KARPENTER, "karpenter", settings.karpenter),
    )
    for autoscaler, key, section in sections:
        path: KeyPath = (*ROOT, key)
        if not section.installed:
            if "namespace" in section.written:
                message = f"the stack installs {autoscaler} in kube-system."
                report("nothing-installed", (*path, "namespace"), message)
            continue
        if not context.existing:
            report("nothing-installed", (*path, "installed"), f"the cluster is new, and has no {autoscaler} yet.")
        if settings.migrate_from is not None and autoscaler in {settings.use, settings.migrate_from}:
            message = f"the stack does not install {autoscaler}, and can't change how it adds nodes."
            report("migration-of-installed", (*ROOT, "migrateFrom"), message)
        for name in _OF_THE_OWNER[autoscaler]:
            if name in section.written:
                report("installed-autoscaler", (*path, name), f"{name} is set where {autoscaler} was installed.")
    _check_cluster_autoscaler(settings, context, report)
    _check_node_roles(settings, context, report)


def _check_cluster_autoscaler(settings: Autoscaling, context: ClusterContext, report: ProblemReport) -> None:
    """Report one of the stack's own in an existing cluster; Karpenter changes nodes of its NodePools only."""
    if not context.existing or settings.cluster_autoscaler.installed:
        return
    for key, use in (("use", settings.use), ("migrateFrom", settings.migrate_from)):
        if use == "cluster-autoscaler":
            report("autoscaler-of-all-groups", (*ROOT, key), _OF_ALL_GROUPS)


def _check_node_roles(settings: Autoscaling, context: ClusterContext, report: ProblemReport) -> None:
    """Check the roles of nodes that others made, by name."""
    karpenter, auto_mode = settings.karpenter, settings.auto_mode
    if karpenter.installed and karpenter.node_role is None:
        message = "the installed Karpenter launches nodes with a role that it may pass, and none is named."
        report("node-role", (*ROOT, "karpenter", "nodeRole"), message)
    for key, role, taken, whose in (
        ("karpenter", karpenter.node_role, karpenter.installed, "Karpenter's nodes"),
        ("autoMode", auto_mode.node_role, context.existing, "the nodes of a new cluster"),
    ):
        path = (*ROOT, key, "nodeRole")
        if role is not None and not taken:
            report("node-role", path, f"the stack makes a role for {whose}.", hint="Remove nodeRole.")
        elif role is not None and not _ROLE.fullmatch(role):
            name = role.rpartition("/")[2]
            hint = f"Write {name}." if _ROLE.fullmatch(name) else ""
            report("node-role", path, f"{role!r} is not the name of an IAM role.", hint=hint)
