"""What IAM allows after a change and not before: policies of roles and users, trust policies, policies of resources.

Source: IAM user guide, "IAM JSON policy element reference", "Grammar of the IAM JSON policy language".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod

from multiarch.observed.resources.properties import Properties
from multiarch.policies.conditions import restricts_principals
from multiarch.policies.statements import (
    ADMINISTRATOR,
    ATTACHED,
    OF_AWS,
    is_broad_policy,
    is_escalation,
    is_everywhere,
    is_whole_service,
)
from multiarch.review.permissions.grants import ALLOW, DENY, EXCEPT, Grant
from multiarch.review.permissions.reporting import Parts, PermissionSource
from multiarch.review.permissions.sides import (
    GrantOwner,
    Side,
    get_hidden_reason,
    list_values,
    name_kind,
    require_object,
    require_string,
)
from multiarch.rules import REVIEW_RULES, Risk

WIDEN_IAM = REVIEW_RULES["widen-iam"]
WIDEN_TRUST = REVIEW_RULES["widen-trust"]
WIDEN_RESOURCE = REVIEW_RULES["widen-resource-policy"]
_ROLE, _USER, _GROUP = "aws:iam/role:Role", "aws:iam/user:User", "aws:iam/group:Group"
_POLICY, _PROVIDERS = "aws:iam/policy:Policy", ("aws:iam/openIdConnectProvider:", "aws:iam/samlProvider:")
_OTHER_LANGUAGES = ("aws:iam/", "aws:ssoadmin/", "aws:dlm/", "aws:ecr/lifecyclePolicy", "aws:cloudwatch/log")
"""Prefixes of types whose ``policy`` property is not a resource policy."""
_OWNERS = {
    **dict.fromkeys(("role", "roles", "roleName"), _ROLE),
    **dict.fromkeys(("user", "users"), _USER),
    **dict.fromkeys(("group", "groups"), _GROUP),
}
"""Properties that name who gets what a resource of IAM has, with their type; else the resource itself has it."""
_RESOURCE_DOCUMENTS = ("policy", "policyDocument", "accessPolicies", "resourcePolicy", "keyPolicy")
_WITHOUT_POLICY = "what AWS allows without a policy of the program: it keeps the last one, or sets a default"
_FIELDS = ("Action", "Resource", "Principal")
_ELEMENTS = {"Sid", "Effect", "Condition", *_FIELDS, *(f"Not{name}" for name in _FIELDS)}
_ACCOUNT = re.compile(r"(?:arn:[a-z-]+:iam::)?(\d{12})(?::root)?")
_MAXIMUM_LENGTH = 200_000  # characters; the longest that AWS takes (a KMS key policy) is 32 KiB
_MAXIMUM_GRANTS = 10_000


def _read_identity(side: Side) -> Parts:
    inputs = side.inputs
    owners = [
        side.find_owner(name, type_, each) for name, type_ in _OWNERS.items() for each in list_values(inputs.get(name))
    ]
    for owner in owners or [GrantOwner(side.subject)]:
        yield owner, _read_boundary(side)
        for each in [inputs.get("policy"), *list_values(inputs.get("inlinePolicies"))]:
            yield from _read_document(owner, each.get("policy") if isinstance(each, Mapping) else each, _rate_identity)
        for name, value in [(key, each) for key in ATTACHED for each in list_values(inputs.get(key))]:
            yield owner, _attach(side, name, value)


def _attach(side: Side, name: str, value: object) -> Iterator[Grant]:
    """Yield a managed policy as one action: its content is found where the policy itself changes."""
    policy = side.name_reference(name, _POLICY, value)
    if policy.endswith(f"{OF_AWS}{ADMINISTRATOR}"):
        yield Grant("*", "*")
    elif OF_AWS in policy:
        risk = Risk.HIGH if is_broad_policy(policy) else Risk.MEDIUM
        yield Grant(f"AWS managed policy {policy.rpartition('/')[2]}", risk=risk)
    else:
        said = side.name_resource(name, _POLICY, value)
        yield Grant(said, risk=Risk.MEDIUM)
        yield Grant(f"what {said} denies, if anything", effect=DENY)


def _read_boundary(side: Side) -> Iterator[Grant]:
    """Yield a permissions boundary as a denial: without it, its owner may do more."""
    if boundary := side.inputs.get("permissionsBoundary"):
        name = side.name_reference("permissionsBoundary", _POLICY, boundary)
        yield Grant(f"what the permissions boundary {name} does not allow", effect=DENY)


def _rate_identity(grant: Grant) -> Risk:
    """Return HIGH for a whole service, and for further permissions on any resource."""
    is_whole = grant.action.startswith(EXCEPT) or is_whole_service(grant.action)
    resource = str(grant.resource)
    gets_more = is_escalation(grant.action) and (resource.startswith(EXCEPT) or is_everywhere(resource, grant.action))
    return Risk.HIGH if is_whole or gets_more else Risk.MEDIUM


def _read_trust(side: Side) -> Parts:
    owner = GrantOwner(side.subject)
    if side.type == _ROLE:
        yield from _read_document(owner, side.inputs.get("assumeRolePolicy"), _rate_trust)
        return
    for name, value in [(key, each) for key, values in side.inputs.items() for each in list_values(values)]:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        if not name.startswith("tags"):
            yield owner, (Grant(f"identities by {name} {require_string(each, name)}", risk=Risk.LOW) for each in [text])


def _rate_trust(grant: Grant) -> Risk:
    """Return LOW for services of AWS, which most new roles are for."""
    is_service = str(grant.principal).startswith("service ")
    return Risk.LOW if is_service else max(Risk.MEDIUM, _rate_policy(grant))


def _read_resource_policy(side: Side) -> Parts:
    if side.type.startswith(_OTHER_LANGUAGES):
        return
    owner = _find_target(side)
    for value in filter(None, map(side.inputs.get, _RESOURCE_DOCUMENTS)):
        if get_hidden_reason(value) or "Statement" in value:
            yield from _read_document(owner, value, _rate_policy)
            if not owner.property or side.type.startswith(("aws:kms/", "aws:ec2/")):
                yield owner, [Grant(_WITHOUT_POLICY, effect=DENY)]


def _find_target(side: Side) -> GrantOwner:
    """Return what a policy is of: a resource of the type ``aws:s3/bucket:Bucket`` for ``aws:s3/bucketPolicy:…``."""
    module, _, name = side.type.rpartition(":")
    target = f"{module.removesuffix('Policy')}:{name.removesuffix('Policy')}"
    if target == side.type:
        return GrantOwner(side.subject)
    sources = {name: each for name, urns in side.state.dependencies.items() for each in urns if f"{target}::" in each}
    found = next(((name, urn.rpartition("::")[2]) for name, urn in sources.items() if name in side.inputs), None)
    return GrantOwner(f"{name_kind(target)} {found[1]}", found[0]) if found else GrantOwner(side.subject, "its target")


def _rate_policy(grant: Grant) -> Risk:
    """Return HIGH for everybody, or everybody with an identity provider's token, unless a condition limits who."""
    is_open = str(grant.principal).startswith(("*", "federated "))
    return Risk.HIGH if is_open and not restricts_principals(json.loads(grant.condition or "null")) else Risk.LOW


