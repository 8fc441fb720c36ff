"""What IAM allows after a change and not before: policies of roles and users, trust policies, policies of resources."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product

from multiarch.observed.resources.iam_documents import DENY, EXCEPT, list_statements, read_statement
from multiarch.observed.resources.properties import get_hidden_reason, list_values, require_string
from multiarch.policies import statements
from multiarch.policies.conditions import restricts_principals
from multiarch.review.permissions.grants import Grant
from multiarch.review.permissions.reporting import GrantOwner, Parts, PermissionSource, Side, name_kind
from multiarch.rules import Risk

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
_BOUNDARY = "permissionsBoundary"
_WITHOUT_POLICY = "what AWS allows without a policy of the program: it keeps the last one, or sets a default"


def _read_identity(side: Side) -> Parts:
    inputs = side.inputs
    owners = [
        side.find_owner(name, type_, each) for name, type_ in _OWNERS.items() for each in list_values(inputs.get(name))
    ]
    for owner in owners or [GrantOwner(side.subject)]:
        yield owner, ()
        for each in [inputs.get("policy"), *list_values(inputs.get("inlinePolicies"))]:
            yield from _read_document(owner, each.get("policy") if isinstance(each, Mapping) else each)
        for name, value in [
            (key, each) for key in (_BOUNDARY, *statements.ATTACHED) for each in list_values(inputs.get(key) or None)
        ]:
            yield owner, _attach(side, name, value)


def _attach(side: Side, name: str, value: object) -> Iterator[Grant]:
    """Yield a managed policy as one action: its content is found where the policy itself changes.

    A permissions boundary is a denial: without it, its owner may do more.
    """
    policy = side.name_reference(name, _POLICY, value)
    if name == _BOUNDARY:
        yield Grant(f"what the permissions boundary {policy} does not allow", effect=DENY)
    elif policy.endswith(f"{statements.OF_AWS}{statements.ADMINISTRATOR}"):
        yield Grant("*", "*")
    elif statements.OF_AWS in policy:
        risk = Risk.HIGH if statements.is_broad_policy(policy) else Risk.MEDIUM
        yield Grant(f"AWS managed policy {policy.rpartition('/')[2]}", risk=risk)
    else:
        said = side.find_owner(name, _POLICY, value).subject
        yield Grant(said, risk=Risk.MEDIUM)
        yield Grant(f"what {said} denies, if anything", effect=DENY)


def _read_trust(side: Side) -> Parts:
    owner = GrantOwner(side.subject)
    if side.step.type == _ROLE:
        yield from _read_document(owner, side.inputs.get("assumeRolePolicy"))
        return
    for name, value in [(key, each) for key, values in side.inputs.items() for each in list_values(values)]:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        if not name.startswith("tags"):
            yield owner, (Grant(f"identities by {name} {require_string(each, name)}", risk=Risk.LOW) for each in [text])


def _read_resource_policy(side: Side) -> Parts:
    if side.step.type.startswith(_OTHER_LANGUAGES):
        return
    owner = _find_target(side)
    for value in filter(None, map(side.inputs.get, _RESOURCE_DOCUMENTS)):
        if get_hidden_reason(value) or "Statement" in value:
            yield from _read_document(owner, value)
            if not owner.property or side.step.type.startswith(("aws:kms/", "aws:ec2/")):
                yield owner, [Grant(_WITHOUT_POLICY, effect=DENY)]


def _find_target(side: Side) -> GrantOwner:
    """Return what a policy is of: a resource of the type ``aws:s3/bucket:Bucket`` for ``aws:s3/bucketPolicy:…``."""
    module, _, name = side.step.type.rpartition(":")
    target = f"{module.removesuffix('Policy')}:{name.removesuffix('Policy')}"
    for property_, urns in side.state.dependencies.items() if target != side.step.type else ():
        if found := [each for each in urns if f"{target}::" in each and property_ in side.inputs]:
            return GrantOwner(f"{name_kind(target)} {found[-1].rpartition('::')[2]}", property_)
    return GrantOwner(side.subject, "" if target == side.step.type else "its target")


def _read_document(owner: GrantOwner, value: object) -> Parts:
    for each in list_statements(value):
        yield owner, _read_grants(each)


def _read_grants(value: object) -> Iterator[Grant]:
    statement = read_statement(value)
    condition = json.dumps(statement.condition, sort_keys=True) if statement.condition else ""
    is_open = not restricts_principals(statement.condition)
    for action, resource, principal in product(*statement.fields):
        risk = _rate(action, resource, principal, is_open=is_open)
        yield Grant(action, resource, principal, condition, statement.effect, risk)


def _rate(action: str, resource: str, principal: str, *, is_open: bool) -> Risk:
    """Rate what a new owner gets.

    HIGH is a whole service, further permissions on any resource, and everybody, or everybody with an identity
    provider's token, unless a condition limits who. LOW are services of AWS, which most new roles are for, and
    principals that a resource other than a role lets in.
    """
    if principal:
        is_role = not resource and action.lower().startswith(("sts:", "*")) and not principal.startswith("service ")
        is_open &= principal.startswith(("*", "federated "))
        return Risk.HIGH if is_open else Risk.MEDIUM if is_role else Risk.LOW
    is_whole = action.startswith(EXCEPT) or statements.is_whole_service(action)
    gets_more = statements.is_escalation(action) and (
        resource.startswith(EXCEPT) or statements.is_everywhere(resource, action)
    )
    return Risk.HIGH if is_whole or gets_more else Risk.MEDIUM


_LETS_IN = ("lets in", "no longer lets in")
SOURCES = (
    PermissionSource("widen-iam", ("aws:iam/",), _read_identity, ("may do", "may no longer do"), rates_new=True),
    PermissionSource("widen-trust", (_ROLE, *_PROVIDERS), _read_trust, _LETS_IN, rates_new=True),
    PermissionSource("widen-resource-policy", ("aws:",), _read_resource_policy, _LETS_IN, rates_new=True),
)
