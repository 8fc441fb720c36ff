"""Settings that are weaker after a change: public access, encryption, protection, logging, the metadata service."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from multiarch.observed.resources.properties import get_hidden_reason, list_values, list_values_at
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.permissions.reporting import UNCHANGED, Side, name_kind, report_difference
from multiarch.review.values import limit_lines
from multiarch.rules import Finding, Risk, make_finding

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


_AWS, _CLUSTER, _KEPT = ("aws:",), ("aws:eks/cluster:",), ("enabled", "retain")
_TEMPLATE, _NODE_CLASS = "aws:ec2/launchTemplate:", ("kubernetes:karpenter.k8s.aws/",)
_MACHINES = (_TEMPLATE, "aws:ec2/launchConfiguration:", "aws:ec2/instance:")
_POLICIES = ("kubernetes:networking.k8s.io/v1:NetworkPolicy",)
_PRIVATE = ("", "private", "log-delivery-write", "bucket-owner-read", "bucket-owner-full-control", "aws-exec-read")
_BLOCKS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
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
_PUBLIC_IP = ("publiclyAccessible", "associatePublicIpAddress", "networkInterfaces.associatePublicIpAddress")
_PUBLIC_IP_OF_AUTO_MODE = ("spec.advancedNetworking.associatePublicIPAddress",)
_ENCRYPTED = ("rootBlockDevice.encrypted", "serverSideEncryption.enabled", "enableKeyRotation")
_PROTECTED = (
    *("deletionProtection", "enableDeletionProtection", "deletionProtectionEnabled"),
    *("disableApiTermination", "pointInTimeRecovery.enabled"),
)
_ENFORCED = 'metadata.labels["pod-security.kubernetes.io/enforce"]'
_HOP_LIMITS = ("metadataOptions.httpPutResponseHopLimit", "spec.metadataOptions.httpPutResponseHopLimit")
_HOPS = "pods that are not on the host network can use the role"
_SETTINGS: Mapping[str, tuple[Setting, ...]] = {
    "public-endpoint": (
        Setting(("aws:lb/load", "aws:alb/load", "aws:elb/load"), ("internal",), if_new=True),
        Setting(_AWS, _PUBLIC_IP, _OFF, if_new=True),
        Setting(("kubernetes:eks.amazonaws.com/",), _PUBLIC_IP_OF_AUTO_MODE, _OFF, if_new=True),
        Setting(_AWS, ("mapPublicIpOnLaunch",), _OFF),
        Setting(_AWS, _BLOCKS, meaning=_OPEN),
        Setting(("aws:s3/bucket",), ("acl",), _PRIVATE, if_new=True),
        Setting(("aws:ec2/amiLaunchPermission:",), ("group",), ("",), meaning="every account", if_new=True),
    ),
    "weaken-encryption": (
        Setting(_CLUSTER, ("encryptionConfig",), _SET, meaning=f"Secrets are {_OWN_KEY}"),
        Setting(_AWS, ("kmsKeyId", "kmsMasterKeyId", "content.inputs.kmsKeyId"), _SET, meaning=_OWN_KEY),
        Setting((_TEMPLATE,), ("blockDeviceMappings.ebs.encrypted",), if_new=True),
        Setting(_NODE_CLASS, ("spec.blockDeviceMappings.ebs.encrypted",), ("true", ""), if_new=True),
        Setting(("aws:ebs/volume:", "aws:efs/fileSystem:"), ("encrypted",), if_new=True),
        Setting(_DATABASES, ("storageEncrypted",), if_new=True),
        Setting(_AWS, _ENCRYPTED),
        Setting(("kubernetes:storage.k8s.io/v1:StorageClass",), ("parameters.encrypted",)),
        Setting(("aws:s3/bucketServerSide",), ("rules",), _SET),
        Setting(("aws:ebs/encryptionByDefault:", "aws:kms/key:"), ("enabled", "isEnabled"), ("true", "")),
        Setting(("aws:lb/listener:", "aws:alb/listener:"), ("protocol",), ("https", "tls")),
    ),
    "weaken-protection": (
        Setting(_AWS, _PROTECTED),
        Setting(_AWS, ("skipFinalSnapshot", "forceDestroy", "forceDelete"), _OFF),
        Setting(_AWS, ("deletionWindowInDays",), _MORE, "30"),
        Setting(_AWS, ("backupRetentionPeriod",), _MORE, "1"),
        Setting(_AWS, ("imageTagMutability",), ("immutable",), meaning="tags can be moved"),
        Setting(("aws:s3/", "kubernetes:storage"), ("versioningConfiguration.status", "reclaimPolicy"), _KEPT),
    ),
    "weaken-logging": (
        Setting(("aws:cloudwatch/logGroup:",), ("retentionInDays",), _DAYS, "inf"),
        Setting(_AWS, ("trafficType",), ("all",)),
        Setting(("aws:ssm/",), ("content.inputs.cloudWatchStreamingEnabled",), meaning="sessions are not logged"),
    ),
    "widen-network": (
        Setting(("aws:eks/addon:",), ("configurationValues.enableNetworkPolicy",), meaning="no NetworkPolicy holds"),
        Setting(_POLICIES, ("spec",), _SET, meaning="it limits no traffic any more"),
    ),
    "weaken-metadata-service": (
        Setting(_MACHINES, ("metadataOptions.httpTokens",), ("required",), if_new=True),
        Setting(_NODE_CLASS, ("spec.metadataOptions.httpTokens",), ("required", ""), if_new=True),
        Setting((*_MACHINES, *_NODE_CLASS), _HOP_LIMITS, _LESS, "1", _HOPS),
    ),
    "weaken-pod-security": (
        Setting(_WORKLOADS, _PRIVILEGED, _OFF, meaning="the container is root on the node", if_new=True),
        Setting(_WORKLOADS, _ON_THE_HOST, _OFF, meaning="the pod shares it with the node", if_new=True),
        Setting(("kubernetes:core/v1:Namespace",), (_ENFORCED,), _LEVELS),
    ),
    "widen-cluster-access": (
        Setting(_CLUSTER, ("accessConfig.authenticationMode",), ("api",), meaning="the ConfigMap aws-auth counts"),
    ),
}
_BUCKETS = ("aws:s3/bucket:", "aws:s3/bucketV2:")
_GUARDS: Mapping[str, tuple[str, ...]] = {
    "aws:ec2/flowLog:": ("aws:ec2/vpc:",),
    **{f"aws:s3/bucket{each}": _BUCKETS for each in ("ServerSide", "Versioning", "PublicAccessBlock")},
    _POLICIES[0]: ("kubernetes:core/v1:Namespace",),
}
"""What protects VPCs, buckets, pods: deleted without these, it counts as a resource without its settings."""
_OF_PULUMI = {
    "protect": "protect is removed: Pulumi can delete and replace it",
    "retain_on_delete": "retainOnDelete is removed: Pulumi deletes it in AWS when the program no longer declares it",
}
"""What Pulumi itself protects, which may change while all properties stay the same."""


def find_weaker_settings(change: StackChange) -> Iterator[Finding]:
    """Yield settings, then what Pulumi itself protects, in the order of the preview's steps."""
    steps = change.preview.steps
    changed = [each for each in steps if each.operation not in UNCHANGED]
    for step in changed:
        new = State({}, {}) if step.new is None and step.old and _goes_alone(step, step.old, changed) else step.new
        if new is not None:
            verb = "becomes weaker" if step.old else "is created weaker than it could be"
            for rule, several in _find_weaker(step.type, step.old, new).items():
                subject, risk = Side(step, new).subject, None if step.old else Risk.MEDIUM
                yield from report_difference(rule, subject, step, (verb, several), risk=risk)
    # Components have no ID, and pass it on to their resources.
    kept = [(each, each.old, each.new) for each in steps if each.operation is not Operation.DRIFT]
    for name, text in _OF_PULUMI.items():
        lost = [
            each for each, old, new in kept if old and new and old.id and getattr(old, name) and not getattr(new, name)
        ]
        if names := [f"{name_kind(each.type)} {each.name}" for each in lost]:
            subject = names[0] + (f" and {len(names) - 1} more" if names[1:] else "")
            urns = tuple(each.urn for each in lost)
            yield make_finding("weaken-protection", subject, text, limit_lines(names[1:]), urns)


