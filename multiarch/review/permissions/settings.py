"""Settings that are weaker after a change: public access, encryption, protection, logging, the metadata service."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from multiarch.observed.resources.paths import split_path
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.permissions.cluster import WIDEN_ACCESS as ACCESS
from multiarch.review.permissions.reporting import UNCHANGED, report_difference
from multiarch.review.permissions.sides import Side, get_hidden_reason, list_values, name_kind
from multiarch.review.values import limit_lines
from multiarch.rules import REVIEW_RULES, Finding, Risk, Rule

PUBLIC = REVIEW_RULES["public-endpoint"]
ENCRYPTION = REVIEW_RULES["weaken-encryption"]
PROTECTION = REVIEW_RULES["weaken-protection"]
LOGGING = REVIEW_RULES["weaken-logging"]
METADATA = REVIEW_RULES["weaken-metadata-service"]
PODS = REVIEW_RULES["weaken-pod-security"]
WIDEN = REVIEW_RULES["widen-network"]


_MORE, _LESS, _DAYS, _SET, _ON, _OFF = ("more",), ("less",), ("days",), (), ("true",), ("false", "")
_LEVELS = ("baseline", "restricted")
"""Which values are strong: greater numbers, lesser ones, days of which 0 are all, any value, these strings, or levels
of Pod Security, of which the last is the strongest.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """Properties of types that begin with one of ``types``, and which of their values are ``strong``.

    ``paths`` have dots; of the elements of a list, the weakest counts. ``default`` is the value of what is not set.
    ``if_new``: found in a new resource too, if it is not as strong as it could be.
    """

    rule: Rule
    types: tuple[str, ...]
    paths: tuple[str, ...]
    strong: tuple[str, ...] = _ON
    default: str = ""
    meaning: str = ""
    if_new: bool = False

    def measure(self, value: object) -> float:
        """Return how strong a value is, in numbers that only compare with those of the same property."""
        if self.strong == _SET:
            return float(value not in (None, "", [], {}))
        if get_hidden_reason(value):
            return -inf
        text = self.default if value is None else str(value).lower()
        if self.strong not in {_MORE, _LESS, _DAYS}:
            return float(text in self.strong and (self.strong != _LEVELS or 1 + _LEVELS.index(text)))
        number = float(text) if text == "inf" or text.replace(".", "").isdecimal() else -inf
        return -number if self.strong == _LESS else number or (inf if self.strong == _DAYS else 0)


