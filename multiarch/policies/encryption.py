"""Policies for what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.nodes import INSTANCE, LAUNCH_CONFIGURATION, LAUNCH_TEMPLATE, NODE_CLASS
from multiarch.observed.resources.properties import is_on, require_items, require_text, require_value
from multiarch.policies.model import Policy
from multiarch.policies.network import CLUSTERS, is_without_inputs

VOLUME = "aws:ebs/volume:Volume"
STORAGE_CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"
_EBS = frozenset({"ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", "kubernetes.io/aws-ebs"})
"""The provisioners of EBS volumes: the driver's, that of EKS Auto Mode, and the one that the first stands in for."""


def _volumes(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    if resource.type == VOLUME:
        if not is_on(resource.inputs, "encrypted"):
            yield "The volume is not encrypted."
    elif resource.type == STORAGE_CLASS:
        of_ebs = require_text(resource.inputs, "provisioner") in _EBS
        # The driver encrypts with a key that is named, also without the switch.
        is_encrypted = is_on(resource.inputs, "parameters.encrypted")
        if of_ebs and not is_encrypted and not require_text(resource.inputs, "parameters.kmsKeyId"):
            yield "The volumes of this StorageClass are not encrypted."
    elif resource.type in {INSTANCE, LAUNCH_CONFIGURATION}:
        if not is_on(resource.inputs, "rootBlockDevice.encrypted"):
            yield "The root volume is not encrypted."
        for device in require_items(resource.inputs, "ebsBlockDevices"):
            if not is_on(device, "encrypted") and not is_on(device, "noDevice"):
                yield f"The volume {require_text(device, 'deviceName')} is not encrypted."
    else:
        yield from _mappings(resource)


def _mappings(resource: DeclaredResource) -> Iterator[str]:
    """Yield the volumes of a launch template or an EC2NodeClass. Without mappings Karpenter encrypts, EC2 does not."""
    path = "spec.blockDeviceMappings" if resource.type == NODE_CLASS else "blockDeviceMappings"
    mappings = require_items(resource.inputs, path)
    if not mappings and resource.type == LAUNCH_TEMPLATE:
        yield "blockDeviceMappings is not set: whether volumes are encrypted depends on the image and the account."
    for mapping in mappings:
        if require_value(mapping, "ebs") is not None and not is_on(mapping, "ebs.encrypted"):
            yield f"The volume {require_text(mapping, 'deviceName')} is not encrypted."


def _secrets(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    if is_without_inputs(resource) or require_text(resource.inputs, "encryptionConfigKeyArn"):
        return
    if "secrets" not in [str(each) for each in require_items(resource.inputs, "encryptionConfig.resources")]:
        yield "Kubernetes Secrets are not encrypted with a KMS key of yours."


POLICIES = (
    Policy(
        "policy-encrypted-volumes",
        frozenset({VOLUME, STORAGE_CLASS, INSTANCE, LAUNCH_CONFIGURATION, LAUNCH_TEMPLATE, NODE_CLASS}),
        _volumes,
    ),
    Policy(
        "policy-encrypted-secrets",
        CLUSTERS,
        _secrets,
    ),
)
"""The policies for what is stored."""
