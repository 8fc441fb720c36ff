"""What roles of Kubernetes allow, and to whom they are bound, after a change and not before."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multiarch.review.model import Change, Finding, ReviewRule, Risk
from multiarch.review.permissions.difference import Box, Values, choices_beyond, exceeds
from multiarch.review.permissions.effort import Effort, TooMuchEffortError
from multiarch.review.permissions.reporting import NARROW, Difference, report
from multiarch.review.permissions.sides import Resource, Sides, both, hidden, several
from multiarch.review.permissions.wildcards import EVERYTHING, Glob, Words, glob
from multiarch.review.permissions.wording import names

WIDEN = ReviewRule(
    "widen-kubernetes-rbac",
    Risk.HIGH,
    "a role of Kubernetes that allows more, or is bound to more users, groups or service accounts",
    "Does each subject need each verb on each resource, and in each namespace?",
)
RULES = (WIDEN, NARROW)

_API = "kubernetes:rbac.authorization.k8s.io/"
_EVERYWHERE = "*"
_URLS = "/"  # in the place of an API group, for rules about paths of the API server
_TOO_MUCH = "too many rules to be compared; read them"
_ADMINISTRATOR = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
_DANGEROUS_VERBS = frozenset({"*", "escalate", "bind", "impersonate"})
_DANGEROUS_RESOURCES = frozenset(
    {
        *("*", "*/*", "secrets", "pods/exec", "pods/attach", "nodes/proxy", "serviceaccounts/token"),
        *("validatingwebhookconfigurations", "mutatingwebhookconfigurations"),
        *("certificatesigningrequests/approval", "pods/ephemeralcontainers"),
    }
)
_EVERYBODY = frozenset({"system:masters", "system:authenticated", "system:unauthenticated", "system:anonymous"})
_Rule = Mapping[str, Any]
_RoleKey = tuple[str, str, str]
"""Kind, namespace (empty for a ClusterRole) and name."""


@dataclass(slots=True)
class _Role:
    rules: list[_Rule]
    resource: Resource
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A role that a subject has: in one namespace, or with ``*`` everywhere."""

    subject: str
    role: _RoleKey
    scope: str


@dataclass(slots=True)
class _World:
    """All that one side says; ``unread`` has what of bindings is not known, by URN."""

    roles: dict[_RoleKey, _Role] = field(default_factory=dict)
    bound: dict[_Bound, set[str]] = field(default_factory=lambda: defaultdict(set))
    unread: dict[str, str] = field(default_factory=dict)


def find(change: Change) -> Iterator[Finding]:
    """Roles by name, then subjects of bindings by name."""
    effort = Effort()
    for sides in both(change, lambda type_: type_.startswith(_API)):
        before, after = _world(sides.before), _world(sides.after)
        for key in sorted({*before.roles, *after.roles}):
            yield from _role(sides, key, before.roles.get(key), after.roles.get(key), effort)
        yield from _bindings(sides, before, after, effort)
        for urn in sorted(sides.touched & after.unread.keys()):
            lines = [after.unread[urn]]
            difference = Difference(sides.after[urn].subject, "binds", lines, "", [], [urn], sides.outside)
            yield from report(WIDEN, difference)


def _world(side: Mapping[str, Resource]) -> _World:
    world = _World()
    for urn, resource in side.items():
        kind = resource.type.rpartition(":")[2].removesuffix("Patch")
        metadata = resource.inputs.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        namespace = "" if kind.startswith("Cluster") else str(metadata.get("namespace") or "default")
        if kind in {"Role", "ClusterRole"}:
            name = metadata.get("name")
            key = (kind, namespace, name if isinstance(name, str) and not hidden(name) else f"?{urn}")
            world.roles[key] = _read_role(resource)
        elif kind in {"RoleBinding", "ClusterRoleBinding"}:
            try:
                for bound in _read_binding(resource, namespace or _EVERYWHERE):
                    world.bound[bound].add(urn)
            except ValueError as error:
                world.unread[urn] = str(error)
        else:
            world.unread[urn] = "a list of objects, which is not compared; read it"
    return world


def _read_role(resource: Resource) -> _Role:
    role = _Role([], resource)
    rules = resource.inputs.get("rules")
    for each in several(rules):
        if not isinstance(each, Mapping) or hidden(each):
            role.problems.append(f"a rule with a value that {hidden(each) or 'is not an object'}")
        elif each.get("nonResourceURLs") and each.get("resources"):
            role.problems.append("a rule with both resources and nonResourceURLs, which Kubernetes does not take")
        else:
            role.rules.append(each)
    if resource.inputs.get("aggregationRule"):
        role.problems.append("what Kubernetes adds to it from other ClusterRoles, by its aggregationRule")
    return role


