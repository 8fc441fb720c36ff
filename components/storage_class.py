"""The default StorageClass: encrypted gp3 volumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.component import Component
from multiarch.nodes.model import Pairs

NAME = "gp3"


@dataclass(frozen=True, slots=True)
class DefaultStorageClassArgs:
    """``kubeconfig`` is how the engine reaches the Kubernetes API; ``ready`` is what provisions volumes."""

    cluster: str
    tags: Pairs
    kubeconfig: pulumi.Input[str]
    ready: Sequence[pulumi.Resource]


class DefaultStorageClass(Component):
    """StorageClass ``gp3``, the default of the cluster.

    A volume is made where its pod was scheduled (``WaitForFirstConsumer``), so that zone and architecture of the node
    are settled first.
    """

    def __init__(self, name: str, args: DefaultStorageClassArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare a Kubernetes provider and the StorageClass."""
        super().__init__("DefaultStorageClass", name, cluster=args.cluster, tags=args.tags, opts=opts)
        provider = kubernetes.Provider("cluster", kubeconfig=args.kubeconfig, opts=self.child("cluster"))
        # The SDK's class for it loads the types of all of Kubernetes' core API: 18 MB for seven properties.
        pulumi.CustomResource(
            "kubernetes:storage.k8s.io/v1:StorageClass",
            NAME,
            props={
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
            opts=self.child(NAME, depends_on=args.ready, provider=provider),
        )
        self.register_outputs({"name": NAME})
