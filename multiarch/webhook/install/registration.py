"""The MutatingWebhookConfiguration: one entry for each mode, because a review does not carry its namespace's labels."""

from __future__ import annotations

from collections.abc import Mapping

from multiarch.facts.admission import MODE_LABEL, OFF, TIMEOUT_SECONDS, Mode, tainted_architecture
from multiarch.webhook.install import certificates, parts
from multiarch.webhook.install.conditions import NOT_OPTED_OUT, not_tolerant, undecided
from multiarch.webhook.install.model import Installation, Object

_PATH = "/mutate"
INVALID_MODE = "invalid-mode"
_MODES = [str(mode) for mode in Mode]
_NAME = "kubernetes.io/metadata.name"


def mutating_webhook_configuration(installation: Installation) -> Object:
    """The MutatingWebhookConfiguration. Whoever issues the certificate adds each ``caBundle``."""
    metadata = parts.metadata(installation, name=installation.registration_name, namespace="")
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
        "timeoutSeconds": TIMEOUT_SECONDS,
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
        "matchConditions": [
            {"name": name, "expression": expression} for name, expression in _conditions(installation, mode).items()
        ],
    }


def _conditions(installation: Installation, mode: Mode | None) -> Mapping[str, str]:
    """What spares the webhook a call. ``mode`` is None where it only says that the label's value is not a mode."""
    if mode is None:
        return NOT_OPTED_OUT
    found = undecided(tainted_architecture(installation.configuration.architectures))
    own = Mode(installation.configuration.mode)
    # Observing decides as the configuration's mode does.
    acting = own if mode is Mode.OBSERVE and own is not Mode.OBSERVE else mode
    if acting in (Mode.TOLERATE, Mode.OBSERVE):
        # The other modes may add something to such a pod.
        return {**found, **not_tolerant(installation.taints)}
    return found
