"""For clusters without the webhook: a MutatingAdmissionPolicy for namespaces whose owners vouch for all their images.

The API server evaluates it itself and can't look at images. Its order, its expressions and its namespaces are those of
https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from multiarch.facts.admission import READY_LABEL
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import toleration_for
from multiarch.webhook.install.conditions import tolerates, undecided
from multiarch.webhook.install.model import Object

GROUP = "admissionregistration.k8s.io"


def admission_policy(name: str, taints: Sequence[Taint], version: str = "v1") -> list[Object]:
    """The policy and its binding, in the order in which to apply them.

    ``version`` is that of the API: ``v1`` since Kubernetes 1.36, ``v1beta1`` in 1.34 and 1.35 where it is turned on.
    """
    conditions = undecided(Architecture.ARM64)
    policy = {
        "apiVersion": f"{GROUP}/{version}",
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
            "matchConditions": [{"name": key, "expression": expression} for key, expression in conditions.items()],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _added(taint)}} for taint in taints],
        },
    }
    binding = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "matchResources": {"namespaceSelector": {"matchLabels": {READY_LABEL: "true"}}},
        },
    }
    return [policy, binding]


def _added(taint: Taint) -> str:
    """The toleration, behind those that are there, if none matches the taint. Mutations see what earlier ones added."""
    fields = ", ".join(f"{key}: {json.dumps(value)}" for key, value in toleration_for(taint).as_dict().items())
    toleration = f"Object.spec.tolerations{{{fields}}}"
    path = "/spec/tolerations"
    behind = f'[JSONPatch{{op: "add", path: "{path}/-", value: {toleration}}}]'
    first = f'[JSONPatch{{op: "add", path: "{path}", value: [{toleration}]}}]'
    return f"{tolerates(taint)} ? [] : has(object.spec.tolerations) ? {behind} : {first}"
