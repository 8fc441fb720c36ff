"""What the API server itself sees in a pod that has nothing to be decided about, in CEL.

The webhook skips all of these pods too, and some more: ``multiarch.webhook.decision``. Each expression is true for a
pod that is to be decided about. An error counts as false, so there is none for a pod that the API server accepts.
Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from multiarch.facts.admission import DECISION_ANNOTATION, OFF, OPT_OUT_ANNOTATION
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE, REPLACED_BY
from multiarch.facts.taints import Taint

_LABELS = json.dumps([ARCHITECTURE, *(old for old, new in REPLACED_BY.items() if new == ARCHITECTURE)])
_ANNOTATIONS = "object.metadata.annotations"
_SELECTOR = "object.spec.nodeSelector"
_AFFINITY = "object.spec.affinity"
_NODE_AFFINITY = f"{_AFFINITY}.nodeAffinity"
_REQUIRED = f"{_NODE_AFFINITY}.requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = f"{_REQUIRED}.nodeSelectorTerms"
_HAS_TERMS = f"has({_AFFINITY}) && has({_NODE_AFFINITY}) && has({_REQUIRED}) && size({_TERMS}) > 0"
_OPT_OUT, _DECISION, _OFF = (json.dumps(each) for each in (OPT_OUT_ANNOTATION, DECISION_ANNOTATION, OFF))

_BY_NAME = (
    'has(term.matchFields) && term.matchFields.exists(field, field.key == "metadata.name" && field.operator == "In")'
)
_NODE_NAME = '(!has(object.spec.nodeName) || object.spec.nodeName == "")'
NOT_OPTED_OUT: Mapping[str, str] = {
    "not-opted-out": f"!has({_ANNOTATIONS}) || !({_OPT_OUT} in {_ANNOTATIONS}) || {_ANNOTATIONS}[{_OPT_OUT}] != {_OFF}"
}
_NOT_SCHEDULED_BY_NAME = {
    # The DaemonSet controller writes the affinity.
    "not-scheduled-by-name": f"{_NODE_NAME} && !({_HAS_TERMS} && {_TERMS}.all(term, {_BY_NAME}))"
}


def undecided(tainted: Architecture) -> Mapping[str, str]:
    """Expressions by name; together they are true for a pod whose images have to be looked at.

    ``tainted`` is the architecture of the nodes with the taints.
    """
    return {**NOT_OPTED_OUT, **_NOT_SCHEDULED_BY_NAME, **_not_excluded(tainted)}


def not_tolerant(taints: Sequence[Taint]) -> Mapping[str, str]:
    """True for a pod that does not tolerate all taints, or that the webhook has decided about already.

    Of the latter it checks the images again: another webhook may have added one.
    """
    decided = f"has({_ANNOTATIONS}) && {_DECISION} in {_ANNOTATIONS}"
    return {"not-tolerant": f"{decided} || !({' && '.join(tolerates(taint) for taint in taints)})"}


def tolerates(taint: Taint) -> str:
    """Whether the pod tolerates a taint, as :meth:`multiarch.facts.tolerations.Toleration.tolerates` decides."""
    key, value, effect = (json.dumps(each) for each in (taint.key, taint.value, taint.effect))
    exists = 'has(t.operator) && t.operator == "Exists"'
    equal = '(!has(t.operator) || t.operator in ["", "Equal"])'
    parts = (
        f'(!has(t.effect) || t.effect in ["", {effect}])',
        f'(!has(t.key) || t.key in ["", {key}])',
        f'({exists} || {equal} && has(t.key) && t.key == {key} && (has(t.value) ? t.value : "") == {value})',
    )
    return f"has(object.spec.tolerations) && object.spec.tolerations.exists(t, {' && '.join(parts)})"


def _not_excluded(architecture: Architecture) -> Mapping[str, str]:
    """No rule of node selector or required affinity on the architecture's label excludes this one.

    Rules on other labels, and with other operators, are left to the webhook.
    """
    name = json.dumps(architecture)
    unmet = f'e.operator == "In" && !({name} in e.values) || e.operator == "NotIn" && {name} in e.values'
    rules = "term.matchExpressions"
    by_term = f"has({rules}) && {rules}.exists(e, e.key in {_LABELS} && has(e.values) && ({unmet}))"
    by_selector = f"has({_SELECTOR}) && {_LABELS}.exists(label, label in {_SELECTOR} && {_SELECTOR}[label] != {name})"
    by_affinity = f"{_HAS_TERMS} && {_TERMS}.all(term, {by_term})"
    return {"not-excluded": f"!({by_selector} || {by_affinity})"}