def _goes_alone(step: Step, guard: State, steps: Sequence[Step]) -> bool:
    """Return whether what a guard protects stays; where no ID tells, one of its kind that is deleted is enough."""
    types = next((types for prefix, types in _GUARDS.items() if step.type.startswith(prefix)), None)
    wanted = _list_strings_at(guard, "vpcId", "bucket", "metadata.namespace")
    gone = [each.old for each in steps if each.old and each.new is None and types and each.type.startswith(types)]
    names = [_list_strings_at(old, "bucket", "metadata.name") | ({old.id} - {""}) for old in gone]
    return types is not None and not any(not each or not wanted or each & wanted for each in names)


def _find_weaker(type_: str, old: State | None, new: State) -> Mapping[str, list[str]]:
    """Return lines on a resource that is weaker than before, or a new one that is weaker than it could be."""
    found: dict[str, list[str]] = defaultdict(list)
    for rule, setting in ((rule, each) for rule, several in _SETTINGS.items() for each in several):
        for path in setting.paths if type_.startswith(setting.types) else ():
            expected = float(setting.if_new) or -inf
            if old:
                expected = min(map(setting.measure, list_values_at(old.inputs, path)))
            value = min(list_values_at(new.inputs, path), key=setting.measure)
            if setting.measure(value) < expected:
                reason = get_hidden_reason(value)
                said = value if isinstance(value, str) else "not set" if value is None else json.dumps(value)
                found[rule].append(f"{path} {reason or f'is {said}'}{setting.meaning and ': '}{setting.meaning}")
    if type_.startswith(_CLUSTER):
        logs = [list_values(each and each.inputs.get("enabledClusterLogTypes")) for each in (old, new)]
        found["weaken-logging"] += [f"no {each} logs" for each in logs[0] if each not in logs[1]]
    return found


def _list_strings_at(state: State, *paths: str) -> set[str]:
    """Return the strings at some paths; a secret or an unknown value may be a mapping, which tells nothing."""
    return {value for path in paths for value in list_values_at(state.inputs, path) if isinstance(value, str) and value}
