"""What roles, users, groups and policies of IAM may do after a change and not before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from multiarch.review.model import Change, Finding, ReviewRule, Risk
from multiarch.review.permissions.comparison import Grant, widened
from multiarch.review.permissions.difference import Box, exceeds
from multiarch.review.permissions.document import Document, Statement, read
from multiarch.review.permissions.effort import Effort, TooMuchEffortError
from multiarch.review.permissions.reporting import NARROW, Difference, report
from multiarch.review.permissions.sides import Resource, Sides, both, hidden, kind, several
from multiarch.review.permissions.wildcards import EVERYTHING
from multiarch.review.permissions.wording import line

WIDEN = ReviewRule(
    "widen-iam",
    Risk.HIGH,
    "an IAM role, user, group or policy that may do more than before",
    "Is each action needed, on each of these resources?",
)
RULES = (WIDEN, NARROW)

_ROLE, _USER, _GROUP = "aws:iam/role:Role", "aws:iam/user:User", "aws:iam/group:Group"
_POLICY = "aws:iam/policy:Policy"
_PERMISSION_SET = "aws:ssoadmin/permissionSet:PermissionSet"
_INLINE = MappingProxyType(
    {
        "aws:iam/rolePolicy:RolePolicy": (_ROLE, "role", "policy"),
        "aws:iam/userPolicy:UserPolicy": (_USER, "user", "policy"),
        "aws:iam/groupPolicy:GroupPolicy": (_GROUP, "group", "policy"),
        "aws:ssoadmin/permissionSetInlinePolicy:PermissionSetInlinePolicy": (
            _PERMISSION_SET,
            "permissionSetArn",
            "inlinePolicy",
        ),
    }
)
"""Types with one policy document: type and property of who gets it, property of the document."""
_ATTACHED = MappingProxyType(
    {
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ((_ROLE, "role"),),
        "aws:iam/userPolicyAttachment:UserPolicyAttachment": ((_USER, "user"),),
        "aws:iam/groupPolicyAttachment:GroupPolicyAttachment": ((_GROUP, "group"),),
        "aws:iam/policyAttachment:PolicyAttachment": ((_ROLE, "roles"), (_USER, "users"), (_GROUP, "groups")),
        "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive": ((_ROLE, "roleName"),),
        "aws:ssoadmin/managedPolicyAttachment:ManagedPolicyAttachment": ((_PERMISSION_SET, "permissionSetArn"),),
    }
)
"""Types that attach managed policies: type and property of who gets them."""
_BOUNDARY = "permissionsBoundary"
_ARNS = ("policyArn", "policyArns", "managedPolicyArn")
_MEMBERSHIPS = frozenset({"aws:iam/groupMembership:GroupMembership", "aws:iam/userGroupMembership:UserGroupMembership"})
_TYPES = frozenset({_ROLE, _USER, _GROUP, _POLICY, _PERMISSION_SET, *_INLINE, *_ATTACHED, *_MEMBERSHIPS})

_PART = "\0"
"""Between a URN, which may have spaces, and the name of a part of the resource."""
_EVERYTHING = Box((EVERYTHING, EVERYTHING, EVERYTHING))
_ADMINISTRATOR = read({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})
_BROAD_POLICIES = ("AdministratorAccess", "PowerUserAccess", "FullAccess")
_DENYING_POLICIES = ("Deny", "Quarantine")
_ESCALATING = frozenset(
    {
        *("iam:passrole", "iam:createpolicyversion", "iam:setdefaultpolicyversion", "iam:createaccesskey"),
        *("iam:attachrolepolicy", "iam:attachuserpolicy", "iam:attachgrouppolicy", "iam:updateassumerolepolicy"),
        *("iam:putrolepolicy", "iam:putuserpolicy", "iam:putgrouppolicy", "sts:assumerole"),
    }
)


@dataclass(slots=True)
class _Held:
    """What one principal, or one managed policy, has on one side.

    ``documents`` are property values by the URN and name of what they come from; ``attached`` are managed policies, by
    URN or ARN, with a name for people. ``unknown`` says what can't be told, one line each.
    """

    documents: dict[str, object] = field(default_factory=dict)
    attached: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    urns: set[str] = field(default_factory=set)


_Holder = tuple[str, str]
"""Who has permissions: the type, and a URN or a name."""


def find(change: Change) -> Iterator[Finding]:
    """Roles, users, groups and policies that may do more, by name; then memberships of groups."""
    effort = Effort()
    for sides in both(change, _TYPES.__contains__):
        before, after = _holders(sides, sides.before), _holders(sides, sides.after)
        for holder in sorted({*before, *after}):
            old, new = before.get(holder, _Held()), after.get(holder, _Held())
            if sides.touched & (old.urns | new.urns) and not sides.is_gone(holder[1], new.urns):
                yield from _compared(sides, holder, old, new, effort)
        for urn in sorted(sides.touched):
            yield from _boundary(sides, urn)
            yield from _membership(sides, urn)


def _holders(sides: Sides, side: Mapping[str, Resource]) -> dict[_Holder, _Held]:
    held: dict[_Holder, _Held] = defaultdict(_Held)
    for urn, resource in side.items():
        if row := _INLINE.get(resource.type):
            type_, name, document = row
            holder = (type_, sides.reference(resource, name, type_) or f"?{urn}")
            held[holder].documents[urn] = resource.inputs.get(document)
            held[holder].urns.add(urn)
        elif resource.type == _POLICY:
            held[_POLICY, urn].documents[urn] = resource.inputs.get("policy")
            held[_POLICY, urn].urns.add(urn)
        elif resource.type == _ROLE:
            _role(sides, resource, held[_ROLE, urn])
        for type_, name in _ATTACHED.get(resource.type, ()):
            for who in several(resource.inputs.get(name)):
                holder = (type_, sides.referred(resource, name, type_, who) or f"?{urn}")
                _attach(sides, resource, held[holder])
    return held


def _role(sides: Sides, role: Resource, held: _Held) -> None:
    """The policies that are written into a role itself."""
    policies = role.inputs.get("inlinePolicies")
    if reason := hidden(policies) if isinstance(policies, str) else "":
        held.unknown[f"{role.urn}{_PART}inlinePolicies"] = f"its inline policies: what they allow {reason}"
    for index, each in enumerate(several(policies)):
        if isinstance(each, Mapping):
            held.documents[f"{role.urn}{_PART}{each.get('name', index)}"] = each.get("policy")
    _attach(sides, role, held, ("managedPolicyArns",))


def _attach(sides: Sides, resource: Resource, held: _Held, properties: Sequence[str] = _ARNS) -> None:
    held.urns.add(resource.urn)
    for name in properties:
        for value in several(resource.inputs.get(name)):
            policy = sides.referred(resource, name, _POLICY, value)
            if policy is None:
                held.unknown[resource.urn] = f"a managed policy that {hidden(value) or 'is not named by its ARN'}"
            else:
                held.attached[policy] = _policy_name(sides, policy)


def _policy_name(sides: Sides, policy: str) -> str:
    known = sides.named(policy)
    if known:
        return known.subject
    owner = "AWS managed policy" if ":iam::aws:policy/" in policy else "policy"
    return f"{owner} {policy.rpartition('/')[2] if owner != 'policy' else policy}"


def _compared(sides: Sides, holder: _Holder, old: _Held, new: _Held, effort: Effort) -> Iterator[Finding]:
    before, _ = _statements(sides, old, old, new)
    after, unreadable = _statements(sides, new, old, new)
    grants = widened(before, after, effort)
    attached = _attachments(sides, old, new)
    if attached and _allows_everything(before, effort):
        attached = []
    unknown = [text for key, text in new.unknown.items() if key.partition(_PART)[0] in sides.touched]
    is_new = holder[1] not in sides.before and (holder[1] in sides.after or holder[1].startswith("?"))
    broad = any(map(_is_broad, grants)) or any(name.endswith(_BROAD_POLICIES) for name in attached)
    lost = [] if unreadable or unknown else [line(each, lost=True) for each in widened(after, before, effort)]
    verb = "allow" if holder[0] == _POLICY else "do"
    difference = Difference(
        _subject(sides, holder),
        ("may do" if verb == "do" else "allows") + ("" if is_new else " more"),
        [*attached, *map(line, grants), *unreadable, *unknown, *_detached_denials(sides, old, new)],
        f"no longer {verb}s" if verb == "allow" else "may no longer do",
        [*lost, *_attachments(sides, new, old)],
        old.urns | new.urns,
        sides.outside,
    )
    yield from report(WIDEN, difference, Risk.MEDIUM if is_new and not broad else None)


def _attachments(sides: Sides, old: _Held, new: _Held) -> list[str]:
    """Managed policies that are newly attached and whose content is not known."""
    return [name for key, name in new.attached.items() if key not in old.attached and not _content(sides, key)]


def _detached_denials(sides: Sides, old: _Held, new: _Held) -> list[str]:
    """Managed policies that are no longer attached and may have denied something. AWS's own say so in their name."""
    return [
        f"{name} is no longer attached; what it denies, if anything, is no longer denied"
        for key, name in old.attached.items()
        if key not in new.attached
        and not _content(sides, key)
        and (":iam::aws:policy/" not in key or any(word in key for word in _DENYING_POLICIES))
    ]


