"""Who may do what in a cluster after a change and not before: access entries, roles of pods, RBAC."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product

from multiarch.observed.resources.properties import (
    Properties,
    get_hidden_reason,
    list_values,
    require_object,
    require_string,
)
from multiarch.review.permissions.grants import Grant
from multiarch.review.permissions.reporting import CLUSTER, GrantOwner, Parts, PermissionSource, Side
from multiarch.rules import Risk
from multiarch.yaml_text.reader import read_documents

_ROLE = "aws:iam/role:Role"
_SERVICE_ACCOUNT, _RBAC = "kubernetes:core/v1:ServiceAccount", "kubernetes:rbac.authorization.k8s.io/"
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
_ACCESS = (
    *("aws:eks/accessEntry:", "aws:eks/accessPolicyAssociation:", "aws:eks/podIdentityAssociation:"),
    *(_SERVICE_ACCOUNT, _CONFIG_MAP),
)
_ROLE_OF_PODS = "eks.amazonaws.com/role-arn"
_ADMINISTRATORS = ("AmazonEKSClusterAdminPolicy", "AmazonEKSAdminPolicy", "system:masters", "cluster-admin", "admin")
_EVERYBODY = ("system:masters", "system:authenticated", "system:unauthenticated", "system:anonymous")
_DANGEROUS = (
    *("*", "escalate", "bind", "impersonate", "*/*", "secrets", "pods/exec", "pods/attach", "nodes/proxy"),
    *("validatingwebhookconfigurations", "mutatingwebhookconfigurations", "serviceaccounts/token"),
    *("certificatesigningrequests/approval", "pods/ephemeralcontainers"),
)
"""Verbs and resources that let their holder get further rights, or read secrets."""


def _read_access(side: Side) -> Parts:
    inputs = side.inputs
    if side.step.type in {_SERVICE_ACCOUNT, _CONFIG_MAP}:
        metadata = require_object(inputs.get("metadata"), "metadata")
        if side.step.type == _SERVICE_ACCOUNT:
            role = require_object(metadata.get("annotations"), "annotations").get(_ROLE_OF_PODS)
            subject = f"pods of {metadata.get('namespace', 'default')}/{metadata.get('name', side.step.name)}"
            yield GrantOwner(subject), _name_roles(side, {"metadata": role})
        elif metadata.get("name") == "aws-auth":
            for name, text in require_object(inputs.get("data"), "data").items():
                documents = read_documents(require_string(text, name))
                entries = [f"{name} {json.dumps(each)}" for found in documents for each in list_values(found.value)]
                yield GrantOwner(side.subject), map(Grant, entries)
        return
    cluster = side.find_owner("clusterName", CLUSTER, inputs.get("clusterName"))
    if "serviceAccount" in inputs:
        subject = f"pods of {inputs.get('namespace')}/{inputs['serviceAccount']}"
        grants = _name_roles(side, {each: inputs.get(each) for each in ("roleArn", "targetRoleArn")})
    else:
        grants = _read_entry(inputs)
        try:
            subject = side.name_reference("principalArn", _ROLE, inputs.get("principalArn"))
        except ValueError:
            subject = f"the principal of {side.subject}"
    yield cluster._replace(subject=f"{subject} in {cluster.subject}"), grants


def _name_roles(side: Side, roles: Properties) -> Iterator[Grant]:
    for name, value in roles.items():
        if value:
            yield Grant(side.name_reference(name, _ROLE, value), risk=Risk.MEDIUM)


def _read_entry(inputs: Properties) -> Iterator[Grant]:
    """Yield the rights that an access entry, or the association of an access policy, gives."""
    type_ = require_string(inputs.get("type", "STANDARD"), "a type of access entry")
    if type_ != "STANDARD":
        yield Grant(f"the rights of {type_} nodes", "*", risk=Risk.LOW)
    for group in _read_strings(inputs, "kubernetesGroups"):
        yield Grant(f"the Kubernetes group {group}", "*", risk=_rate_name(group))
    if "policyArn" in inputs:
        policy = require_string(inputs["policyArn"], "an access policy").rpartition("/")[2]
        scope = require_object(inputs.get("accessScope"), "an access scope")
        everywhere = require_string(scope.get("type"), "a type of access scope").lower() == "cluster"
        for namespace in ["*"] if everywhere else _read_strings(scope, "namespaces"):
            yield Grant(policy, namespace, risk=_rate_name(policy))


def _read_strings(properties: Properties, name: str) -> list[str]:
    return [require_string(each, f"an element of {name}") for each in list_values(properties.get(name))]


def _rate_name(name: str) -> Risk:
    return Risk.HIGH if name in _ADMINISTRATORS else Risk.MEDIUM


def _read_role(side: Side) -> Parts:
    if "Binding" in side.step.type:
        return
    owner = GrantOwner(side.subject)
    for each in list_values(side.inputs.get("rules")):
        yield owner, _read_rule(each, "resources")
        # Another owner: no resource, not even *, covers a path.
        yield GrantOwner(f"paths of {side.subject}"), _read_rule(each, "nonResourceURLs")
    if aggregation := side.inputs.get("aggregationRule"):
        added = f"what Kubernetes adds from other ClusterRoles by {json.dumps(aggregation, sort_keys=True)}"
        yield owner, [Grant(added)]


def _read_rule(value: object, of: str) -> Iterator[Grant]:
    """Yield the rights of a rule; API groups stand in the place of principals, names of resources are a condition.

    Source: Kubernetes' documentation, "Using RBAC Authorization"; pkg/registry/rbac/validation of Kubernetes.
    """
    rule = require_object(value, "a rule")
    verbs, targets, names = (_read_strings(rule, each) for each in ("verbs", of, "resourceNames"))
    groups = [each or "core" for each in _read_strings(rule, "apiGroups")] if of == "resources" else [""]
    conditions = [json.dumps({"is": {"name": each}}) for each in names] or [""]
    for verb, target, group, condition in product(verbs, targets, groups, conditions):
        risk = Risk.HIGH if verb in _DANGEROUS or target in _DANGEROUS else Risk.MEDIUM
        yield Grant(verb, target, group, condition, risk=risk)


def _read_binding(side: Side) -> Parts:
    if "Binding" not in side.step.type:
        return
    metadata = require_object(side.inputs.get("metadata"), "metadata")
    scope = "*" if ":ClusterRole" in side.step.type else metadata.get("namespace", "default")
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


_GETS, _ALLOWS, _SCOPE = ("gets", "no longer gets"), ("allows", "no longer allows"), ("", "the whole cluster", "")
_EVERY, _OF_GROUP = ("every verb", "every resource", "*"), (" on ", " of API group ")
SOURCES = (
    PermissionSource("widen-cluster-access", _ACCESS, _read_access, _GETS, (" in ", ""), _SCOPE),
    PermissionSource("widen-kubernetes-rbac", (_RBAC,), _read_role, _ALLOWS, _OF_GROUP, _EVERY, rates_new=True),
    PermissionSource("widen-kubernetes-rbac", (_RBAC,), _read_binding, _GETS, (" in ", ""), _SCOPE),
)
