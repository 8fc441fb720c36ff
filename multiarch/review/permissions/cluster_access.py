"""Who gets into an EKS cluster, and which pods get which role of IAM, after a change and not before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from multiarch.review.model import Change, Finding, ReviewRule, Risk
from multiarch.review.permissions.difference import Box, exceeds
from multiarch.review.permissions.effort import Effort, TooMuchEffortError
from multiarch.review.permissions.reporting import NARROW, Difference, report
from multiarch.review.permissions.sides import Resource, Sides, both, hidden, several
from multiarch.review.permissions.wildcards import EVERYTHING, Words, glob
from multiarch.yaml_text.events import YamlError
from multiarch.yaml_text.reader import documents

WIDEN = ReviewRule(
    "widen-cluster-access",
    Risk.HIGH,
    "a principal that may do more in an EKS cluster, or pods that get another IAM role",
    "Does this principal need this access policy, in these namespaces? Do these pods need this role?",
)
RULES = (WIDEN, NARROW)

_CLUSTER, _ROLE = "aws:eks/cluster:Cluster", "aws:iam/role:Role"
_ENTRY = "aws:eks/accessEntry:AccessEntry"
_ASSOCIATION = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
_POD_IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
_CONFIG_MAPS = frozenset({"kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:ConfigMapPatch"})
_SERVICE_ACCOUNTS = frozenset({"kubernetes:core/v1:ServiceAccount", "kubernetes:core/v1:ServiceAccountPatch"})
_ROLE_OF_PODS = "eks.amazonaws.com/role-arn"
_TYPES = frozenset({_CLUSTER, _ROLE, _ENTRY, _ASSOCIATION, _POD_IDENTITY, *_CONFIG_MAPS, *_SERVICE_ACCOUNTS})
_AWS_AUTH = "aws-auth"
_STANDARD = "STANDARD"
_WITH_CONFIG_MAP = frozenset({"CONFIG_MAP", "API_AND_CONFIG_MAP"})
_INCLUDES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "AmazonEKSClusterAdminPolicy": ("*",),
        "AmazonEKSAdminPolicy": ("AmazonEKSEditPolicy", "AmazonEKSViewPolicy"),
        "AmazonEKSEditPolicy": ("AmazonEKSViewPolicy",),
    }
)
"""Access policies that others are a part of. Source: EKS user guide, "Review access policy permissions"."""
_POWERFUL = ("AmazonEKSClusterAdminPolicy", "AmazonEKSAdminPolicy", "system:masters")


@dataclass(frozen=True, slots=True)
class _Right:
    """What one principal has: an access policy, a group of Kubernetes, a type of entry, or a role of IAM.

    ``namespaces`` may have wildcards; empty is the whole cluster.
    """

    what: str
    label: str
    namespaces: frozenset[str] = frozenset()

    @property
    def box(self) -> Box:
        """What a right has to be covered by."""
        return Box((_words([self.what]), _words(self.namespaces, wild=True) if self.namespaces else EVERYTHING))

    @property
    def cover(self) -> Box:
        """What a right covers: also what is a part of its access policy."""
        parts = [self.what, *(f"policy {each}" for each in _INCLUDES.get(self.what.removeprefix("policy "), ()))]
        return Box((Words(frozenset(glob(each, wild=each == "policy *") for each in parts)), self.box.parts[1]))

    @property
    def text(self) -> str:
        """The right in words."""
        return f"{self.label} in {', '.join(sorted(self.namespaces))}" if self.namespaces else self.label


@dataclass(slots=True)
class _Rights:
    rights: list[_Right] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    urns: set[str] = field(default_factory=set)


_Who = tuple[str, str]
"""The cluster, by URN or name, and who has rights in it, for people."""


def find(change: Change) -> Iterator[Finding]:
    """Principals and service accounts by name; then clusters that read the ConfigMap aws-auth."""
    effort = Effort()
    for sides in both(change, _TYPES.__contains__):
        before, after = _rights(sides, sides.before), _rights(sides, sides.after)
        for who in sorted({*before, *after}):
            old, new = before.get(who, _Rights()), after.get(who, _Rights())
            if sides.touched & (old.urns | new.urns) and not sides.is_gone(who[0], new.urns):
                effort.begin()
                yield from _compared(sides, who, old, new, effort)
        for urn in sorted(sides.touched):
            yield from _authentication(sides, urn)


def _rights(sides: Sides, side: Mapping[str, Resource]) -> dict[_Who, _Rights]:
    found: dict[_Who, _Rights] = defaultdict(_Rights)
    for urn, resource in side.items():
        if resource.type in {_CLUSTER, _ROLE}:
            continue
        if resource.type in _CONFIG_MAPS:
            _add_config_map(resource, found)
            continue
        if resource.type in _SERVICE_ACCOUNTS:
            _add_service_account(sides, resource, found)
            continue
        cluster = sides.reference(resource, "clusterName", _CLUSTER) or f"?{urn}"
        held = found[cluster, _who(sides, resource)]
        held.urns.add(urn)
        try:
            held.rights += _of(sides, resource)
        except ValueError as error:
            held.problems[urn] = str(error)
    return found


def _add_config_map(resource: Resource, found: dict[_Who, _Rights]) -> None:
    """What the ConfigMap aws-auth gives.

    Source: EKS user guide, "Grant IAM users access to Kubernetes with a ConfigMap".
    """
    metadata, data = (resource.inputs.get(name) for name in ("metadata", "data"))
    if not isinstance(metadata, Mapping) or metadata.get("name") != _AWS_AUTH:
        return
    cluster = f"the ConfigMap {_AWS_AUTH}"
    for name, arn in (("mapRoles", "rolearn"), ("mapUsers", "userarn"), ("mapAccounts", "")):
        text = data.get(name) if isinstance(data, Mapping) else data
        try:
            entries = _entries(text)
        except ValueError as error:
            held = found[cluster, name]
            held.problems[resource.urn] = str(error)
            held.urns.add(resource.urn)
            continue
        for each in entries:
            is_mapping = isinstance(each, Mapping)
            held = found[cluster, str(each.get(arn) if is_mapping else f"account {each}")]
            held.urns.add(resource.urn)
            groups = several(each.get("groups")) if is_mapping else ["of all its users and roles, by their ARNs"]
            held.rights += [_Right(f"group {group}", f"the Kubernetes group {group}") for group in groups]
            if is_mapping and each.get("username"):
                held.rights.append(_Right(f"user {each['username']}", f"the Kubernetes user {each['username']}"))


def _add_service_account(sides: Sides, resource: Resource, found: dict[_Who, _Rights]) -> None:
    """The role that the annotation of a service account gives to its pods.

    Source: EKS user guide, "Assign IAM roles to Kubernetes service accounts".
    """
    metadata = resource.inputs.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {"annotations": metadata}
    annotations = metadata.get("annotations")
    role = annotations.get(_ROLE_OF_PODS) if isinstance(annotations, Mapping) else annotations
    if not role or not (isinstance(annotations, Mapping) or hidden(role)):
        return
    name = metadata.get("name")
    name = name if isinstance(name, str) and not hidden(name) else resource.name
    held = found["the cluster", f"pods of {metadata.get('namespace') or 'default'}/{name}"]
    held.urns.add(resource.urn)
    arn = None if hidden(role) else sides.referred(resource, "metadata", _ROLE, role)
    if arn is None:
        held.problems[resource.urn] = f"a role that {hidden(role) or 'is not an ARN'}"
    else:
        held.rights.append(_Right(f"role {arn}", _name(sides, arn)))


def _entries(text: object) -> list[Any]:
    """The list that a text of YAML holds. Raises ValueError with why it can't be read."""
    if text is None:
        return []
    if hidden(text) or not isinstance(text, str):
        raise ValueError(f"entries with a value that {hidden(text) or 'is not a text'}")
    try:
        return [entry for document in documents(text) for entry in several(document.value)]
    except YamlError:
        raise ValueError("entries that are not valid YAML") from None


