"""What the API server itself sees in a pod that has nothing to be decided about, in CEL.

``multiarch.webhook.decision`` skips the same pods; a test compares the two on a real API server. Each expression is
true for a pod that is to be decided about. An error would also count as not matching, so no expression may have one.
Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from multiarch.facts.admission import OFF, OPT_OUT_ANNOTATION, Mode
from multiarch.facts.labels import ARCHITECTURE, REPLACED_BY
from multiarch.facts.taints import Taint
from multiarch.webhook.install.model import Object

_LABELS = (ARCHITECTURE, *(old for old, new in REPLACED_BY.items() if new == ARCHITECTURE))
_REQUIRED = "object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"


def conditions(taints: Sequence[Taint], architectures: Sequence[str], mode: Mode | None) -> list[Object]:
    """The ``matchConditions`` of a webhook of this mode, None where it only reports that the mode is invalid."""
    found = {"not-opted-out": _not_opted_out()}
    if mode is not None:
        found["not-scheduled-by-name"] = _not_scheduled_by_name()
        found["not-pinned"] = _not_pinned(architectures)
        if mode is not Mode.PIN:  # which may have to keep such a pod off nodes that its images do not support
            found["not-tolerant"] = f"!({' && '.join(tolerates(taint) for taint in taints)})"
    return [{"name": name, "expression": expression} for name, expression in found.items()]


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


def _not_opted_out() -> str:
    key, off = json.dumps(OPT_OUT_ANNOTATION), json.dumps(OFF)
    annotations = "object.metadata.annotations"
    return f"!has({annotations}) || !({key} in {annotations}) || {annotations}[{key}] != {off}"


def _not_scheduled_by_name() -> str:
    """``nodeName``, or the affinity that the DaemonSet controller writes."""
    terms = f"{_REQUIRED}.nodeSelectorTerms"
    named = 'has(term.matchFields) && term.matchFields.exists(f, f.key == "metadata.name" && f.operator == "In")'
    has = " && ".join(f"has({path})" for path in _paths(_REQUIRED))
    node_name = '(!has(object.spec.nodeName) || object.spec.nodeName == "")'
    return f"{node_name} && !({has} && size({terms}) > 0 && {terms}.all(term, {named}))"


def _paths(path: str) -> Iterable[str]:
    """The fields on the way to a field of ``object.spec``, the first first."""
    parts = path.split(".")
    return (".".join(parts[:count]) for count in range(3, len(parts) + 1))


def _not_pinned(architectures: Sequence[str]) -> str:
    """No rule of the node selector on the architecture, or one that all required architectures meet."""
    selector, names = "object.spec.nodeSelector", json.dumps(list(architectures))
    met = f"{names}.all(each, {selector}[label] == each)"
    return f"!has({selector}) || {json.dumps(list(_LABELS))}.all(label, !(label in {selector}) || {met})"
