"""What needs a way to the Kubernetes API when Pulumi runs, or an IAM role in the cluster."""

from __future__ import annotations

from multiarch.errors import KeyPath
from multiarch.nodes.report import ProblemReport
from multiarch.schema.stack import StackSpec


def can_reach_api(spec: StackSpec) -> bool:
    """Return whether Pulumi can reach the Kubernetes API on the first run: nothing runs in a new private VPC yet."""
    return spec.api_endpoint.public or spec.network.vpc_id is not None or spec.cluster is not None


def check_reachable(rule: str, path: KeyPath, what: str, spec: StackSpec, report: ProblemReport) -> None:
    """Report what the first run can't do in the cluster, such as "install karpenter"."""
    if not can_reach_api(spec):
        report(
            rule,
            path,
            "the API server is reachable from within the VPC only, and this VPC is new: the first run can't "
            f"{what} unless Pulumi reaches the VPC. Later previews, updates and a destroy must reach it too.",
        )


def check_role(rule: str, who: str, spec: StackSpec, report: ProblemReport) -> None:
    """Report pods that need an IAM role and can't get it; nodes of EKS Auto Mode have their own agent."""
    if spec.autoscaling.use == "auto-mode":
        return
    if spec.cluster is not None:
        if not spec.cluster.pod_identity_agent:
            message = f"{who} would get no IAM role: the cluster has no Pod Identity agent."
            hint = "Install the EKS add-on eks-pod-identity-agent, and set podIdentityAgent: true."
            report(rule, ("cluster", "podIdentityAgent"), message, hint=hint)
    elif not spec.addons["eks-pod-identity-agent"].enabled:
        path = ("addons", "podIdentityAgent", "enabled")
        report(rule, path, f"{who} would get no IAM role: the Pod Identity agent is turned off.")


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
