"""What several objects have in common: metadata, labels, and how containers run under Pod Security ``restricted``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from multiarch.facts.tolerations import toleration_for
from multiarch.manifests import restricted
from multiarch.webhook.install.model import Installation, Object

SERVER = "server"
CERTIFICATES = "certificates"


def selector(installation: Installation, component: str) -> Object:
    """Labels that only the pods of one component have."""
    return {
        "app.kubernetes.io/name": "multiarch-webhook",
        "app.kubernetes.io/instance": installation.name,
        "app.kubernetes.io/component": component,
    }


def metadata(
    installation: Installation, component: str = SERVER, *, name: str = "", namespace: str | None = None
) -> Object:
    """Name, namespace (that of the installation by default, none if empty) and labels of an object."""
    place = installation.namespace if namespace is None else namespace
    return {
        "name": name or installation.name,
        **({"namespace": place} if place else {}),
        "labels": selector(installation, component),
    }


def container(name: str, installation: Installation, arguments: list[str], resources: Object) -> Object:
    """A container of the webhook's image, whose entry point is ``multiarch``."""
    return {
        "name": name,
        "image": installation.image,
        "args": arguments,
        "resources": resources,
        "securityContext": restricted.container_security(),
    }


def pod_spec(installation: Installation, *, service_account: str, uses_api: bool) -> Object:
    """What all pods have besides containers: where they run, and as whom."""
    own = [toleration_for(taint).as_dict() for taint in installation.taints]
    spec: Object = {
        "serviceAccountName": service_account,
        "automountServiceAccountToken": uses_api,
        "enableServiceLinks": False,
        "nodeSelector": {"kubernetes.io/os": "linux", **installation.node_selector},
        "tolerations": [*own, *installation.tolerations],
        "securityContext": restricted.pod_security(),
    }
    if installation.priority_class_name:
        spec["priorityClassName"] = installation.priority_class_name
    if installation.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in installation.image_pull_secrets]
    return spec


def digest(value: Mapping[str, object]) -> str:
    """SHA-256 of a JSON value in the form that Helm's ``toJson | sha256sum`` hashes: Go's ``encoding/json``."""
    text = json.dumps(_without_fractions(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return hashlib.sha256(text.encode()).hexdigest()


def _without_fractions(value: object) -> object:
    """JSON does not tell 2 from 2.0; Go writes 2."""
    if isinstance(value, Mapping):
        return {key: _without_fractions(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_fractions(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