def _subject(sides: Sides, holder: _Holder) -> str:
    type_, key = holder
    known = sides.named(key.removeprefix("?"))
    if key.startswith("?"):
        return f"{kind(type_)} of {known.subject}" if known else kind(type_)
    return known.subject if known else f"{kind(type_)} {key.rpartition('/')[2]}"


def _is_broad(grant: Grant) -> bool:
    """Whether a grant allows a whole service, or to get further permissions on any resource."""
    actions = [each.lower() for each in _texts(grant.elements.get("Action"))]
    if any(each == "*" or each.endswith(":*") for each in actions) or "NotAction" in grant.elements:
        return True
    anywhere = any(each.endswith("*") for each in _texts(grant.elements.get("Resource"))) or grant.problem != ""
    return anywhere and any(each in _ESCALATING for each in actions)


def _texts(value: object) -> list[str]:
    return [each for each in several(value) if isinstance(each, str)]


def _statements(sides: Sides, held: _Held, old: _Held, new: _Held) -> tuple[list[Statement], list[str]]:
    """Statements of one side, and what of it can't be read.

    A policy that is attached on both sides is taken as it is after the change: its own finding says what changes in it.
    """
    statements: list[Statement] = []
    problems: list[str] = []
    for key, value in held.documents.items():
        document = read(value)
        statements += document.statements
        if document.problem and (value != old.documents.get(key) or hidden(value)):
            problems.append(f"{_document_name(sides, key)} {document.problem}")
    for key in held.attached:
        content = _content(sides, key, prefer_before=key not in new.attached)
        statements += content.statements if content else ()
    return statements, problems


