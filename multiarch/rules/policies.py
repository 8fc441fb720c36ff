"""Policies: what holds for the resources of any stack (``stack check --policy``, and the policy pack)."""

from __future__ import annotations

from multiarch.rules.rule import error, warning

# fmt: off
POLICIES = (
    error("policy-architecture",
          "a node group or Auto Scaling group whose instance types, or whose amiType, have different architectures",
          "Use one architecture per group."),
    error("policy-arm64-taint", "arm64 nodes without a NoSchedule or NoExecute taint",
          "Add the taint arch=arm64:NoSchedule, or the tag multiarch-eks/arm64-taint=none."),
    error("policy-ssh-key", "nodes with an SSH key", "Use Session Manager."),
    error("policy-ssh-port", "a security group that admits addresses to port 22",
          "Use Session Manager, and remove the rule."),
    error("policy-imdsv2", "nodes whose metadata service answers without a token",
          "Set httpTokens to required in metadataOptions."),
    warning("policy-ami-pinned", "nodes whose image AWS chooses",
            "Set the launch template's imageId, or an alias with a version; `multiarch stack pin` does so."),
    error("policy-scale-from-zero",
          "a group that may have no nodes, without the tags that tell the cluster autoscaler its labels and taints",
          "Add aws.autoscaling.Tag resources for k8s.io/cluster-autoscaler/node-template/…."),
    error("policy-desired-size", "a group whose number of nodes an update would undo",
          "Add it to the resource's ignoreChanges."),
    error("policy-public-endpoint", "an EKS endpoint that is public for everyone",
          "Set endpointPublicAccess to false, or publicAccessCidrs to the addresses of your network."),
    error("policy-encrypted-volumes", "volumes that are not encrypted", "Set encrypted to true."),
    error("policy-encrypted-secrets", "a cluster whose Secrets are not encrypted with a KMS key",
          "Set encryptionConfig with a key, for the resource secrets."),
    error("policy-iam-wildcards", "permissions for whole services, for changes of every resource, or for everyone",
          "Name actions and resources, or add a condition."),
    error("policy-daemonset-architectures",
          "a DaemonSet whose images lack an architecture that its nodes may have, or can't be read",
          "Use images for both architectures, or a nodeSelector on kubernetes.io/arch."),
)
"""The rows; ``multiarch/policies`` has the functions."""
