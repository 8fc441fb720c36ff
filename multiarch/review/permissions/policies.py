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
from multiarch.policies.conditions import limits_who
from multiarch.review.permissions.grants import ALLOW, DENY, EXCEPT, Grant
from multiarch.review.permissions.reporting import Parts, PermissionSource
from multiarch.review.permissions.sides import (
    ComparedResource,
    Owner,
    Sides,
    get_hidden_reason,
    list_values,
    require_object,
    require_string,
)
from multiarch.rules import Risk, review_rule

WIDEN_IAM = review_rule(
    "widen-iam",
    Risk.HIGH,
    "an IAM role, user, group or policy that may do more than before",
    "Is each action needed, on each of these resources?",
)
WIDEN_TRUST = review_rule(
    "widen-trust",
    Risk.HIGH,
    "an IAM role that more principals may assume, or under fewer conditions; a new identity provider",
    "Does each principal need the role, and do the conditions name the one account, repository or pod that is meant?",
)
WIDEN_RESOURCE = review_rule(
    "widen-resource-policy",
    Risk.HIGH,
    "a key, bucket, queue or other resource whose own policy lets in more principals, or for more actions",
    "Does each principal need it, and do the conditions name the account or resource that is meant?",
)
_ROLE, _USER, _GROUP = "aws:iam/role:Role", "aws:iam/user:User", "aws:iam/group:Group"
_POLICY, _PERMISSION_SET = "aws:iam/policy:Policy", "aws:ssoadmin/permissionSet:PermissionSet"
_ADDED = {
    "aws:lambda/permission:Permission": "aws:lambda/function:Function",
    "aws:kms/grant:Grant": "aws:kms/key:Key",
}
"""Types that add a statement to the policy of another type."""
_PROVIDERS = ("aws:iam/openIdConnectProvider:", "aws:iam/samlProvider:", "aws:rolesanywhere/trustAnchor:")
_OTHER_LANGUAGES = ("aws:iam/", "aws:ssoadmin/", "aws:dlm/", "aws:ecr/lifecyclePolicy", "aws:cloudwatch/log")
"""Beginnings of types whose ``policy`` is no policy of a resource."""
_OWNERS = {
    **dict.fromkeys(("role", "roles", "roleName"), _ROLE),
    **dict.fromkeys(("user", "users"), _USER),
    **dict.fromkeys(("group", "groups"), _GROUP),
    "permissionSetArn": _PERMISSION_SET,
}
"""Properties that name who gets what a resource of IAM has, with their type; else the resource itself has it."""
_IDENTITY_DOCUMENTS = ("policy", "inlinePolicy")
_ATTACHED = ("policyArn", "policyArns", "managedPolicyArn", "managedPolicyArns")
_RESOURCE_DOCUMENTS = ("policy", "policyDocument", "accessPolicies", "resourcePolicy", "keyPolicy")
_OF_AWS = ":iam::aws:policy/"
_BROAD = (":*", "AdministratorAccess", "PowerUserAccess", "FullAccess")
_ESCALATING = re.compile(
    "iam:(passrole|createpolicyversion|setdefaultpolicyversion|createaccesskey|updateassumerolepolicy"
    "|(attach|put)(role|user|group)policy)|sts:assumerole"
)
_WITHOUT_POLICY = "what AWS allows without a policy of the program: it keeps the last one, or sets a default"
_CONDITIONS = {
    "aws:SourceArn": "sourceArn",
    "aws:SourceAccount": "sourceAccount",
    "aws:PrincipalOrgID": "principalOrgId",
    "constraints": "constraints",
}
_FIELDS = ("Action", "Resource", "Principal")
_ELEMENTS = {"Sid", "Effect", "Condition", *_FIELDS, *(f"Not{name}" for name in _FIELDS)}
_ACCOUNT = re.compile(r"(?:arn:[a-z-]+:iam::)?(\d{12})(?::root)?")
_MAXIMUM_LENGTH = 200_000  # characters; the longest that AWS takes (a KMS key policy) is 32 KiB
_MAXIMUM_GRANTS = 10_000


