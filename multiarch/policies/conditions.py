"""Whether the condition of a policy statement limits who may do what the statement allows.

Source: IAM user guide, "IAM JSON policy elements: Condition operators", "Multivalued context keys", "AWS global
condition context keys", "Available keys for AWS OIDC federation", "Identity-provider controls for shared OIDC
providers"; GitHub docs, "OpenID Connect reference".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_FREE_KEYS = frozenset(
    {
        *("aws:currenttime", "aws:epochtime", "aws:tokenissuetime", "aws:securetransport", "aws:requestedregion"),
        *("aws:multifactorauthage", "aws:multifactorauthpresent", "aws:referer", "aws:useragent"),
        *("aws:principaltype", "sts:rolesessionname", "sts:sourceidentity"),
    }
)
"""Keys in lower case whose value every caller can have."""
_TAGS = "aws:principaltag/"
"""Every account gives its own roles tags."""
_OWNED_CLAIMS = {
    "agent.buildkite.com": frozenset({"sub"}),
    "app.terraform.io": frozenset({"sub"}),
    "gitlab.com": frozenset({"sub"}),
    "token.actions.githubusercontent.com": frozenset(
        {
            *("sub", "repository", "repository_id", "repository_owner", "repository_owner_id", "job_workflow_ref"),
            *("actor", "actor_id", "enterprise", "enterprise_id"),
        }
    ),
}
"""Issuers that anybody can get tokens from, and the claims that say whose token it is; jobs choose the audience."""
_CLUSTER_ISSUER = "oidc.eks."
"""EKS: a pod's manifest chooses the audience, so that of all service accounts is the same."""
_ANY_OWNER = re.compile(r"(\w+:)?[*?]|(repo|project_path):[^/]*[*?]")
"""Subjects of a public issuer whose owner is a wildcard: ``*``, ``repo:*``, ``repo:shop*/web:…``."""
_FORM = re.compile(r"(repo|project_path|system:serviceaccount):")
"""What all subjects of an issuer begin with."""
_WILD = "*?:/"
"""The characters of a pattern that names nothing."""


def restricts_principals(condition: object) -> bool:
    """Return whether a statement's ``Condition`` has a test that not everybody meets.

    These limit nobody: patterns of wildcards alone; negated operators; operators that a request without the key meets
    (``ForAllValues``, ``IfExists``); ``Null``; keys that every caller can meet, such as the time, or GitHub's audience.
    """
    if not isinstance(condition, Mapping):
        return False
    return any(
        _limits(str(operator), str(key).lower(), values)
        for operator, keys in condition.items()
        if isinstance(keys, Mapping)
        for key, values in keys.items()
    )


def _limits(operator: str, key: str, values: object) -> bool:
    quantifier, _, comparison = operator.rpartition(":")
    base = comparison.removesuffix("IfExists")
    issuer, _, claim = key.rpartition(":")
    # Every token has a subject.
    may_be_missing = quantifier == "ForAllValues" or (base != comparison and claim != "sub")
    if may_be_missing or base == "Null" or "Not" in base or claim == "amr":
        return False
    if key in _FREE_KEYS or key.startswith(_TAGS):
        return False
    if issuer in _OWNED_CLAIMS and claim not in _OWNED_CLAIMS[issuer]:
        return False
    if claim == "aud" and issuer.startswith(_CLUSTER_ISSUER):
        return False
    texts = [str(each) for each in (values if isinstance(values, list | tuple) else [values])]
    return not any(_is_open(base, issuer, claim, text) for text in texts)


def _is_open(base: str, issuer: str, claim: str, text: str) -> bool:
    """Return whether everybody's value meets a test for ``text``."""
    if base == "IpAddress":
        return text.endswith("/0")
    if base not in {"StringLike", "ArnLike", "ArnEquals"} or not {"*", "?"} & set(text):
        return False
    if claim == "sub" and issuer in _OWNED_CLAIMS and _ANY_OWNER.match(text):
        return True
    named = _FORM.sub("", text, count=1) if claim == "sub" else text
    if text.startswith("arn:"):
        named = _named_in_arn(text)
    return not named.strip(_WILD)


def _named_in_arn(text: str) -> str:
    """What of an ARN's pattern names an owner: the account, since anybody can give a role a name; buckets have none."""
    service, _, account, rest = (text.split(":", 5)[2:] + [""] * 4)[:4]
    return rest if service == "s3" else account or rest
