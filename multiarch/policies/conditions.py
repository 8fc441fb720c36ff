"""Whether the condition of a policy statement limits who may do what the statement allows.

Source: IAM user guide, "IAM JSON policy elements: Condition operators", "Multivalued context keys", "AWS global
condition context keys", "Available keys for AWS OIDC federation", "Identity-provider controls for shared OIDC
providers"; GitHub docs, "OpenID Connect reference"; Amazon S3 user guide, 'The meaning of "public"'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from multiarch.observed.resources.addresses import reach_everybody

_WHOLE = ""
"""Owners are the whole value, or its part before a separator: ``shop/*`` names the owner of repositories."""
_OWNERS: Mapping[str, str] = {
    **{f"aws:principal{each}": _WHOLE for each in ("account", "orgid", "servicename")},
    **{f"aws:source{each}": _WHOLE for each in ("account", "ip", "orgid", "owner", "vpc", "vpce")},
    **{f"aws:{each}orgpaths": "/" for each in ("principal", "source", "vpce")},
    **dict.fromkeys(("aws:vpceaccount", "aws:vpceorgid", "sts:externalid"), _WHOLE),
    **dict.fromkeys(("events:creatoraccount", "kms:calleraccount", "s3:dataaccesspointaccount"), _WHOLE),
    "aws:userid": ":",
}
"""Keys of AWS whose values name somebody. Others are of the request or the resource, or names that callers choose."""
_ARNS = frozenset(
    {
        *("aws:principalarn", "aws:sourcearn", "aws:sourcevpcarn", "aws:federatedprovider", "s3:dataaccesspointarn"),
        *("ec2:sourceinstancearn", "ssm:sourceinstancearn", "lambda:sourcefunctionarn"),
        "elasticfilesystem:accesspointarn",
    }
)
_OF_NETWORK = "elasticfilesystem:accessedviamounttarget"
_CLAIMS: Mapping[str, str] = {
    **dict.fromkeys(("repo", "repository", "job_workflow_ref", "project_path", "namespace_path"), "/"),
    **dict.fromkeys(("repository_id", "repository_owner", "repository_owner_id", "actor", "actor_id"), _WHOLE),
    **dict.fromkeys(("enterprise", "enterprise_id", "organization", "account"), _WHOLE),
    **dict.fromkeys(("project_id", "namespace_id", "user_login", "user_id", "user_email"), _WHOLE),
}
"""Claims of shared issuers that say whose token it is, also as parts of a subject: ``repo:shop/web:ref:…``."""
_APP = "[bot]"
"""What the name of a GitHub App ends with: one runs in repositories of everybody."""
_SHARED_ISSUERS = frozenset(
    {
        *("token.actions.githubusercontent.com", "gitlab.com", "app.terraform.io", "agent.buildkite.com"),
        *("oidc.codefresh.io", "scalr.io"),
    }
)
"""Issuers that anybody can get tokens from; jobs choose the audience."""
_CLUSTER_ISSUER = "oidc.eks."
"""EKS: a pod's manifest chooses the audience, so that of all service accounts is the same."""
_SUBJECTS = ("repo:", "project_path:", "system:serviceaccount:")
"""What all subjects of an issuer begin with."""
_WILD, _NOBODY = "*?:/", re.compile(r"[*?$]")
"""Patterns, and variables of the caller, such as ``${aws:PrincipalAccount}``."""
_OF_THE_RESOURCE = re.compile(r"\$\{aws:resource\w+\}", re.IGNORECASE)
_PATTERNS = frozenset({"StringLike", "ArnLike", "ArnEquals"})
_NAMING = _PATTERNS | {"StringEquals", "StringEqualsIgnoreCase", "NumericEquals", "BinaryEquals"}
"""Operators that compare with a name. Negated ones, dates, numbers, booleans and ``Null`` name nobody."""


class _Test(NamedTuple):
    """One key of a condition: the operator without quantifier and ``IfExists``, the key in lower case, its values."""

    operator: str
    key: str
    values: list[str]
    may_be_missing: bool


def restricts_principals(condition: object) -> bool:
    """Return whether a statement's ``Condition`` has a test that not everybody meets.

    These limit nobody: a value in which no owner is fixed, such as ``*/infra`` for a repository; negated operators;
    operators that a request without the key meets (``ForAllValues``, ``IfExists``) unless ``Null`` requires the key;
    keys that every caller can meet, such as the time, a tag, or GitHub's audience.
    """
    return any(_limits(each) for each in _list_tests(condition))


def restricts_requests(condition: object) -> bool:
    """Return whether a ``Condition`` of a permission has a test that not every request of its holder meets."""
    return not all(
        each.key == "aws:securetransport"
        or (each.operator in _PATTERNS and not all(value.strip("*?") for value in each.values))
        or (each.operator == "IpAddress" and reach_everybody(each.values))
        for each in _list_tests(condition)
    )


def _list_tests(condition: object) -> Iterator[_Test]:
    tests = [
        (str(operator), str(key).lower(), [str(each) for each in (values if isinstance(values, list) else [values])])
        for operator, keys in (condition.items() if isinstance(condition, Mapping) else ())
        for key, values in (keys.items() if isinstance(keys, Mapping) else ())
    ]
    required = {key for operator, key, values in tests if operator == "Null" and [*map(str.lower, values)] == ["false"]}
    for operator, key, values in tests:
        quantifier, _, comparison = operator.rpartition(":")
        base = comparison.removesuffix("IfExists")
        # Every token has a subject.
        optional = quantifier == "ForAllValues" or (base != comparison and not key.endswith(":sub"))
        yield _Test(base, key, values, optional and key not in required)


def _limits(test: _Test) -> bool:
    if test.may_be_missing:
        return False
    if test.operator == "IpAddress":
        return test.key == "aws:sourceip" and not reach_everybody(test.values)
    if test.operator == "Bool":
        return test.key == _OF_NETWORK and [each.lower() for each in test.values] == ["true"]
    issuer, _, claim = test.key.rpartition(":")
    # To other operators, * and ? are characters like any other.
    texts = test.values if test.operator in _PATTERNS else [re.sub(r"[*?]", "_", each) for each in test.values]
    return test.operator in _NAMING and all(_names_owner(issuer, claim, each) for each in texts)


def _names_owner(issuer: str, claim: str, text: str) -> bool:
    """Return whether a value, or a pattern, is met by somebody in particular only."""
    text = _OF_THE_RESOURCE.sub("resource", text)
    if issuer in _SHARED_ISSUERS:
        named = pairwise(text.split(":")) if claim == "sub" else [(claim, text)]
        return any(_is_owned(*each) for each in named)
    if "." in issuer or issuer == "saml":
        is_chosen = claim == "amr" or (claim == "aud" and issuer.startswith(_CLUSTER_ISSUER))
        return not is_chosen and _names_anything(text)
    key = f"{issuer}:{claim}"
    return _names_in_arn(text) if key in _ARNS else key in _OWNERS and _is_fixed(text, _OWNERS[key])


def _is_owned(claim: str, value: str) -> bool:
    return claim in _CLAIMS and _is_fixed(value, _CLAIMS[claim]) and not value.endswith(_APP)


def _is_fixed(text: str, end: str) -> bool:
    owner = text.partition(end)[0] if end else text
    return owner != "" and not _NOBODY.search(owner)


def _names_anything(text: str) -> bool:
    """Return whether a value of an own issuer names more than all of its subjects begin with."""
    head = re.split(r"[*?]", text, maxsplit=1)[0]
    is_form = head != text and any(each.startswith(head) for each in _SUBJECTS)
    return (text[len(head) :] if is_form else text).strip(_WILD) != ""


def _names_in_arn(text: str) -> bool:
    """Return whether an ARN names an account, as anybody can give a role a name. Those of buckets have none."""
    service, _, account, rest = (text.split(":", 5)[2:] + [""] * 4)[:4]
    if service == "s3" or not account:
        return _is_fixed(rest, "/" if service == "s3" else _WHOLE)
    return _is_fixed(account, _WHOLE)