def _read_identity(sides: Sides, resource: ComparedResource) -> Parts:
    inputs = resource.inputs
    groups = list_values(inputs.get("groups", inputs.get("group"))) if "embership:" in resource.type else []
    owners = [
        sides.find_owner(resource, name, type_, each)
        for name, type_ in _OWNERS.items()
        if type_ != _GROUP or not groups
        for each in list_values(inputs.get(name))
    ]
    for owner in owners or [(resource.urn, resource.subject)]:
        yield owner, _read_boundary(sides, resource)
        yield owner, (Grant(f"what group {require_string(each, 'a group')} may do") for each in groups)
        for each in list_values(inputs.get("inlinePolicies")):
            yield from _read_document(owner, each.get("policy") if isinstance(each, Mapping) else each, _rate_identity)
        for name in _IDENTITY_DOCUMENTS:
            yield from _read_document(owner, inputs.get(name), _rate_identity)
        for name, value in [(key, each) for key in _ATTACHED for each in list_values(inputs.get(key))]:
            policy = sides.find_reference(resource, name, _POLICY, value)
            if document := sides.get_inputs(policy).get("policy"):
                yield from _read_document(owner, document, _rate_identity)
            else:
                yield owner, _attach(sides, policy, value)


def _attach(sides: Sides, policy: str | None, value: object) -> Iterator[Grant]:
    """Yield a managed policy whose content is not known as one action."""
    name = policy or require_string(value, "a managed policy")
    if name.endswith(f"{_OF_AWS}AdministratorAccess"):
        yield Grant("*", "*")
    elif _OF_AWS in name:
        said = f"AWS managed policy {name.rpartition('/')[2]}"
        yield Grant(said, risk=_rate_identity(Grant(said)))
        if "Deny" in name or "Quarantine" in name:
            yield Grant(f"what {said} denies", effect=DENY)
    else:
        said = sides.get_subject(name, _POLICY)
        yield Grant(said, risk=Risk.MEDIUM)
        yield Grant(f"what {said} denies, if anything", effect=DENY)


def _read_boundary(sides: Sides, resource: ComparedResource) -> Iterator[Grant]:
    """Yield a permissions boundary as a denial: without it, its owner may do more."""
    boundary = resource.inputs.get("permissionsBoundary")
    if boundary:
        policy = sides.find_reference(resource, "permissionsBoundary", _POLICY, boundary)
        name = policy or require_string(boundary, "a permissions boundary")
        yield Grant(f"what the permissions boundary {sides.get_subject(name)} does not allow", effect=DENY)


def _rate_identity(grant: Grant) -> Risk:
    """Return HIGH for a whole service, and for further permissions on any resource."""
    is_whole = grant.action == "*" or grant.action.startswith(EXCEPT) or grant.action.endswith(_BROAD)
    escalates = _ESCALATING.fullmatch(grant.action.lower()) and str(grant.resource).endswith("*")
    return Risk.HIGH if is_whole or escalates else Risk.MEDIUM


def _read_trust(_: Sides, resource: ComparedResource) -> Parts:
    owner = (resource.urn, resource.subject)
    if resource.type == _ROLE:
        yield from _read_document(owner, resource.inputs.get("assumeRolePolicy"), _rate_trust)
        return
    for name, value in [(key, each) for key, values in resource.inputs.items() for each in list_values(values)]:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        if not name.startswith("tags"):
            yield owner, (Grant(f"identities by {name} {require_string(each, name)}", risk=Risk.LOW) for each in [text])


def _rate_trust(grant: Grant) -> Risk:
    """Return LOW for services of AWS, which most new roles are for."""
    is_service = str(grant.principal).startswith("service ")
    return Risk.HIGH if _is_open(grant) else Risk.LOW if is_service else Risk.MEDIUM