def _read_binding(resource: Resource, scope: str) -> Iterator[_Bound]:
    """Raises ValueError with what is not known."""
    inputs = resource.inputs
    reference = inputs.get("roleRef")
    if hidden(reference) or hidden(scope) or not isinstance(reference, Mapping):
        raise ValueError(f"a role that {hidden(reference) or hidden(scope) or 'is not an object'}")
    kind = str(reference.get("kind"))
    role = (kind, "" if kind == "ClusterRole" else scope, str(reference.get("name")))
    for each in several(inputs.get("subjects")):
        if hidden(each) or not isinstance(each, Mapping):
            raise ValueError(f"{_role_name(role)} to a subject that {hidden(each) or 'is not an object'}")
        name = str(each.get("name"))
        if each.get("kind") == "ServiceAccount":
            name = f"{each.get('namespace', scope)}/{name}"
        kind = {"ServiceAccount": "service account"}.get(str(each.get("kind")), str(each.get("kind")).lower())
        yield _Bound(f"{kind} {name}", role, scope)


def _role(sides: Sides, key: _RoleKey, old: _Role | None, new: _Role | None, effort: Effort) -> Iterator[Finding]:
    urns = {each.resource.urn for each in (old, new) if each}
    if new is None or not sides.touched & urns:
        return
    effort.begin()
    before = old.rules if old else []
    gained = _beyond(new.rules, before, effort)
    problems = [each for each in new.problems if not old or each not in old.problems or "aggregation" not in each]
    lost = [] if new.problems or old is None else _beyond(before, new.rules, effort)
    more = "allows more" if old else "allows"
    difference = Difference(
        _role_name(key),
        more,
        [*map(_line, gained), *problems],
        "no longer allows",
        [_line(each) for each in lost],
        urns,
        sides.outside,
    )
    risk = Risk.MEDIUM if old is None and not problems and not any(map(_is_dangerous, gained)) else None
    yield from report(WIDEN, difference, risk)


def _role_name(key: _RoleKey) -> str:
    kind, namespace, name = key
    name = "with a name that is not known yet" if name.startswith("?") else name
    return f"{kind} {namespace}/{name}" if namespace and namespace != _EVERYWHERE else f"{kind} {name}"


_PARTS = ("apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs")


def _beyond(rules: Sequence[_Rule], others: Sequence[_Rule], effort: Effort) -> list[_Rule]:
    """Those parts of rules that the others do not allow."""
    covers = [box for each in others if (box := _box(each)) is not None]
    seen = set(map(_written, others))
    found: list[_Rule] = []
    for rule in rules:
        written = _written(rule)
        if written in seen:
            continue
        seen.add(written)
        box = _box(rule)
        try:
            if box is not None and exceeds(box, covers, effort):
                found += _parts(rule, covers, effort)
        except TooMuchEffortError:
            found.append({"problem": _TOO_MUCH})
            break
    return found


def _written(rule: _Rule) -> str:
    return json.dumps(rule, sort_keys=True, default=str)


def _parts(rule: _Rule, covers: Sequence[Box], effort: Effort) -> list[_Rule]:
    present = [name for name in _PARTS if rule.get(name)]

    def reduced(choice: Sequence[Values]) -> _Rule:
        return {name: list(values) for name, values in zip(present, choice, strict=True)}

    def is_beyond(*choice: Values) -> bool:
        box = _box(reduced(choice))
        return box is not None and exceeds(box, covers, effort)

    chosen = choices_beyond([several(rule[name]) for name in present], is_beyond)
    return [reduced(each) for each in chosen] or [rule]


def _box(rule: _Rule) -> Box | None:
    """API groups, resources, names and verbs of a rule; None for one that can match nothing.

    Source: Kubernetes' documentation, "Using RBAC Authorization"; pkg/registry/rbac/validation of Kubernetes.
    """
    verbs = [str(each) for each in several(rule.get("verbs"))]
    urls = [str(each) for each in several(rule.get("nonResourceURLs"))]
    if urls and verbs:
        ends = frozenset(_path(each) for each in urls)
        return Box((_literal([_URLS]), Words(ends), EVERYTHING, _or_all(verbs)))
    groups = [str(each) for each in several(rule.get("apiGroups"))]
    resources = [str(each) for each in several(rule.get("resources"))]
    if not (verbs and groups and resources):
        return None
    of_resources = Words(frozenset(glob(each, wild=each == "*" or each.startswith("*/")) for each in resources))
    resource_names = [str(each) for each in several(rule.get("resourceNames"))]
    names_ = _literal(resource_names) if resource_names else EVERYTHING
    return Box((_groups(groups), of_resources, names_, _or_all(verbs)))


