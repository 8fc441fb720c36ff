"""Encryption, protection against deletion, logging and the metadata service: what is weaker after a change."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from multiarch.review.model import Change, Finding, Operation, ReviewRule, Risk, Step
from multiarch.review.permissions.sides import both, kind
from multiarch.review.permissions.strengths import (
    Companion,
    Setting,
    at_least,
    at_most,
    contains,
    is_set,
    not_off,
    off,
    on,
    weakened,
)
from multiarch.review.permissions.wording import limited

ENCRYPTION = ReviewRule(
    "weaken-encryption",
    Risk.HIGH,
    "encryption that is switched off, or left to AWS's own key",
    "What is stored or sent there, and who may read it then?",
)
PROTECTION = ReviewRule(
    "weaken-protection",
    Risk.HIGH,
    "protection against deletion, or what allows a recovery, that is taken away",
    "Is the resource meant to be deleted soon?",
)
LOGGING = ReviewRule(
    "weaken-logging",
    Risk.MEDIUM,
    "logs that are no longer written, or are kept for less time",
    "Who needs these logs, and for how long?",
)
METADATA = ReviewRule(
    "weaken-metadata-service",
    Risk.HIGH,
    "an instance metadata service that takes requests without a token, or from pods",
    "May every pod on these nodes use the nodes' role?",
)
RULES = (ENCRYPTION, PROTECTION, LOGGING, METADATA)

_TEMPLATE, _INSTANCE = "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/instance:Instance"
_NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
_STORAGE_CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"
_CLUSTER, _LOG_GROUP, _KEY = "aws:eks/cluster:Cluster", "aws:cloudwatch/logGroup:LogGroup", "aws:kms/key:Key"
_BUCKETS = ("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2")

_ENCRYPTED = (
    Setting(ENCRYPTION, (_CLUSTER,), "encryptionConfig", is_set, "Secrets are not encrypted with a KMS key of yours"),
    Setting(
        ENCRYPTION,
        (_TEMPLATE,),
        "blockDeviceMappings[].ebs.encrypted",
        on(),
        "a volume of its instances is not encrypted (encrypted: {})",
        if_new=True,
    ),
    Setting(
        ENCRYPTION,
        (_NODE_CLASS,),
        "spec.blockDeviceMappings[].ebs.encrypted",
        not_off,
        "a volume of its nodes is not encrypted",
        if_new=True,
    ),
    Setting(
        ENCRYPTION,
        ("aws:ebs/volume:Volume", "aws:efs/fileSystem:FileSystem", "aws:redshift/cluster:Cluster"),
        "encrypted",
        on(),
        "it is not encrypted (encrypted: {})",
        if_new=True,
    ),
    Setting(ENCRYPTION, (_INSTANCE,), "rootBlockDevice.encrypted", on(), "its root volume is not encrypted"),
    Setting(
        ENCRYPTION,
        ("aws:rds/*", "aws:docdb/*", "aws:neptune/*"),
        "storageEncrypted",
        on(),
        "its storage is not encrypted",
    ),
    Setting(ENCRYPTION, (_STORAGE_CLASS,), "parameters.encrypted", on(), "new volumes are not encrypted by it ({})"),
    Setting(
        ENCRYPTION,
        ("aws:ebs/encryptionByDefault:*",),
        "enabled",
        not_off,
        "volumes are no longer encrypted by default",
    ),
    Setting(
        ENCRYPTION,
        ("aws:sqs/queue:Queue",),
        "sqsManagedSseEnabled",
        not_off,
        "messages are not encrypted by SQS",
    ),
    Setting(ENCRYPTION, ("aws:dynamodb/table:Table",), "serverSideEncryption.enabled", on(), "it uses a key of AWS"),
    Setting(
        ENCRYPTION, ("aws:elasticache/*",), "transitEncryptionEnabled", on(), "connections to it are not encrypted"
    ),
    Setting(ENCRYPTION, ("aws:elasticache/*",), "atRestEncryptionEnabled", on(), "it is not encrypted"),
    Setting(ENCRYPTION, ("aws:opensearch/domain:Domain",), "encryptAtRest.enabled", on(), "it is not encrypted"),
    Setting(
        ENCRYPTION,
        ("aws:lb/listener:Listener", "aws:alb/listener:Listener"),
        "protocol",
        on("HTTPS", "TLS"),
        "connections to it are not encrypted ({})",
    ),
    Setting(ENCRYPTION, ("aws:*",), "kmsKeyId", is_set, "it is not encrypted with a KMS key of yours"),
    Setting(ENCRYPTION, ("aws:*",), "kmsMasterKeyId", is_set, "it is not encrypted with a KMS key of yours"),
    Setting(ENCRYPTION, (_KEY,), "enableKeyRotation", on(), "the key is not rotated"),
    Setting(ENCRYPTION, (_KEY,), "isEnabled", not_off, "the key is disabled"),
)
_PROTECTED = (
    *(
        Setting(PROTECTION, ("aws:*",), name, on(), f"{name} is {{}}")
        for name in ("deletionProtection", "enableDeletionProtection", "deletionProtectionEnabled")
    ),
    Setting(PROTECTION, (_INSTANCE, _TEMPLATE), "disableApiTermination", on(), "disableApiTermination is {}"),
    Setting(
        PROTECTION, (_KEY,), "deletionWindowInDays", at_least(30), "a deleted key can be restored for {} days only"
    ),
    Setting(PROTECTION, ("aws:*",), "backupRetentionPeriod", at_least(1), "backups are kept for {} days only"),
    Setting(PROTECTION, ("aws:*",), "skipFinalSnapshot", off, "no snapshot is taken when it is deleted"),
    Setting(PROTECTION, ("aws:*",), "forceDestroy", off, "it is deleted with all that is in it"),
    Setting(PROTECTION, ("aws:ecr/*",), "forceDelete", off, "it is deleted with all its images"),
    Setting(
        PROTECTION, ("aws:ecr/repository:Repository",), "imageTagMutability", on("IMMUTABLE"), "tags can be moved ({})"
    ),
    Setting(
        PROTECTION, ("aws:s3/bucketVersioning*",), "versioningConfiguration.status", on("Enabled"), "versioning is {}"
    ),
    Setting(
        PROTECTION, ("aws:dynamodb/table:Table",), "pointInTimeRecovery.enabled", on(), "no point-in-time recovery"
    ),
    Setting(PROTECTION, (_STORAGE_CLASS,), "reclaimPolicy", on("Retain"), "volumes are deleted with their claims ({})"),
)
_LOGGED = (
    *(
        Setting(
            LOGGING,
            (_CLUSTER,),
            "enabledClusterLogTypes",
            contains(log),
            f"no {log} logs",
        )
        for log in ("api", "audit", "authenticator", "controllerManager", "scheduler")
    ),
    Setting(
        LOGGING,
        (_LOG_GROUP,),
        "retentionInDays",
        lambda value: at_least(inf)(value or None),
        "logs are kept for {} days only",
    ),
    Setting(LOGGING, ("aws:cloudtrail/trail:Trail",), "enableLogging", not_off, "it is off"),
    Setting(LOGGING, ("aws:ec2/flowLog:FlowLog",), "trafficType", on("ALL"), "only {} traffic is logged"),
)
_GUARDED = tuple(
    setting
    for types, path in (((_TEMPLATE, _INSTANCE), "metadataOptions"), ((_NODE_CLASS,), "spec.metadataOptions"))
    for setting in (
        Setting(
            METADATA,
            types,
            f"{path}.httpTokens",
            on("required") if path == "metadataOptions" else on("required", None),
            "IMDSv2 is not required (httpTokens: {})",
            if_new=True,
        ),
        Setting(
            METADATA,
            types,
            f"{path}.httpPutResponseHopLimit",
            at_most(1),
            "answers of the metadata service travel {} hops: pods that are not on the host network can use the role",
        ),
    )
)
_SETTINGS = (*_ENCRYPTED, *_PROTECTED, *_LOGGED, *_GUARDED)
_COMPANIONS = (
    Companion(
        LOGGING, "aws:ec2/flowLog:FlowLog", ("aws:ec2/vpc:Vpc",), "vpcId", "the flow log of a VPC that stays is deleted"
    ),
    Companion(LOGGING, "aws:cloudtrail/trail:Trail", (), "", "the trail is deleted"),
    *(
        Companion(ENCRYPTION, type_, _BUCKETS, "bucket", "the encryption settings of a bucket that stays are deleted")
        for type_ in (
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
            "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2",
        )
    ),
    *(
        Companion(PROTECTION, type_, _BUCKETS, "bucket", "the versioning of a bucket that stays is deleted")
        for type_ in ("aws:s3/bucketVersioning:BucketVersioning", "aws:s3/bucketVersioningV2:BucketVersioningV2")
    ),
)


def find(change: Change) -> Iterator[Finding]:
    """Settings by URN, then what Pulumi itself protects, in the order of the preview's steps."""
    for sides in both(change, lambda type_: type_.startswith("aws:") or type_ in {_NODE_CLASS, _STORAGE_CLASS}):
        yield from weakened(sides, _SETTINGS, _COMPANIONS)
    for key, lines in _OF_PULUMI.items():
        steps = [step for step in change.preview.steps if _is_taken_away(step, key)]
        names = [f"{kind(step.type)} {step.name}" for step in steps]
        text = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else "".join(names)
        urns = [step.urn for step in steps]
        if steps:
            yield Finding(PROTECTION, text, lines, limited(names[1:]), tuple(urns))


_OF_PULUMI = {
    "protect": "protect is taken away: Pulumi will no longer refuse to delete or replace it",
    "retain_on_delete": "retainOnDelete is taken away: it will be deleted in AWS when it leaves the program",
}
"""What Pulumi itself protects, which may change while all properties stay the same."""


def _is_taken_away(step: Step, name: str) -> bool:
    """Whether a step takes away what ``name`` protects. Components pass it on to their resources, and have no ID."""
    if step.operation is Operation.DRIFT or step.old is None or step.new is None or not step.old.id:
        return False
    return getattr(step.old, name) and not getattr(step.new, name)
