"""The default StorageClass: encrypted gp3 volumes."""

from __future__ import annotations

import pulumi

from .. import kubernetes_api
from ..component import Component, InCluster

NAME = "gp3"


class DefaultStorageClass(Component):
    """StorageClass ``gp3``, the default of the cluster.

    A volume is created where its pod was scheduled (``WaitForFirstConsumer``), after the node's zone is known.
    """

    def __init__(self, name: str, cluster: InCluster, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare the StorageClass."""
        super().__init__("DefaultStorageClass", name, cluster.naming, opts)
        kubernetes_api.declare_object(
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
            self.child(NAME, depends_on=cluster.ready, provider=cluster.provider),
        )
        self.register_outputs({"name": NAME})
