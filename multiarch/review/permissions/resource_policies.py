"""Whom keys, buckets, queues and other resources let in by their own policies after a change and not before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from multiarch.policies.conditions import limits_who
from multiarch.review.model import Change, Finding, ReviewRule, Risk
from multiarch.review.permissions.comparison import Elements, Grant, widened
from multiarch.review.permissions.document import Statement, read
from multiarch.review.permissions.effort import Effort
from multiarch.review.permissions.reporting import NARROW, Difference, report
from multiarch.review.permissions.sides import Resource, Sides, both, hidden, kind, several
from multiarch.review.permissions.wording import line

WIDEN = ReviewRule(
    "widen-resource-policy",
    Risk.HIGH,
    "a key, bucket, queue or other resource whose own policy lets in more principals, or for more actions",
    "Does each principal need it, and do the conditions name the account or resource that is meant?",
)
RULES = (WIDEN, NARROW)

_DOCUMENTS = ("policy", "policyDocument", "accessPolicies", "resourcePolicy", "keyPolicy")
_OF_IAM = ("aws:iam/", "aws:ssoadmin/")
_OTHER_LANGUAGES = frozenset(
    {
        *("aws:ecr/lifecyclePolicy:LifecyclePolicy", "aws:cloudwatch/logDataProtectionPolicy:LogDataProtectionPolicy"),
        *("aws:cloudwatch/logAccountPolicy:LogAccountPolicy", "aws:dlm/lifecyclePolicy:LifecyclePolicy"),
    }
)
"""Types whose ``policy`` is not one of IAM."""
_TARGETS = MappingProxyType(
    {
        "aws:kms/keyPolicy:KeyPolicy": ("aws:kms/key:Key", "keyId"),
        "aws:s3/bucketPolicy:BucketPolicy": ("aws:s3/bucket:Bucket", "bucket"),
        "aws:sqs/queuePolicy:QueuePolicy": ("aws:sqs/queue:Queue", "queueUrl"),
        "aws:sns/topicPolicy:TopicPolicy": ("aws:sns/topic:Topic", "arn"),
        "aws:ecr/repositoryPolicy:RepositoryPolicy": ("aws:ecr/repository:Repository", "repository"),
        "aws:secretsmanager/secretPolicy:SecretPolicy": ("aws:secretsmanager/secret:Secret", "secretArn"),
        "aws:ec2/vpcEndpointPolicy:VpcEndpointPolicy": ("aws:ec2/vpcEndpoint:VpcEndpoint", "vpcEndpointId"),
        "aws:lambda/permission:Permission": ("aws:lambda/function:Function", "function"),
        "aws:kms/grant:Grant": ("aws:kms/key:Key", "keyId"),
        "aws:efs/fileSystemPolicy:FileSystemPolicy": ("aws:efs/fileSystem:FileSystem", "fileSystemId"),
        "aws:backup/vaultPolicy:VaultPolicy": ("aws:backup/vault:Vault", "backupVaultName"),
        "aws:cloudwatch/eventBusPolicy:EventBusPolicy": ("aws:cloudwatch/eventBus:EventBus", "eventBusName"),
    }
)
"""Types that are a policy of another resource: the type and the property that names it."""
_NAMED = frozenset(_TARGETS) | {target for target, _ in _TARGETS.values()}
_PERMISSION, _GRANT = "aws:lambda/permission:Permission", "aws:kms/grant:Grant"
_WHO_OF_GRANT = "granteePrincipal"


@dataclass(slots=True)
class _Guarded:
    """One resource's policies on one side; ``problems`` says what of them can't be read, by URN."""

    statements: list[Statement] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    urns: set[str] = field(default_factory=set)


_Key = tuple[str, str]
"""What a policy is of: the type, and a URN or a name."""


def find(change: Change) -> Iterator[Finding]:
    """Resources with a policy of their own, by URN or name."""
    effort = Effort()
    for sides in both(change, _may_have_policy):
        keys = {_key(sides, each) for each in sides.touched_resources()}
        before, after = _guarded(sides, sides.before, keys), _guarded(sides, sides.after, keys)
        for key in sorted({*before, *after}):
            old, new = before.get(key, _Guarded()), after.get(key, _Guarded())
            if not sides.is_gone(key[1], new.urns):
                yield from _compared(sides, key, old, new, effort)


def _may_have_policy(type_: str) -> bool:
    return type_.startswith("aws:") and not type_.startswith(_OF_IAM) and type_ not in _OTHER_LANGUAGES


def _key(sides: Sides, resource: Resource) -> _Key:
    type_, name = _TARGETS.get(resource.type, (resource.type, ""))
    return type_, sides.reference(resource, name, type_) or f"?{resource.urn}" if name else resource.urn


def _guarded(sides: Sides, side: Mapping[str, Resource], keys: Collection[_Key]) -> dict[_Key, _Guarded]:
    found: dict[_Key, _Guarded] = defaultdict(_Guarded)
    for urn, resource in side.items():
        key = _key(sides, resource)
        documents = list(_documents(resource)) if key in keys else []
        if not documents:
            continue
        guarded = found[key]
        guarded.urns.add(urn)
        for value in documents:
            document = read(value)
            guarded.statements += document.statements
            if document.problem and (urn in sides.touched or not hidden(value)):
                guarded.problems[f"{urn} {value}"] = f"its policy {document.problem}"
    return found


def _documents(resource: Resource) -> Iterator[object]:
    inputs = resource.inputs
    if resource.type == _PERMISSION:
        yield {"Version": "2012-10-17", "Statement": _lambda_permission(inputs)}
    elif resource.type == _GRANT:
        operations = [f"kms:{each}" for each in several(inputs.get("operations"))]
        statement = {"Effect": "Allow", "Principal": {"AWS": inputs.get("granteePrincipal")}, "Action": operations}
        constraints = {"Condition": {"constraints": {"grant": str(inputs.get("constraints"))}}}
        yield {"Version": "2012-10-17", "Statement": statement | (constraints if inputs.get("constraints") else {})}
    for name in _DOCUMENTS:
        value = inputs.get(name)
        if value is not None and (resource.type in _NAMED or hidden(value) or _has_statements(value)):
            yield value


def _has_statements(value: object) -> bool:
    """Whether a property of a type that is not known to have a policy holds one: it says Statement somewhere."""
    return (isinstance(value, str) and '"Statement"' in value) or (isinstance(value, Mapping) and "Statement" in value)


def _lambda_permission(inputs: Mapping[str, Any]) -> Elements:
    """The statement that Lambda adds to a function's policy. Source: Lambda API reference, AddPermission."""
    principal = inputs.get("principal")
    is_service = isinstance(principal, str) and principal.endswith((".amazonaws.com", ".amazonaws.com.cn"))
    conditions = {
        "ArnLike": {"aws:SourceArn": inputs.get("sourceArn")},
        "StringEquals": {
            "aws:SourceAccount": inputs.get("sourceAccount"),
            "aws:PrincipalOrgID": inputs.get("principalOrgId"),
        },
    }
    given = {
        operator: {key: value for key, value in keys.items() if value is not None}
        for operator, keys in conditions.items()
    }
    return {
        "Effect": "Allow",
        "Principal": "*" if principal == "*" else {"Service" if is_service else "AWS": principal},
        "Action": inputs.get("action"),
        "Condition": {operator: keys for operator, keys in given.items() if keys},
    }