_AWS, _CLUSTER, _KEY, _BLOCKS = (
    ("aws:",),
    ("aws:eks/cluster:",),
    ("aws:kms/key:",),
    ("aws:s3/bucketPublic", "aws:s3/acc"),
)
_TEMPLATE = ("aws:ec2/launchTemplate:",)
_MACHINES = (*_TEMPLATE, "aws:ec2/launchConfiguration:", "aws:ec2/instance:")
_NODE_CLASS, _STORAGE_CLASS = ("kubernetes:karpenter.k8s.aws/",), ("kubernetes:storage.k8s.io/v1:StorageClass",)
_AUTO_MODE = ("kubernetes:eks.amazonaws.com/v1:NodeClass",)
_SESSIONS, _POLICIES = ("aws:ssm/document:",), ("kubernetes:networking.k8s.io/v1:NetworkPolicy",)
_VOLUMES = ("aws:ebs/volume:", "aws:efs/fileSystem:")
_PRIVATE = ("", "private", "log-delivery-write", "bucket-owner-read", "bucket-owner-full-control", "aws-exec-read")
_OPEN, _OWN_KEY = "public access is no longer blocked", "not encrypted with a KMS key of yours"
_DATABASES = tuple(
    f"aws:{each}:" for each in ("rds/instance", "rds/cluster", "rds/globalCluster", "docdb/cluster", "neptune/cluster")
)
_WORKLOADS = ("kubernetes:apps/", "kubernetes:batch/", "kubernetes:core/v1:Pod")
_POD_SPECS = ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec")
_PRIVILEGED = tuple(
    f"{spec}.{kind}ontainers.securityContext.privileged" for spec in _POD_SPECS for kind in ("c", "initC")
)
_ON_THE_HOST = tuple(f"{spec}.{each}" for spec in _POD_SPECS for each in ("hostNetwork", "hostPID", "hostIPC"))
_ENFORCED = 'metadata.labels["pod-security.kubernetes.io/enforce"]'
_HOPS = "pods that are not on the host network can use the role"
_SETTINGS = (
    Setting(PUBLIC, ("aws:lb/load", "aws:alb/load", "aws:elb/load"), ("internal",), if_new=True),
    Setting(PUBLIC, _AWS, ("publiclyAccessible", "associatePublicIpAddress"), _OFF, if_new=True),
    Setting(PUBLIC, _TEMPLATE, ("networkInterfaces.associatePublicIpAddress",), _OFF, if_new=True),
    Setting(PUBLIC, _AUTO_MODE, ("spec.advancedNetworking.associatePublicIPAddress",), _OFF, if_new=True),
    Setting(PUBLIC, ("aws:ec2/subnet:",), ("mapPublicIpOnLaunch",), _OFF),
    Setting(PUBLIC, _BLOCKS, ("blockPublicAcls", "blockPublicPolicy"), meaning=_OPEN),
    Setting(PUBLIC, _BLOCKS, ("ignorePublicAcls", "restrictPublicBuckets"), meaning=_OPEN),
    Setting(PUBLIC, ("aws:s3/bucket",), ("acl",), _PRIVATE, if_new=True),
    Setting(PUBLIC, ("aws:ec2/amiLaunchPermission:",), ("group",), ("",), meaning="every account", if_new=True),
    Setting(ENCRYPTION, _CLUSTER, ("encryptionConfig",), _SET, meaning=f"Secrets are {_OWN_KEY}"),
    Setting(ENCRYPTION, _AWS, ("kmsKeyId", "kmsMasterKeyId"), _SET, meaning=_OWN_KEY),
    Setting(ENCRYPTION, _TEMPLATE, ("blockDeviceMappings.ebs.encrypted",), if_new=True),
    Setting(ENCRYPTION, _NODE_CLASS, ("spec.blockDeviceMappings.ebs.encrypted",), ("true", ""), if_new=True),
    Setting(ENCRYPTION, _VOLUMES, ("encrypted",), if_new=True),
    Setting(ENCRYPTION, _STORAGE_CLASS, ("parameters.encrypted",)),
    Setting(ENCRYPTION, _DATABASES, ("storageEncrypted",), if_new=True),
    Setting(ENCRYPTION, _AWS, ("rootBlockDevice.encrypted", "serverSideEncryption.enabled")),
    Setting(ENCRYPTION, ("aws:s3/bucketServerSide",), ("rules",), _SET),
    Setting(ENCRYPTION, ("aws:ebs/encryptionByDefault:",), ("enabled",), ("true", "")),
    Setting(ENCRYPTION, ("aws:lb/listener:", "aws:alb/listener:"), ("protocol",), ("https", "tls")),
    Setting(ENCRYPTION, _KEY, ("enableKeyRotation",)),
    Setting(ENCRYPTION, _KEY, ("isEnabled",), ("true", "")),
    Setting(PROTECTION, _AWS, ("deletionProtection", "enableDeletionProtection", "deletionProtectionEnabled")),
    Setting(PROTECTION, _AWS, ("disableApiTermination", "pointInTimeRecovery.enabled")),
    Setting(PROTECTION, _AWS, ("skipFinalSnapshot", "forceDestroy", "forceDelete"), _OFF),
    Setting(PROTECTION, _KEY, ("deletionWindowInDays",), _MORE, "30"),
    Setting(PROTECTION, _AWS, ("backupRetentionPeriod",), _MORE, "1"),
    Setting(PROTECTION, ("aws:ecr/repository:",), ("imageTagMutability",), ("immutable",), meaning="tags can be moved"),
    Setting(PROTECTION, ("aws:s3/bucketVersioning",), ("versioningConfiguration.status",), ("enabled",)),
    Setting(PROTECTION, _STORAGE_CLASS, ("reclaimPolicy",), ("retain",)),
    Setting(LOGGING, ("aws:cloudwatch/logGroup:",), ("retentionInDays",), _DAYS, "inf"),
    Setting(LOGGING, ("aws:ec2/flowLog:",), ("trafficType",), ("all",)),
    Setting(LOGGING, _SESSIONS, ("content.inputs.cloudWatchStreamingEnabled",), meaning="sessions are not logged"),
    Setting(ENCRYPTION, _SESSIONS, ("content.inputs.kmsKeyId",), _SET, meaning=f"sessions are {_OWN_KEY}"),
    Setting(WIDEN, ("aws:eks/addon:",), ("configurationValues.enableNetworkPolicy",), meaning="no NetworkPolicy holds"),
    Setting(WIDEN, _POLICIES, ("spec",), _SET, meaning="it limits no traffic any more"),
    Setting(METADATA, _MACHINES, ("metadataOptions.httpTokens",), ("required",), if_new=True),
    Setting(METADATA, _NODE_CLASS, ("spec.metadataOptions.httpTokens",), ("required", ""), if_new=True),
    Setting(METADATA, _MACHINES, ("metadataOptions.httpPutResponseHopLimit",), _LESS, "1", _HOPS),
    Setting(METADATA, _NODE_CLASS, ("spec.metadataOptions.httpPutResponseHopLimit",), _LESS, "1", _HOPS),
    Setting(PODS, _WORKLOADS, _PRIVILEGED, _OFF, meaning="the container is root on the node", if_new=True),
    Setting(PODS, _WORKLOADS, _ON_THE_HOST, _OFF, meaning="the pod shares it with the node", if_new=True),
    Setting(PODS, ("kubernetes:core/v1:Namespace",), (_ENFORCED,), _LEVELS),
    Setting(ACCESS, _CLUSTER, ("accessConfig.authenticationMode",), ("api",), meaning="the ConfigMap aws-auth counts"),
)
_BUCKETS = ("aws:s3/bucket:", "aws:s3/bucketV2:")
_GUARDS: Mapping[str, tuple[str, ...]] = {
    "aws:ec2/flowLog:": ("aws:ec2/vpc:",),
    "aws:s3/bucketServerSide": _BUCKETS,
    "aws:s3/bucketVersioning": _BUCKETS,
    "aws:s3/bucketPublicAccessBlock": _BUCKETS,
    **dict.fromkeys(_POLICIES, ("kubernetes:core/v1:Namespace",)),
}
"""What protects VPCs, buckets, pods: deleted without these, it counts as a resource without its settings."""
_OF_PULUMI = {
    "protect": "protect is removed: Pulumi can delete and replace it",
    "retain_on_delete": "retainOnDelete is removed: Pulumi deletes it in AWS when the program no longer declares it",
}
"""What Pulumi itself protects, which may change while all properties stay the same."""


