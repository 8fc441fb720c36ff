"""The default StorageClass: encrypted gp3 volumes."""

from __future__ import annotations

from multiarch.facts.auto_mode import STORAGE_PROVISIONER
from multiarch.facts.labels import EKS_COMPUTE_TYPE

from ..component import Component
from ..kubernetes_api import ChildInCluster, InCluster

NAME = "gp3"


class DefaultStorageClass(ChildInCluster):
    """StorageClass ``gp3``, the default of the cluster.

    A volume is created where its pod was scheduled (``WaitForFirstConsumer``), after the node's zone is known.

    Nodes of EKS Auto Mode have a driver of their own, which other nodes don't have. Source: EKS user guide, "Create a
    storage class".
    """

    def __init__(self, name: str, owner: Component, cluster: InCluster, *, auto_mode: bool) -> None:
        """Declare the StorageClass; with ``auto_mode`` its volumes are for nodes of EKS Auto Mode."""
        super().__init__(name, owner, cluster)
        on_auto = {"matchLabelExpressions": [{"key": EKS_COMPUTE_TYPE, "values": ["auto"]}]}
        self.declare_object(
            NAME,
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {
                    "name": NAME,
                    "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                },
                "provisioner": STORAGE_PROVISIONER if auto_mode else "ebs.csi.aws.com",
                "parameters": {"type": "gp3", "encrypted": "true"},
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowVolumeExpansion": True,
                "reclaimPolicy": "Delete",
                **({"allowedTopologies": [on_auto]} if auto_mode else {}),
            },
        )
        self.register_outputs({"name": NAME})
