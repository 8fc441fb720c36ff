"""The MutatingAdmissionPolicy in place of the webhook, and its conditions on pods in CEL.

Each condition is true for a pod that is to be decided about. An error counts as false, so there is none for a pod that
the API server accepts. The chart's MutatingWebhookConfiguration has the same conditions (a test compares them), and the
webhook itself skips all of these pods too: :mod:`multiarch.webhook.decision`.
Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from multiarch.facts.admission import OFF, OPT_OUT_ANNOTATION, READY_LABEL
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE, REPLACED_BY
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import make_toleration

_GROUP = "admissionregistration.k8s.io"
_ARM64 = json.dumps(Architecture.ARM64)
_LABELS = json.dumps([ARCHITECTURE, *(old for old, new in REPLACED_BY.items() if new == ARCHITECTURE)])
_ANNOTATIONS = "object.metadata.annotations"
_SELECTOR = "object.spec.nodeSelector"
_REQUIRED = "object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = f"{_REQUIRED}.nodeSelectorTerms"
_HAS_TERMS = (
    f"has(object.spec.affinity) && has(object.spec.affinity.nodeAffinity) && has({_REQUIRED}) && size({_TERMS}) > 0"
)
_OPT_OUT, _OFF = json.dumps(OPT_OUT_ANNOTATION), json.dumps(OFF)
_BY_NAME = (
    'has(term.matchFields) && term.matchFields.exists(field, field.key == "metadata.name" && field.operator == "In")'
)
_UNMET = f'e.operator == "In" && !({_ARM64} in e.values) || e.operator == "NotIn" && {_ARM64} in e.values'
_EXCLUDING_TERM = (
    f"has(term.matchExpressions) && term.matchExpressions.exists(e, e.key in {_LABELS} && has(e.values) && ({_UNMET}))"
)
_EXCLUDING_SELECTOR = (
    f"has({_SELECTOR}) && {_LABELS}.exists(label, label in {_SELECTOR} && {_SELECTOR}[label] != {_ARM64})"
)
CONDITIONS: Mapping[str, str] = {
    "not-opted-out": f"!has({_ANNOTATIONS}) || !({_OPT_OUT} in {_ANNOTATIONS}) || {_ANNOTATIONS}[{_OPT_OUT}] != {_OFF}",
    # The DaemonSet controller writes the affinity.
    "not-scheduled-by-name": '(!has(object.spec.nodeName) || object.spec.nodeName == "") && '
    f"!({_HAS_TERMS} && {_TERMS}.all(term, {_BY_NAME}))",
    # Rules on other labels, and with other operators, are left to the webhook.
    "not-excluded": f"!({_EXCLUDING_SELECTOR} || {_HAS_TERMS} && {_TERMS}.all(term, {_EXCLUDING_TERM}))",
}
"""Expressions by name; together they are true for a pod that may run on arm64 nodes."""


def build_admission_policy(name: str, taints: Sequence[Taint], version: str = "v1") -> list[dict[str, Any]]:
    """Return the policy and its binding, in the order in which to apply them.

    ``version`` is that of the API: ``v1`` since Kubernetes 1.36, ``v1beta1`` in 1.34 and 1.35 where it is turned on.
    """
    policy = {
        "apiVersion": f"{_GROUP}/{version}",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "IfNeeded",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                        "scope": "Namespaced",
                    }
                ]
            },
            "matchConditions": [{"name": key, "expression": expression} for key, expression in CONDITIONS.items()],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _added(taint)}} for taint in taints],
        },
    }
    binding = {
        "apiVersion": f"{_GROUP}/{version}",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "matchResources": {"namespaceSelector": {"matchLabels": {READY_LABEL: "true"}}},
        },
    }
    return [policy, binding]


def _added(taint: Taint) -> str:
    """Return the mutation: add the toleration behind the others if none matches. Mutations see earlier ones."""
    fields = ", ".join(f"{key}: {json.dumps(value)}" for key, value in make_toleration(taint).as_dict().items())
    toleration = f"Object.spec.tolerations{{{fields}}}"
    path = "/spec/tolerations"
    behind = f'[JSONPatch{{op: "add", path: "{path}/-", value: {toleration}}}]'
    first = f'[JSONPatch{{op: "add", path: "{path}", value: [{toleration}]}}]'
    return f"{_tolerates(taint)} ? [] : has(object.spec.tolerations) ? {behind} : {first}"


def _tolerates(taint: Taint) -> str:
    """Return the test for a toleration, as :meth:`multiarch.facts.tolerations.Toleration.tolerates` decides."""
    key, value, effect = (json.dumps(each) for each in (taint.key, taint.value, taint.effect))
    exists = 'has(t.operator) && t.operator == "Exists"'
    equal = '(!has(t.operator) || t.operator in ["", "Equal"])'
    parts = (
        f'(!has(t.effect) || t.effect in ["", {effect}])',
        f'(!has(t.key) || t.key in ["", {key}])',
        f'({exists} || {equal} && has(t.key) && t.key == {key} && (has(t.value) ? t.value : "") == {value})',
    )
    return f"has(object.spec.tolerations) && object.spec.tolerations.exists(t, {' && '.join(parts)})"