def _document_name(sides: Sides, key: str) -> str:
    urn, _, inline = key.partition(_PART)
    resource = sides.named(urn)
    if resource is None or resource.type == _POLICY:
        return "its document"
    return f"inline policy {inline or resource.name}"


def _content(sides: Sides, policy: str, *, prefer_before: bool = False) -> Document | None:
    """The document of a managed policy, where it is known."""
    if policy.endswith(":iam::aws:policy/AdministratorAccess"):
        return _ADMINISTRATOR
    side = sides.before if prefer_before else sides.after
    known = side.get(policy) or sides.named(policy)
    document = read(known.inputs.get("policy")) if known and known.type == _POLICY else None
    return None if document is None or document.problem else document


def _allows_everything(statements: Sequence[Statement], effort: Effort) -> bool:
    try:
        return not exceeds(_EVERYTHING, [each.box for each in statements if each.allows and each.box], effort)
    except TooMuchEffortError:
        return False


def _boundary(sides: Sides, urn: str) -> Iterator[Finding]:
    """A permissions boundary that is removed, or exchanged for another policy."""
    old, new = sides.before.get(urn), sides.after.get(urn)
    if old is None or new is None or old.type not in {_ROLE, _USER} or not old.inputs.get(_BOUNDARY):
        return
    before = sides.reference(old, _BOUNDARY, _POLICY)
    after = sides.reference(new, _BOUNDARY, _POLICY) if new.inputs.get(_BOUNDARY) else ""
    if before == after and before is not None:
        return
    was = _policy_name(sides, before) if before else "a policy that is not known"
    text = f"the permissions boundary {was} is removed"
    if after:
        text = f"the permissions boundary is {_policy_name(sides, after)}, and was {was}"
    elif after is None:
        text = f"the permissions boundary {hidden(new.inputs[_BOUNDARY])}, and was {was}"
    yield from report(WIDEN, Difference(new.subject, "may do more", [text], "", [], [urn], sides.outside))


def _membership(sides: Sides, urn: str) -> Iterator[Finding]:
    """Users that become members of a group."""
    old, new = sides.before.get(urn), sides.after.get(urn)
    if new is None or new.type not in _MEMBERSHIPS:
        return
    before, after = _members(old) if old else [], _members(new)
    gained = [each for each in after if each not in before or hidden(each)]
    lost = [each for each in before if each not in after]
    words = ("has more members", "has fewer members")
    yield from report(WIDEN, Difference(new.subject, words[0], gained, words[1], lost, [urn], sides.outside))


def _members(membership: Resource) -> list[str]:
    """``USER in group GROUP`` for each."""
    inputs = membership.inputs
    groups = _texts(inputs.get("groups", inputs.get("group")))
    users = _texts(inputs.get("users", inputs.get("user")))
    return [f"user {user} in group {group}" for user in users for group in groups]
