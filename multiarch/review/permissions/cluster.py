"""Who may do what in a cluster after a change and not before: access entries, roles of pods, RBAC."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product

from multiarch.observed.resources.properties import Properties
from multiarch.review.permissions.grants import Grant
from multiarch.review.permissions.reporting import Parts, PermissionSource
from multiarch.review.permissions.sides import (
    ComparedResource,
    Sides,
    get_hidden_reason,
    list_values,
    require_object,
    require_string,
)
from multiarch.rules import REVIEW_RULES, Risk
from multiarch.yaml_text.reader import documents

WIDEN_ACCESS = REVIEW_RULES["widen-cluster-access"]
WIDEN_RBAC = REVIEW_RULES["widen-kubernetes-rbac"]
_CLUSTER, _ROLE = "aws:eks/cluster:Cluster", "aws:iam/role:Role"
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


def _read_access(sides: Sides, resource: ComparedResource) -> Parts:
    inputs = resource.inputs
    if resource.type.startswith(_SERVICE_ACCOUNT):
        metadata = require_object(inputs.get("metadata"), "metadata")
        role = require_object(metadata.get("annotations"), "annotations").get(_ROLE_OF_PODS)
        subject = f"pods of {metadata.get('namespace', 'default')}/{metadata.get('name', resource.name)}"
        yield (resource.urn, subject), _name_roles(sides, resource, {"metadata": role})
    elif resource.type == _CONFIG_MAP and require_object(inputs.get("metadata"), "metadata").get("name") == "aws-auth":
        for name, text in require_object(inputs.get("data"), "data").items():
            entries = [each for found in documents(require_string(text, name)) for each in list_values(found.value)]
            yield (resource.urn, resource.subject), [Grant(f"{name} {json.dumps(each)}") for each in entries]
    elif resource.type.startswith(_ACCESS):
        cluster, name = sides.find_owner(resource, "clusterName", _CLUSTER, inputs.get("clusterName"))
        if "serviceAccount" in inputs:
            subject = f"pods of {inputs.get('namespace')}/{inputs['serviceAccount']} in {name}"
            roles = {each: inputs.get(each) for each in ("roleArn", "targetRoleArn")}
            yield (cluster, subject), _name_roles(sides, resource, roles)
        else:
            principal = sides.find_reference(resource, "principalArn", _ROLE, inputs.get("principalArn"))
            subject = sides.get_subject(principal) if principal else f"the principal of {resource.subject}"
            yield (cluster, f"{subject} in {name}"), _read_entry(inputs)


def _name_roles(sides: Sides, resource: ComparedResource, roles: Properties) -> Iterator[Grant]:
    for name, value in roles.items():
        if value:
            role = sides.find_reference(resource, name, _ROLE, value) or require_string(value, "an IAM role")
            yield Grant(sides.get_subject(role), risk=Risk.MEDIUM)


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


def _read_role(_: Sides, resource: ComparedResource) -> Parts:
    if "Binding" in resource.type:
        return
    owner = (resource.urn, resource.subject)
    yield owner, ()
    for each in list_values(resource.inputs.get("rules")):
        yield owner, _read_rule(each)
        # Another owner: no resource, not even *, covers a path.
        yield (resource.urn, f"paths of {resource.subject}"), _read_paths(each)
    if aggregation := resource.inputs.get("aggregationRule"):
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


def _read_binding(_: Sides, resource: ComparedResource) -> Parts:
    if "Binding" not in resource.type:
        return
    metadata = require_object(resource.inputs.get("metadata"), "metadata")
    scope = "*" if ":ClusterRole" in resource.type else metadata.get("namespace", "default")
    for each in list_values(resource.inputs.get("subjects")):
        who = resource.subject
        if isinstance(each, Mapping) and not get_hidden_reason(each):
            who = f"{str(each.get('kind')).lower()} {each.get('name')}"
            if each.get("kind") == "ServiceAccount":
                who = f"service account {each.get('namespace', scope)}/{each.get('name')}"
        yield ("", who), _bind(resource.inputs, each, scope)


def _bind(inputs: Properties, subject: object, scope: object) -> Iterator[Grant]:
    """Yield the role that a subject of a binding gets, as one action."""
    who = require_string(require_object(subject, "a subject").get("name"), "a subject")
    reference = require_object(inputs.get("roleRef"), "a role")
    kind, name = (require_string(reference.get(each), "a role") for each in ("kind", "name"))
    risk = Risk.HIGH if who in _EVERYBODY else _rate_name(name)
    yield Grant(f"{kind} {name}", require_string(scope, "a namespace"), risk=risk)


_GETS, _SCOPE = ("gets", "gets", "no longer gets"), ("", "the whole cluster", "")
_ACCESS_TYPES = (_CLUSTER, _ROLE, *_ACCESS, _SERVICE_ACCOUNT, _CONFIG_MAP)
SOURCES = (
    PermissionSource(WIDEN_ACCESS, _ACCESS_TYPES, _read_access, _GETS, (" in ", ""), _SCOPE),
    PermissionSource(
        WIDEN_RBAC,
        (_RBAC,),
        _read_role,
        ("allows", "allows more", "no longer allows"),
        (" on ", " of API group "),
        ("every verb", "every resource", "*"),
        rates_new=True,
    ),
    PermissionSource(WIDEN_RBAC, (_RBAC,), _read_binding, _GETS, (" in ", ""), _SCOPE),
)
