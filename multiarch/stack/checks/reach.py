"""What needs a way to the Kubernetes API when Pulumi runs."""

from __future__ import annotations

from multiarch.nodes.report import ProblemReport
from multiarch.schema.stack import StackSpec


def reachable(spec: StackSpec) -> bool:
    """Whether Pulumi can reach the Kubernetes API on the first run: nothing runs in a new private VPC yet."""
    return spec.api_endpoint.public or spec.network.vpc_id is not None


def storage_class(spec: StackSpec, report: ProblemReport) -> bool:
    """Return what was written, or whether the EBS CSI driver is there to serve it and Pulumi can reach the API.

    Nothing runs in a new VPC when its cluster is created: with a private endpoint alone, Pulumi can't declare anything
    in the cluster on the first run.
    """
    if spec.storage_class is None:
        return spec.addons["aws-ebs-csi-driver"].enabled and reachable(spec)
    if spec.storage_class and not reachable(spec):
        report(
            "storage-class-unreachable",
            ("storageClass",),
            "the API server is reachable from within the VPC only, and this VPC is new: the first run can't declare "
            "a StorageClass unless Pulumi reaches the VPC.",
        )
    if spec.storage_class and not spec.addons["aws-ebs-csi-driver"].enabled:
        report("storage-class", ("storageClass",), "the StorageClass needs the EBS CSI driver, which is turned off.")
    return spec.storage_class