def find_weaker_settings(change: StackChange) -> Iterator[Finding]:
    """Yield settings, then what Pulumi itself protects, in the order of the preview's steps."""
    steps = [each for each in change.preview.steps if each.operation not in UNCHANGED]
    for step in steps:
        new = step.new
        if new is None and step.old and step.type.startswith(tuple(_GUARDS)) and not _ends_too(step, step.old, steps):
            new = State({}, {})
        if new is not None:
            verb = "becomes weaker" if step.old else "is created weaker than it could be"
            for rule, several in _find_weaker(step.type, step.old, new).items():
                subject, risk = Side(step, new).subject, None if step.old else Risk.MEDIUM
                yield from report_difference(rule, subject, step, (verb, several), risk=risk)
    for name, text in _OF_PULUMI.items():
        steps = [each for each in change.preview.steps if each.operation is not Operation.DRIFT and each.new]
        # Components have no ID, and pass it on to their resources.
        steps = [each for each in steps if each.old and each.old.id and getattr(each.old, name)]
        steps = [each for each in steps if not getattr(each.new, name)]
        names = [f"{name_kind(each.type)} {each.name}" for each in steps]
        if names:
            subject = names[0] + (f" and {len(names) - 1} more" if names[1:] else "")
            yield Finding(PROTECTION, subject, text, limit_lines(names[1:]), tuple(each.urn for each in steps))


def _ends_too(step: Step, guard: State, steps: Sequence[Step]) -> bool:
    """Return whether what a deleted guard protects is deleted too; where no ID tells, one of its kind is enough."""
    guarded = next(types for prefix, types in _GUARDS.items() if step.type.startswith(prefix))
    wanted = _list_strings_at(guard, "vpcId", "bucket", "metadata.namespace")
    for each in steps:
        if each.old and each.new is None and each.type.startswith(guarded):
            names = _list_strings_at(each.old, "bucket", "metadata.name") | ({each.old.id} - {""})
            if not names or names & wanted or not wanted:
                return True
    return False


def _find_weaker(type_: str, old: State | None, new: State) -> Mapping[Rule, list[str]]:
    """Return lines on a resource that is weaker than before, or a new one that is weaker than it could be."""
    found: dict[Rule, list[str]] = defaultdict(list)
    for setting in (each for each in _SETTINGS if type_.startswith(each.types)):
        for path in setting.paths:
            expected = float(setting.if_new) or -inf
            if old:
                expected = min(map(setting.measure, _list_values_at(old, path)))
            value = min(_list_values_at(new, path), key=setting.measure)
            if setting.measure(value) < expected:
                reason = get_hidden_reason(value)
                said = value if isinstance(value, str) else "not set" if value is None else json.dumps(value)
                found[setting.rule].append(
                    f"{path} {reason or f'is {said}'}{setting.meaning and ': '}{setting.meaning}"
                )
    if type_.startswith(_CLUSTER):
        logs = [list_values(each and each.inputs.get("enabledClusterLogTypes")) for each in (old, new)]
        found[LOGGING] += [f"no {each} logs" for each in logs[0] if each not in logs[1]]
    return found


def _list_values_at(state: State, path: str) -> list[object]:
    """Return the values at a path, of which at least one is there; None is one that is not set."""
    values: list[object] = [state.inputs]
    for name in map(str, split_path(path)):
        values = [each for value in values for each in (list_values(_parse(value)) or [None])]
        values = [
            each.get(name) if isinstance(each, Mapping) else (get_hidden_reason(each) and each) or None
            for each in values
        ]
    return values


def _list_strings_at(state: State, *paths: str) -> set[str]:
    """Return the strings at some paths; a secret or an unknown value may be a mapping, which tells nothing."""
    return {value for path in paths for value in _list_values_at(state, path) if isinstance(value, str) and value}


def _parse(value: object) -> object:
    """Return what a string of JSON holds, as that of a document or of the configuration of an add-on."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
