"""Who may do what in a cluster after a change and not before: access entries, roles of pods, RBAC."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product

from multiarch.observed.resources.properties import Properties
from multiarch.review.permissions.grants import Grant
from multiarch.review.permissions.reporting import Parts, PermissionSource
from multiarch.review.permissions.sides import (
    CLUSTER,
    GrantOwner,
    Side,
    get_hidden_reason,
    list_values,
    require_object,
    require_string,
)
from multiarch.rules import REVIEW_RULES, Risk
from multiarch.yaml_text.reader import read_documents

WIDEN_ACCESS = REVIEW_RULES["widen-cluster-access"]
WIDEN_RBAC = REVIEW_RULES["widen-kubernetes-rbac"]
_ROLE = "aws:iam/role:Role"
_ACCESS = ("aws:eks/accessEntry:", "aws:eks/accessPolicyAssociation:", "aws:eks/podIdentityAssociation:")
_SERVICE_ACCOUNT, _RBAC = "kubernetes:core/v1:ServiceAccount", "kubernetes:rbac.authorization.k8s.io/"
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
_ROLE_OF_PODS = "eks.amazonaws.com/role-arn"
_ADMINISTRATORS = ("AmazonEKSClusterAdminPolicy", "AmazonEKSAdminPolicy", "system:masters", "cluster-admin", "admin")
_EVERYBODY = ("system:masters", "system:authenticated", "system:unauthenticated", "system:anonymous")
_DANGEROUS = frozenset(
    {
        *("*", "escalate", "bind", "impersonate", "*/*", "secrets", "pods/exec", "pods/attach", "nodes/proxy"),
        *("validatingwebhookconfigurations", "mutatingwebhookconfigurations", "serviceaccounts/token"),
        *("certificatesigningrequests/approval", "pods/ephemeralcontainers"),
    }
)
"""Verbs and resources that let their holder get further rights, or read secrets."""


def _read_access(side: Side) -> Parts:
    inputs = side.inputs
    if side.type.startswith(_SERVICE_ACCOUNT):
        metadata = require_object(inputs.get("metadata"), "metadata")
        role = require_object(metadata.get("annotations"), "annotations").get(_ROLE_OF_PODS)
        subject = f"pods of {metadata.get('namespace', 'default')}/{metadata.get('name', side.step.name)}"
        yield GrantOwner(subject), _name_roles(side, {"metadata": role})
    elif side.type == _CONFIG_MAP and require_object(inputs.get("metadata"), "metadata").get("name") == "aws-auth":
        for name, text in require_object(inputs.get("data"), "data").items():
            entries = [
                each for found in read_documents(require_string(text, name)) for each in list_values(found.value)
            ]
            yield GrantOwner(side.subject), [Grant(f"{name} {json.dumps(each)}") for each in entries]
    elif side.type.startswith(_ACCESS):
        cluster = side.find_owner("clusterName", CLUSTER, inputs.get("clusterName"))
        if "serviceAccount" in inputs:
            subject = f"pods of {inputs.get('namespace')}/{inputs['serviceAccount']} in {cluster.subject}"
            roles = {each: inputs.get(each) for each in ("roleArn", "targetRoleArn")}
            yield cluster._replace(subject=subject), _name_roles(side, roles)
        else:
            try:
                subject = side.name_reference("principalArn", _ROLE, inputs.get("principalArn"))
            except ValueError:
                subject = f"the principal of {side.subject}"
            yield cluster._replace(subject=f"{subject} in {cluster.subject}"), _read_entry(inputs)


def _name_roles(side: Side, roles: Properties) -> Iterator[Grant]:
    for name, value in roles.items():
        if value:
            yield Grant(side.name_reference(name, _ROLE, value), risk=Risk.MEDIUM)


def _read_entry(inputs: Properties) -> Iterator[Grant]:
    """Yield the rights that an access entry, or the association of an access policy, gives."""
    type_ = require_string(inputs.get("type", "STANDARD"), "a type of access entry")
    if type_ != "STANDARD":
        yield Grant(f"the rights of {type_} nodes", "*", risk=Risk.LOW)
    for each in list_values(inputs.get("kubernetesGroups")):
        group = require_string(each, "a Kubernetes group")
        yield Grant(f"the Kubernetes group {group}", "*", risk=_rate_name(group))
    if "policyArn" in inputs:
        policy = require_string(inputs["policyArn"], "an access policy").rpartition("/")[2]
        scope = require_object(inputs.get("accessScope"), "an access scope")
        everywhere = require_string(scope.get("type"), "a type of access scope").lower() == "cluster"
        for each in ["*"] if everywhere else list_values(scope.get("namespaces")):
            namespace = require_string(each, "a namespace")
            yield Grant(policy, namespace, risk=_rate_name(policy))


def _rate_name(name: str) -> Risk:
    return Risk.HIGH if name in _ADMINISTRATORS else Risk.MEDIUM


def _read_role(side: Side) -> Parts:
    if "Binding" in side.type:
        return
    owner = GrantOwner(side.subject)
    for each in list_values(side.inputs.get("rules")):
        yield owner, _read_rule(each)
        # Another owner: no resource, not even *, covers a path.
        yield GrantOwner(f"paths of {side.subject}"), _read_paths(each)
    if aggregation := side.inputs.get("aggregationRule"):
        added = f"what Kubernetes adds from other ClusterRoles by {json.dumps(aggregation, sort_keys=True)}"
        yield owner, [Grant(added)]


def _read_rule(rule: object) -> Iterator[Grant]:
    """Yield the rights of a rule; API groups stand in the place of principals, names of resources are a condition.

    Source: Kubernetes' documentation, "Using RBAC Authorization"; pkg/registry/rbac/validation of Kubernetes.
    """
    verbs, groups, resources, names = _read_lists(rule, "verbs", "apiGroups", "resources", "resourceNames")
    named = [json.dumps({"is": {"name": each}}) for each in names] or [""]
    for verb, resource, group, name in product(verbs, resources, groups, named):
        risk = Risk.HIGH if {verb, resource} & _DANGEROUS else Risk.MEDIUM
        yield Grant(verb, resource, group or "core", name, risk=risk)


def _read_paths(rule: object) -> Iterator[Grant]:
    for verb, path in product(*_read_lists(rule, "verbs", "nonResourceURLs")):
        yield Grant(verb, path, risk=Risk.HIGH if {verb, path} & _DANGEROUS else Risk.MEDIUM)


def _read_lists(rule: object, *names: str) -> list[list[str]]:
    known = require_object(rule, "a rule")
    return [[require_string(each, f"a rule with {name}") for each in list_values(known.get(name))] for name in names]


def _read_binding(side: Side) -> Parts:
    if "Binding" not in side.type:
        return
    metadata = require_object(side.inputs.get("metadata"), "metadata")
    scope = "*" if ":ClusterRole" in side.type else metadata.get("namespace", "default")
    for each in list_values(side.inputs.get("subjects")):
        who = side.subject
        if isinstance(each, Mapping) and not get_hidden_reason(each):
            who = f"{str(each.get('kind')).lower()} {each.get('name')}"
            if each.get("kind") == "ServiceAccount":
                who = f"service account {each.get('namespace', scope)}/{each.get('name')}"
        yield GrantOwner(who, "subjects"), _bind(side.inputs, each, scope)


def _bind(inputs: Properties, subject: object, scope: object) -> Iterator[Grant]:
    """Yield the role that a subject of a binding gets, as one action."""
    who = require_string(require_object(subject, "a subject").get("name"), "a subject")
    reference = require_object(inputs.get("roleRef"), "a role")
    kind, name = (require_string(reference.get(each), "a role") for each in ("kind", "name"))
    risk = Risk.HIGH if who in _EVERYBODY else _rate_name(name)
    yield Grant(f"{kind} {name}", require_string(scope, "a namespace"), risk=risk)


_GETS, _SCOPE = ("gets", "no longer gets"), ("", "the whole cluster", "")
_ACCESS_TYPES = (*_ACCESS, _SERVICE_ACCOUNT, _CONFIG_MAP)
SOURCES = (
    PermissionSource(WIDEN_ACCESS, _ACCESS_TYPES, _read_access, _GETS, (" in ", ""), _SCOPE),
    PermissionSource(
        WIDEN_RBAC,
        (_RBAC,),
        _read_role,
        ("allows", "no longer allows"),
        (" on ", " of API group "),
        ("every verb", "every resource", "*"),
        rates_new=True,
    ),
    PermissionSource(WIDEN_RBAC, (_RBAC,), _read_binding, _GETS, (" in ", ""), _SCOPE),
)
