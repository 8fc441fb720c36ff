"""The default StorageClass: encrypted gp3 volumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from . import kubernetes_api
from .component import Component, Naming

NAME = "gp3"


@dataclass(frozen=True, slots=True)
class DefaultStorageClassArgs:
    """``provider`` reaches the Kubernetes API; ``ready`` is what provisions volumes."""

    naming: Naming
    provider: pulumi.ProviderResource
    ready: Sequence[pulumi.Resource]


class DefaultStorageClass(Component):
    """StorageClass ``gp3``, the default of the cluster.

    A volume is created where its pod was scheduled (``WaitForFirstConsumer``), after the node's zone is known.
    """

    def __init__(self, name: str, args: DefaultStorageClassArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare the StorageClass."""
        super().__init__("DefaultStorageClass", name, args.naming, opts)
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
            self.child(NAME, depends_on=args.ready, provider=args.provider),
        )
        self.register_outputs({"name": NAME})