def _path(url: str) -> Glob:
    """Only a ``*`` at the end is a wildcard."""
    literal = glob(url.removesuffix("*"), wild=False)
    return Glob((*literal.tokens, *glob("*").tokens)) if url.endswith("*") else literal


def _groups(groups: Sequence[str]) -> Words:
    """``*`` is every API group, but not the paths of the API server."""
    return ~_literal([_URLS]) if "*" in groups else _literal(groups)


def _or_all(values: Sequence[str]) -> Words:
    return EVERYTHING if "*" in values else _literal(values)


def _literal(values: Sequence[str]) -> Words:
    return Words(frozenset(glob(each, wild=False) for each in values))


def _line(rule: _Rule) -> str:
    """``get, list secrets`` with what else the rule says."""
    if "problem" in rule:
        return str(rule["problem"])
    verbs = names(["every verb" if each == "*" else str(each) for each in several(rule.get("verbs"))])
    if rule.get("nonResourceURLs"):
        return f"{verbs} on the paths {names([str(each) for each in several(rule['nonResourceURLs'])])}"
    resources = names(["every resource" if each == "*" else str(each) for each in several(rule.get("resources"))])
    groups = [str(each) for each in several(rule.get("apiGroups"))]
    of = (
        ""
        if groups == [""]
        else " of every API group"
        if "*" in groups
        else f" of {names([g or 'core' for g in groups])}"
    )
    only = [str(each) for each in several(rule.get("resourceNames"))]
    return f"{verbs} on {resources}{of}" + (f", only {names(only)}" if only else "")


def _is_dangerous(rule: _Rule) -> bool:
    """Whether a rule lets its holder get further rights, or read secrets."""
    verbs = {str(each) for each in several(rule.get("verbs"))}
    resources = {str(each) for each in several(rule.get("resources"))}
    return "problem" in rule or bool(verbs & _DANGEROUS_VERBS or resources & _DANGEROUS_RESOURCES)


def _bindings(sides: Sides, before: _World, after: _World, effort: Effort) -> Iterator[Finding]:
    """Subjects that have roles which they had not. What changes in a role itself, the role's own finding says."""
    subjects = {each.subject for world in (before, after) for each, urns in world.bound.items() if urns & sides.touched}
    for subject in sorted(subjects):
        effort.begin()
        old, new = ([each for each in world.bound if each.subject == subject] for world in (before, after))
        roles = before.roles | after.roles
        gained = [each for each in new if not _covered(each, old, roles, effort)]
        lost = [each for each in old if not _covered(each, new, before.roles, effort)]
        urns = {urn for world in (before, after) for each in (*old, *new) for urn in world.bound.get(each, ())}
        difference = Difference(
            subject,
            "gets",
            [_bound_name(each) for each in gained],
            "no longer has",
            [_bound_name(each) for each in lost],
            urns & sides.touched or urns,
            sides.outside,
        )
        yield from report(WIDEN, difference, _risk(gained, roles))


def _covered(bound: _Bound, others: Sequence[_Bound], roles: Mapping[_RoleKey, _Role], effort: Effort) -> bool:
    """Whether others of the same subject allow all that a bound role allows."""
    there = [each for each in others if each.scope in {_EVERYWHERE, bound.scope}]
    if any(each.role == bound.role for each in there):
        return True
    rules = _rules(bound.role, roles)
    if rules is None:
        return any(each.role == ("ClusterRole", "", "cluster-admin") for each in there)
    known = [rule for each in there for rule in _rules(each.role, roles) or ()]
    return not _beyond(rules, known, effort)


def _rules(key: _RoleKey, roles: Mapping[_RoleKey, _Role]) -> Sequence[_Rule] | None:
    """The rules of a role; None where they are not known."""
    if key == ("ClusterRole", "", "cluster-admin"):
        return _ADMINISTRATOR
    role = roles.get(key)
    return None if role is None or role.problems else role.rules


def _bound_name(bound: _Bound) -> str:
    where = "in the whole cluster" if bound.scope == _EVERYWHERE else f"in namespace {bound.scope}"
    return f"{_role_name(bound.role)} {where}"


def _risk(gained: Sequence[_Bound], roles: Mapping[_RoleKey, _Role]) -> Risk | None:
    """HIGH for everybody, for administrators, and for roles that give further rights; MEDIUM for all others."""
    for each in gained:
        rules = _rules(each.role, roles)
        if each.subject.rpartition(" ")[2] in _EVERYBODY or each.role[2] in {"cluster-admin", "admin"}:
            return None
        if rules is not None and any(map(_is_dangerous, rules)):
            return None
    return Risk.MEDIUM