def _who(sides: Sides, resource: Resource) -> str:
    if resource.type == _POD_IDENTITY:
        names = [resource.inputs.get(name) for name in ("namespace", "serviceAccount")]
        return "pods of " + "/".join("(not known yet)" if hidden(each) else str(each) for each in names)
    principal = sides.reference(resource, "principalArn", _ROLE)
    return _name(sides, principal) or f"the principal of {resource.subject}, which is not known yet"


def _name(sides: Sides, reference: str | None) -> str:
    known = sides.named(reference) if reference else None
    return known.subject if known else reference or ""


def _of(sides: Sides, resource: Resource) -> Iterator[_Right]:
    """The rights that a resource gives. Raises ValueError with what is not known."""
    inputs = resource.inputs
    if resource.type == _POD_IDENTITY:
        for name in ("roleArn", "targetRoleArn"):
            if inputs.get(name):
                role = sides.reference(resource, name, _ROLE)
                if role is None:
                    raise ValueError(f"a {name} that {hidden(inputs[name]) or 'is not an ARN'}")
                yield _Right(f"role {role}", _name(sides, role))
        return
    if resource.type == _ENTRY:
        type_ = _known(inputs.get("type", _STANDARD), "a type of access entry")
        if type_ != _STANDARD:
            yield _Right(f"type {type_}", f"the rights of {type_} nodes")
        for group in several(inputs.get("kubernetesGroups")):
            name = _known(group, "a Kubernetes group")
            yield _Right(f"group {name}", f"the Kubernetes group {name}")
        return
    policy = _known(inputs.get("policyArn"), "an access policy").rpartition("/")[2]
    scope = inputs.get("accessScope")
    scope = scope if isinstance(scope, Mapping) else {"type": scope}
    if _known(scope.get("type"), "an access scope").lower() == "cluster":
        yield _Right(f"policy {policy}", f"{policy} in the whole cluster")
    else:
        names = [_known(each, "a namespace") for each in several(scope.get("namespaces"))]
        yield _Right(f"policy {policy}", policy, frozenset(names or ["(none)"]))


