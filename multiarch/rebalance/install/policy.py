"""What RBAC can't say: a run changes only whether a Node is schedulable and its own annotation, and creates one Lease.

The API server evaluates the expressions itself; they need no rights.
Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from multiarch.facts.rebalance import CORDON_ANNOTATION, LEASE, PLACEHOLDER_NAMESPACE

Object = dict[str, Any]
"""A Kubernetes object, or a part of one."""

NAME = "multiarch-rebalance"
NAMESPACE = PLACEHOLDER_NAMESPACE
USER = f"system:serviceaccount:{NAMESPACE}:{NAME}"
"""The service account's user name."""
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}
_GROUP = "admissionregistration.k8s.io"
_OWN = json.dumps(CORDON_ANNOTATION)
_METADATA = ("labels", "finalizers", "ownerReferences")
_SPEC = ("configSource", "externalID", "podCIDR", "podCIDRs", "providerID", "taints")
"""All fields of a Node's spec but ``unschedulable``: Kubernetes API reference, NodeSpec."""
_VARIABLES = {
    "before": "has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}",
    "after": "has(object.metadata.annotations) ? object.metadata.annotations : {}",
    "closed": "has(oldObject.spec.unschedulable) && oldObject.spec.unschedulable",
    "closes": "has(object.spec.unschedulable) && object.spec.unschedulable",
    "amd64": 'has(oldObject.metadata.labels) && "kubernetes.io/arch" in oldObject.metadata.labels && '
    'oldObject.metadata.labels["kubernetes.io/arch"] == "amd64"',
}
_BEFORE, _AFTER = "variables.before", "variables.after"


def build_metadata(name: str = NAME, namespace: str | None = NAMESPACE) -> Object:
    """Name, namespace (none with None) and labels of an object."""
    return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": LABELS}


def build_admission_policies() -> list[Object]:
    """Return the ValidatingAdmissionPolicies with their bindings: one for Nodes, one for Leases."""
    nodes = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes", "nodes/*"]}
    leases = {
        "apiGroups": ["coordination.k8s.io"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["leases"],
    }
    only_lease = {f"object.metadata.name == {json.dumps(LEASE)}": f"may create no Lease but {LEASE}"}
    return [
        *_policy(f"{NAME}-nodes", nodes, _VARIABLES, _of_nodes()),
        *_policy(f"{NAME}-leases", leases, {}, only_lease),
    ]


def _policy(name: str, rule: Object, variables: Mapping[str, str], validations: Mapping[str, str]) -> Iterator[Object]:
    """Yield a policy for what the service account does, and its binding; ``validations`` are messages by expression."""
    own = {"name": "service-account", "expression": f"request.userInfo.username == {json.dumps(USER)}"}
    yield {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": build_metadata(name, None),
        "spec": {
            # An error in an expression rejects too.
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [own],
            **(
                {"variables": [{"name": key, "expression": value} for key, value in variables.items()]}
                if variables
                else {}
            ),
            "validations": [
                {"expression": expression, "message": f"{NAME} {message}.", "reason": "Forbidden"}
                for expression, message in validations.items()
            ],
        },
    }
    yield {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": build_metadata(name, None),
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _of_nodes() -> dict[str, str]:
    """Return messages by expression."""
    same = [_same("metadata", field) for field in _METADATA] + [_same("spec", field) for field in _SPEC]
    kept = f"{_AFTER}.all(key, key == {_OWN} || key in {_BEFORE} && {_BEFORE}[key] == {_AFTER}[key])"
    none_gone = f"{_BEFORE}.all(key, key == {_OWN} || key in {_AFTER})"
    closing = "variables.closes && !variables.closed"
    opening = "variables.closed && !variables.closes"
    return {
        " && ".join(same): "may change nothing of a Node but spec.unschedulable and its own annotation",
        f"{kept} && {none_gone}": f"may change no annotation of a Node but {CORDON_ANNOTATION}",
        f"!({closing}) || ({_OWN} in {_AFTER} && variables.amd64)": "may cordon amd64 nodes only, with its annotation",
        f"!({opening}) || {_OWN} in {_BEFORE}": "may uncordon only nodes that it cordoned",
        f"{_OWN} in {_BEFORE} || !({_OWN} in {_AFTER}) || ({closing})": "may annotate only nodes that it cordons",
    }


def _same(part: str, field: str) -> str:
    old, new = f"oldObject.{part}.{field}", f"object.{part}.{field}"
    return f"(has({new}) ? has({old}) && {new} == {old} : !has({old}))"
