"""The default StorageClass: encrypted gp3 volumes."""

from __future__ import annotations

from ..component import Component
from ..kubernetes_api import ChildInCluster, InCluster

NAME = "gp3"


class DefaultStorageClass(ChildInCluster):
    """StorageClass ``gp3``, the default of the cluster.

    A volume is created where its pod was scheduled (``WaitForFirstConsumer``), after the node's zone is known.
    """

    def __init__(self, name: str, owner: Component, cluster: InCluster) -> None:
        """Declare the StorageClass."""
        super().__init__(name, owner, cluster)
        self.declare_object(
            NAME,
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {
                    "name": NAME,
                    "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                },
                "provisioner": "ebs.csi.aws.com",
                "parameters": {"type": "gp3", "encrypted": "true"},
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowVolumeExpansion": True,
                "reclaimPolicy": "Delete",
            },
        )
        self.register_outputs({"name": NAME})