def _read_document(owner: GrantOwner, value: object, rate: Callable[[Grant], Risk]) -> Parts:
    """Yield the grants of each statement of a policy as Pulumi has it, a JSON string or an object, for ``owner``.

    What is not a policy is one statement that can't be read.
    """
    tree = value
    if isinstance(value, str) and len(value) <= _MAXIMUM_LENGTH:
        try:
            tree = json.loads(value) if value else None
        except (ValueError, RecursionError):
            tree = value
    for each in list_values(tree.get("Statement") if isinstance(tree, Mapping) else tree):
        yield owner, (replace(grant, risk=rate(grant)) for grant in _read_statement(each))


def _read_statement(value: object) -> Iterator[Grant]:
    statement = require_object(value, "a policy")
    unknown = [f"the unknown element {each}" for each in statement if each not in _ELEMENTS]
    problem = unknown[0] if unknown else ""
    try:
        effect = require_string(statement.get("Effect"), "an Effect")
        fields = [_read_field(statement, name) for name in _FIELDS]
        condition = _read_condition(statement.get("Condition"))
        if effect not in {ALLOW, DENY} or fields[0] == [""] or prod(map(len, fields)) > _MAXIMUM_GRANTS:
            problem = "no Effect, no Action or too many values"
    except ValueError as error:
        problem = problem or str(error)
    if problem:
        raise ValueError(f"a statement with {problem}: {json.dumps(statement, sort_keys=True, default=str)}")
    for action, resource, principal in product(*fields):
        yield Grant(action, resource, principal, condition, effect)


def _read_field(statement: Properties, name: str) -> list[str]:
    """Return the values of an element one by one; those of its negation are one."""
    read = _read_principals if name == "Principal" else _read_strings
    if f"Not{name}" in statement:
        if name in statement:
            raise ValueError(f"both {name} and Not{name}")
        return [EXCEPT + ", ".join(sorted(read(statement[f"Not{name}"])))]
    return read(statement[name]) if name in statement else [""]


def _read_strings(value: object) -> list[str]:
    values = [require_string(each, "a value") for each in list_values(value)]
    if not values:
        raise ValueError("an empty list")
    return values


def _read_principals(value: object) -> list[str]:
    """Return ARNs, ``account NUMBER``, ``service HOST`` and so on; everyone is ``*``."""
    found: list[str] = []
    for kind, values in [("AWS", value)] if value == "*" else require_object(value, "a Principal").items():
        for each in _read_strings(values):
            account = _ACCOUNT.fullmatch(each)
            name = f"account {account[1]}" if account else each
            found.append(name if kind == "AWS" else f"{kind.lower()} {each}")
    return _read_strings(found)


def _read_condition(condition: object) -> str:
    """Return a condition as JSON in which everything that has no order is sorted; empty if there is none."""
    read: dict[str, dict[str, list[str]]] = {}
    for operator, keys in require_object(condition, "a Condition").items():
        for key, values in require_object(keys, "a Condition").items():
            known = (each if isinstance(each, str) else json.dumps(each) for each in list_values(values))
            read.setdefault(operator, {})[key] = sorted(require_string(each, "a value") for each in known)
    return json.dumps(read, sort_keys=True) if read else ""


_LETS_IN = ("lets in", "no longer lets in")
SOURCES = (
    PermissionSource(WIDEN_IAM, ("aws:iam/",), _read_identity, ("may do", "may no longer do"), rates_new=True),
    PermissionSource(WIDEN_TRUST, (_ROLE, *_PROVIDERS), _read_trust, _LETS_IN, rates_new=True),
    PermissionSource(WIDEN_RESOURCE, ("aws:",), _read_resource_policy, _LETS_IN, rates_new=True),
)
