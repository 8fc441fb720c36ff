"""Generated from multiarch/schema/cluster.py by ``make generate``: arguments of components."""

from typing import NotRequired, TypedDict


class AccessSettings(TypedDict):
    """Access entries: which IAM principals may use the Kubernetes API.

    EKS makes the creator of the cluster an admin automatically, and refuses a second entry: leave that role out
    here.
    """

    admins: NotRequired[list[str]]
    """ARNs of IAM roles or users with AmazonEKSClusterAdminPolicy."""

    readers: NotRequired[list[str]]
    """ARNs of IAM roles or users with AmazonEKSViewPolicy; it does not show Secrets."""


class LoggingSettings(TypedDict):
    """Control plane logs in CloudWatch."""

    types: NotRequired[list[str]]
    """Which logs are sent."""

    retentionDays: NotRequired[int]
    """How long CloudWatch keeps them. One of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096,
    1827, 2192, 2557, 2922, 3288, 3653. Default: 90.
    """


class SecretsEncryptionSettings(TypedDict):
    """Envelope encryption of Kubernetes Secrets with a KMS key."""

    enabled: NotRequired[bool]
    """EKS can't take encryption back: once on, it stays on for the cluster's life. Default: true."""

    kmsKeyArn: NotRequired[str]
    """An existing key. Default: a key of this stack's own, rotated every year."""


class SessionSettings(TypedDict):
    """SSM Session Manager preferences; there is no SSH."""

    idleTimeoutMinutes: NotRequired[int]
    """End a session after this time without input. Default: 20."""

    maxDurationMinutes: NotRequired[int]
    """End a session after this time at the latest. Default: no limit."""

    logToCloudWatch: NotRequired[bool]
    """Keep what sessions print in an encrypted CloudWatch log group. Default: true."""

    logRetentionDays: NotRequired[int]
    """How long CloudWatch keeps them. One of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096,
    1827, 2192, 2557, 2922, 3288, 3653. Default: 90.
    """

    encrypt: NotRequired[bool]
    """Encrypt what a session carries with the stack's KMS key, in addition to TLS. Then people need
    `kms:GenerateDataKey` on that key, which the output `sessionPolicy` allows. Default: false.
    """

    runAsUser: NotRequired[str]
    """The Linux user of a session. Default: ssm-user."""