def _read_resource_policy(sides: Sides, resource: ComparedResource) -> Parts:
    if resource.type.startswith(_OTHER_LANGUAGES):
        return
    owner = _find_target(sides, resource)
    if resource.type in _ADDED:
        yield from _read_document(owner, {"Statement": _make_statement(resource.inputs)}, _rate_policy)
    for value in filter(None, map(resource.inputs.get, _RESOURCE_DOCUMENTS)):
        if get_hidden_reason(value) or "Statement" in value:
            yield from _read_document(owner, value, _rate_policy)
            if owner[0] == resource.urn or resource.type.startswith(("aws:kms/", "aws:ec2/")):
                yield owner, [Grant(_WITHOUT_POLICY, effect=DENY)]


def _find_target(sides: Sides, resource: ComparedResource) -> Owner:
    """Return what a policy is of: a resource of the type ``aws:s3/bucket:Bucket`` for ``aws:s3/bucketPolicy:…``."""
    module, _, name = resource.type.rpartition(":")
    target = _ADDED.get(resource.type, f"{module.removesuffix('Policy')}:{name.removesuffix('Policy')}")
    if target == resource.type:
        return resource.urn, resource.subject
    found = (sides.find_reference(resource, name, target, value) for name, value in resource.inputs.items())
    urn = next((each for each in found if each and f"{target}::" in each), None)
    return (urn, sides.get_subject(urn)) if urn else (f"?{resource.urn}", resource.subject)


def _make_statement(inputs: Properties) -> Properties:
    """Return what a permission of Lambda, or a grant of KMS, adds. Source: AddPermission, CreateGrant in their APIs."""
    principal = inputs.get("principal", inputs.get("granteePrincipal"))
    is_service = isinstance(principal, str) and ".amazonaws.com" in principal
    tests = {key: inputs[name] for key, name in _CONDITIONS.items() if inputs.get(name)}
    return {
        "Effect": ALLOW,
        "Principal": {"Service" if is_service else "AWS": principal},
        "Action": inputs.get("action", [f"kms:{each}" for each in list_values(inputs.get("operations"))]),
        "Condition": {"ArnLike": tests} if tests else None,
    }


def _rate_policy(grant: Grant) -> Risk:
    """Return LOW for one's own account, services of AWS, and who meets a condition, which most new policies let in."""
    return Risk.HIGH if _is_open(grant) else Risk.LOW


def _is_open(grant: Grant) -> bool:
    """Return whether a grant lets in everybody, or everybody with an identity provider's token."""
    condition = json.loads(grant.condition) if grant.condition else None
    return str(grant.principal).startswith(("*", "federated ")) and not limits_who(condition)


def _read_document(owner: Owner, value: object, rate: Callable[[Grant], Risk]) -> Parts:
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
    both = [name for name in _FIELDS if {name, f"Not{name}"} <= set(statement)]
    problems = [f"the unknown element {each}" for each in statement if each not in _ELEMENTS]
    problems += [f"both {each} and Not{each}" for each in both]
    try:
        effect = require_string(statement.get("Effect"), "an Effect")
        fields = [_read_field(statement, name) for name in _FIELDS]
        condition = _read_condition(statement.get("Condition"))
        if effect not in {ALLOW, DENY} or fields[0] == [""] or prod(map(len, fields)) > _MAXIMUM_GRANTS:
            problems.append("no Effect, no Action or too many values")
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise ValueError(f"a statement with {problems[0]}: {json.dumps(statement, sort_keys=True, default=str)}")
    for action, resource, principal in product(*fields):
        yield Grant(action, resource, principal, condition, effect)


def _read_field(statement: Properties, name: str) -> list[str]:
    """Return the values of an element one by one; those of its negation are one."""
    read = _read_principals if name == "Principal" else _read_strings
    if f"Not{name}" in statement:
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


SOURCES = (
    PermissionSource(
        WIDEN_IAM, ("aws:iam/", "aws:ssoadmin/"), _read_identity, "may do", "may no longer do", rates_new=True
    ),
    PermissionSource(WIDEN_TRUST, (_ROLE, *_PROVIDERS), _read_trust, "lets in", "no longer lets in", rates_new=True),
    PermissionSource(WIDEN_RESOURCE, ("aws:",), _read_resource_policy, "lets in", "no longer lets in", rates_new=True),
)
