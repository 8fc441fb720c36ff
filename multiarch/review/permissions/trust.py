"""Who may assume a role of IAM, or sign in with which identity provider, after a change and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from multiarch.policies.conditions import limits_who
from multiarch.review.model import Change, Finding, ReviewRule, Risk
from multiarch.review.permissions.comparison import Grant, widened
from multiarch.review.permissions.document import Document, read
from multiarch.review.permissions.effort import Effort
from multiarch.review.permissions.reporting import NARROW, Difference, report
from multiarch.review.permissions.sides import Resource, Sides, both, hidden, several
from multiarch.review.permissions.wording import line

WIDEN = ReviewRule(
    "widen-trust",
    Risk.HIGH,
    "an IAM role that more principals may assume, or under fewer conditions; a new identity provider",
    "Does each principal need the role, and do the conditions name the one account, repository or pod that is meant?",
)
RULES = (WIDEN, NARROW)

_ROLE = "aws:iam/role:Role"
_POLICY = "assumeRolePolicy"
_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": ("url", "clientIdLists", "thumbprintLists"),
    "aws:iam/samlProvider:SamlProvider": ("samlMetadataDocument",),
    "aws:rolesanywhere/trustAnchor:TrustAnchor": ("source", "enabled"),
}
"""Identity providers, and the properties that say whom IAM believes."""
_TYPES = frozenset({_ROLE, *_PROVIDERS})


def find(change: Change) -> Iterator[Finding]:
    """Roles and identity providers, by URN."""
    effort = Effort()
    for sides in both(change, _TYPES.__contains__):
        for urn in sorted(sides.touched):
            old, new = sides.before.get(urn), sides.after.get(urn)
            if new is None:
                continue
            finder = _role if new.type == _ROLE else _provider
            yield from finder(sides, old, new, effort)


def _role(sides: Sides, old: Resource | None, new: Resource, effort: Effort) -> Iterator[Finding]:
    written = new.inputs.get(_POLICY)
    before, after = read(old.inputs.get(_POLICY)) if old else Document(()), read(written)
    grants = widened(before.statements, after.statements, effort)
    gained = [line(each) for each in grants]
    lost = []
    if after.problem:
        if old is None or hidden(written) or written != old.inputs.get(_POLICY):
            gained.append(f"the trust policy {after.problem}")
    else:
        lost = [line(each, lost=True) for each in widened(after.statements, before.statements, effort)]
    more = "may be assumed more widely" if old else "may be assumed"
    difference = Difference(new.subject, more, gained, "may no longer be assumed", lost, [new.urn], sides.outside)
    yield from report(WIDEN, difference, _risk(grants, after) if old is None else None)


def _risk(grants: Sequence[Grant], document: Document) -> Risk:
    """Of a new role: services of AWS are what most roles are for; everybody is not."""
    principals = [each.elements.get("Principal") for each in grants]
    if any(grant.problem for grant in grants) or any(_is_open(each.elements) for each in grants):
        return Risk.HIGH
    if not document.problem and all(isinstance(each, Mapping) and set(each) == {"Service"} for each in principals):
        return Risk.LOW
    return Risk.MEDIUM


def _is_open(elements: Mapping[str, object]) -> bool:
    """Whether everybody may assume the role, or everybody with an identity provider's token."""
    principal = elements.get("Principal")
    if not isinstance(principal, Mapping):
        return True
    return "*" in several(principal.get("AWS")) or (
        "Federated" in principal and not limits_who(elements.get("Condition"))
    )


def _provider(sides: Sides, old: Resource | None, new: Resource, _: Effort) -> Iterator[Finding]:
    gained: list[str] = []
    lost: list[str] = []
    for name in _PROVIDERS[new.type] if old else _PROVIDERS[new.type][:1]:
        before = several(old.inputs.get(name)) if old else []
        after = several(new.inputs.get(name))
        gained += [f"{name} {_said(each)}" for each in after if each not in before or hidden(each)]
        lost += [f"{name} {_said(each)}" for each in before if each not in after]
    more = "IAM accepts identities of it" if old is None else "IAM accepts other identities of it"
    difference = Difference(new.subject, more, gained, "no longer accepted", lost, [new.urn], sides.outside)
    yield from report(WIDEN, difference, Risk.LOW if old is None else None)


def _said(value: object) -> str:
    reason = hidden(value)
    text = value if isinstance(value, str) else "changed"
    return reason or (text if len(text) < _LONGEST else "changed")


_LONGEST = 200
