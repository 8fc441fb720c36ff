"""Policies for permissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multiarch.facts.unknown_values import UNKNOWN_VALUES
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.iam_documents import ALLOW, EXCEPT, Statement, list_statements, read_statement
from multiarch.observed.resources.properties import UndecidedError, require_items, require_value
from multiarch.policies.conditions import restricts_principals, restricts_requests
from multiarch.policies.model import Policy
from multiarch.policies.statements import ATTACHED, is_broad_policy, is_everywhere, is_whole_service

_DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    "aws:iam/groupPolicy:GroupPolicy": ("policy",),
    "aws:iam/policy:Policy": ("policy",),
    "aws:iam/role:Role": ("assumeRolePolicy", "inlinePolicies"),
    "aws:iam/rolePolicy:RolePolicy": ("policy",),
    "aws:iam/userPolicy:UserPolicy": ("policy",),
}
_ATTACHMENTS = frozenset(
    f"aws:iam/{name[0].lower()}{name[1:]}:{name}"
    for name in (
        "PolicyAttachment",
        *(f"{kind}PolicyAttachment{more}" for kind in ("Group", "Role", "User") for more in ("", "sExclusive")),
    )
)
_READS = ("batchcheck", "batchget", "describe", "filter", "get", "list", "lookup", "query", "scan", "search", "view")
_TELEMETRY = frozenset(
    {
        *("cloudwatch:putmetricdata", "xray:puttelemetryrecords", "xray:puttracesegments"),
        *("logs:createloggroup", "logs:createlogstream", "logs:putlogevents"),
    }
)
"""Actions that add to what is there, and change nothing of it."""


def _wildcards(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    for arn in [str(each) for key in ATTACHED for each in require_items(resource.inputs, key)]:
        if is_broad_policy(arn):
            yield f"The policy {arn.rpartition('/')[2]} allows nearly everything, or a whole service."
    for key in _DOCUMENTS.get(resource.type, ()):
        if key == "inlinePolicies":
            for inline in require_items(resource.inputs, key):
                yield from _document(require_value(inline, "policy"), f"{key}.policy", trust=False)
        else:
            yield from _document(require_value(resource.inputs, key), key, trust=key == "assumeRolePolicy")


def _document(document: Any, path: str, *, trust: bool) -> Iterator[str]:  # noqa: ANN401
    """Yield sentences about one policy document, as JSON text or already parsed."""
    for number, value in enumerate(list_statements(document), 1):
        if isinstance(value, str) and value not in UNKNOWN_VALUES:
            yield f"{path} is not JSON."
            return
        try:
            statement = read_statement(value)
        except ValueError as error:
            raise UndecidedError(path) from error
        if statement.effect == ALLOW:
            yield from (_trust if trust else _permissions)(statement, statement.sid or f"statement {number}")


def _permissions(statement: Statement, name: str) -> Iterator[str]:
    actions, resources, _ = statement.fields
    for key, values in (("NotAction", actions), ("NotResource", resources)):
        if values[0].startswith(EXCEPT):
            yield f"{name}: {key} with Allow permits all that is not named, also what AWS adds later."
    actions = [] if actions[0].startswith(EXCEPT) else [each.lower() for each in actions]
    for action in filter(is_whole_service, actions):
        yield f"{name}: the action {action} permits a whole service."
    writes = [
        action
        for action in actions
        if not _only_reads(action) and any(is_everywhere(each, action) for each in resources if each)
    ]
    if writes and not restricts_requests(statement.condition):
        yield f"{name}: {', '.join(sorted(writes))} on every resource, without a condition that limits it."


def _only_reads(action: str) -> bool:
    return action in _TELEMETRY or action.partition(":")[2].startswith(_READS)


def _trust(statement: Statement, name: str) -> Iterator[str]:
    named, condition = statement.fields[2], statement.condition
    if named[0].startswith(EXCEPT):
        yield f"{name}: NotPrincipal with Allow trusts all that are not named."
    if restricts_principals(condition):
        return
    if "*" in named:
        why = ", because its condition does not limit who" if condition else ""
        yield f"{name}: everyone may assume the role{why}."
    if any(each.startswith("federated ") for each in named):
        why = ", because its condition does not limit whose" if condition else "; a condition must name the subject"
        yield f"{name}: every token of the identity provider may assume the role{why}."


POLICIES = (
    Policy(
        "policy-iam-wildcards",
        frozenset({*_DOCUMENTS, *_ATTACHMENTS}),
        _wildcards,
    ),
)
"""The policies for permissions."""