def _compared(sides: Sides, key: _Key, old: _Guarded, new: _Guarded, effort: Effort) -> Iterator[Finding]:
    grants = widened(old.statements, new.statements, effort)
    gained = [line(each) for each in grants]
    gained += [text for where, text in new.problems.items() if where not in old.problems or hidden(where)]
    gained += [_RESET_TEXT for urn in sorted(old.urns) if _is_reset(sides, urn)]
    is_new = not old.urns
    lost = [] if is_new or new.problems else widened(new.statements, old.statements, effort)
    difference = Difference(
        _subject(sides, key),
        "lets in" if is_new else "lets in more",
        gained,
        "no longer lets in",
        [line(each, lost=True) for each in lost],
        old.urns | new.urns,
        sides.outside,
    )
    yield from report(WIDEN, difference, _risk(grants, new) if is_new else None)


_RESET_TEXT = "its policy is taken out of the program; AWS keeps it, or sets its default, which may allow everything"
_BACK_TO_DEFAULT = frozenset({"aws:kms/keyPolicy:KeyPolicy", "aws:ec2/vpcEndpointPolicy:VpcEndpointPolicy"})


def _is_reset(sides: Sides, urn: str) -> bool:
    """Whether a resource that stays loses the policy that the program gave it."""
    old, new = sides.before[urn], sides.after.get(urn)
    if new is None:
        return old.type in _BACK_TO_DEFAULT
    return any(_has_statements(old.inputs.get(name)) and new.inputs.get(name) is None for name in _DOCUMENTS)


def _risk(grants: list[Grant], new: _Guarded) -> Risk:
    """Of a new resource: its own account and services of AWS, on conditions, are what most policies let in."""
    if new.problems or any(each.problem for each in grants):
        return Risk.MEDIUM
    if any(_is_open(each.elements) for each in grants if each.allows):
        return Risk.HIGH
    return Risk.LOW


def _is_open(elements: Elements) -> bool:
    """Whether a statement lets in everybody, without a condition that limits who."""
    principal = elements.get("Principal")
    if limits_who(elements.get("Condition")):
        return False
    return not isinstance(principal, Mapping) or "*" in several(principal.get("AWS"))


def _subject(sides: Sides, key: _Key) -> str:
    type_, target = key
    known = sides.named(target.removeprefix("?"))
    return known.subject if known else f"{kind(type_)} {target.rpartition('/')[2]}"
