"""The MutatingWebhookConfiguration: one entry for each mode, because a review does not carry its namespace's labels."""

from __future__ import annotations

from multiarch.facts.admission import MODE_LABEL, OFF, Mode
from multiarch.webhook.install import certificates, parts
from multiarch.webhook.install.conditions import conditions
from multiarch.webhook.install.model import Installation, Object

_PATH = "/mutate"
INVALID_MODE = "invalid-mode"
_TIMEOUT = 3
"""Seconds that a pod's creation waits at most; the webhook itself answers within ``deadlineSeconds``."""
_MODES = [str(mode) for mode in Mode]
_NAME = "kubernetes.io/metadata.name"


def mutating_webhook_configuration(installation: Installation) -> Object:
    """The MutatingWebhookConfiguration. Whoever issues the certificate adds each ``caBundle``."""
    metadata = parts.metadata(installation, namespace="")
    if installation.certificates == "cert-manager":
        metadata["annotations"] = {certificates.INJECTION: f"{installation.namespace}/{installation.name}"}
    default = Mode(installation.configuration.mode)
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": [
            _webhook(installation, "default", default, {"operator": "DoesNotExist"}),
            *(_webhook(installation, mode, mode, {"operator": "In", "values": [str(mode)]}) for mode in Mode),
            # NotIn alone also matches where there is no label.
            _webhook(
                installation,
                INVALID_MODE,
                None,
                {"operator": "Exists"},
                {"operator": "NotIn", "values": [*_MODES, OFF]},
            ),
        ],
    }


def _webhook(installation: Installation, entry: str, mode: Mode | None, *rules: Object) -> Object:
    configuration = installation.configuration
    excluded = ["kube-system", installation.namespace, *installation.excluded_namespaces]
    return {
        "name": f"{entry}.webhook.multiarch-eks",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "name": installation.name,
                "namespace": installation.namespace,
                "path": _PATH if entry == "default" else f"{_PATH}/{entry}",
                "port": 443,
            }
        },
        "failurePolicy": "Ignore",
        "timeoutSeconds": _TIMEOUT,
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "NoneOnDryRun" if configuration.events else "None",
        "namespaceSelector": {
            "matchExpressions": [
                {"key": _NAME, "operator": "NotIn", "values": list(dict.fromkeys(excluded))},
                *({"key": MODE_LABEL, **rule} for rule in rules),
            ]
        },
        "objectSelector": {},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "Namespaced",
            }
        ],
        "matchConditions": conditions(installation.taints, configuration.architectures, mode),
    }