def _known(value: object, what: str) -> str:
    if hidden(value) or not isinstance(value, str):
        raise ValueError(f"{what} that {hidden(value) or 'is not a text'}")
    return value


def _compared(sides: Sides, who: _Who, old: _Rights, new: _Rights, effort: Effort) -> Iterator[Finding]:
    gained = _beyond(new, old, effort)
    problems = [text for urn, text in new.problems.items() if urn in sides.touched]
    lost = [] if new.problems else _beyond(old, new, effort)
    cluster = "a cluster that is not known yet" if who[0].startswith("?") else _name(sides, who[0])
    difference = Difference(
        who[1],
        f"new in {cluster}",
        [*(each.text for each in gained), *problems],
        f"no longer in {cluster}",
        [each.text for each in lost],
        old.urns | new.urns,
        sides.outside,
    )
    unknown = None if any(urn in sides.before for urn in new.problems) else Risk.MEDIUM
    yield from report(WIDEN, difference, unknown if problems else _risk(gained))


def _beyond(rights: _Rights, others: _Rights, effort: Effort) -> list[_Right]:
    covers = [each.cover for each in others.rights]
    try:
        return [each for each in dict.fromkeys(rights.rights) if exceeds(each.box, covers, effort)]
    except TooMuchEffortError:
        return [each for each in dict.fromkeys(rights.rights) if each not in others.rights]


def _risk(gained: list[_Right]) -> Risk | None:
    """HIGH for administrators; LOW for nodes, which can do nothing else; MEDIUM for all others."""
    if any(each.what.endswith(_POWERFUL) for each in gained):
        return None
    return Risk.LOW if all(each.what.startswith("type ") for each in gained) else Risk.MEDIUM


def _authentication(sides: Sides, urn: str) -> Iterator[Finding]:
    """A cluster that takes the ConfigMap aws-auth for true, which access entries do not show."""
    old, new = sides.before.get(urn), sides.after.get(urn)
    if old is None or new is None or new.type != _CLUSTER:
        return
    before, after = (_mode(each) for each in (old, new))
    if after in _WITH_CONFIG_MAP and before not in _WITH_CONFIG_MAP:
        text = f"authentication mode {after}: the ConfigMap aws-auth lets principals in, too"
        yield from report(WIDEN, Difference(new.subject, "lets in more", [text], "", [], [urn], sides.outside))
    elif hidden(after):
        text = f"its authentication mode {hidden(after)}"
        yield from report(WIDEN, Difference(new.subject, "lets in more", [text], "", [], [urn], sides.outside))


def _mode(cluster: Resource) -> str:
    """The default is the older one, by the ConfigMap. Source: EKS API reference, CreateAccessConfigRequest."""
    config = cluster.inputs.get("accessConfig")
    mode = config.get("authenticationMode") if isinstance(config, Mapping) else config
    return str(mode or "CONFIG_MAP")


def _words(values: list[str] | frozenset[str], *, wild: bool = False) -> Words:
    return Words(frozenset(glob(each, wild=wild) for each in values))
