"""Kubernetes objects as Pulumi sends them: type token to API version, names, and what cannot change in place."""

from __future__ import annotations

from typing import Final

from sandbox.providers import StandInError, auto_name
from sandbox.providers.values import UNKNOWN, Record, Value

RELEASE: Final = "kubernetes:helm.sh/v3:Release"
_NAME_LIMIT: Final = 63
_NO_RESOURCES: Final = frozenset({"helm.sh", "kustomize", "yaml"})

# Paths whose change makes the real provider replace the object. Source: Kubernetes API validation, immutable fields.
_ALWAYS: Final = ("apiVersion", "kind", "metadata.name", "metadata.namespace")
_FIXED: Final = {
    "DaemonSet": ("spec.selector",),
    "Deployment": ("spec.selector",),
    "Job": ("spec.completionMode", "spec.selector", "spec.template"),
    "RoleBinding": ("roleRef",),
    "ClusterRoleBinding": ("roleRef",),
    "Secret": ("type",),
    "Service": ("spec.clusterIP",),
    "StatefulSet": ("spec.podManagementPolicy", "spec.selector", "spec.serviceName", "spec.volumeClaimTemplates"),
    "StorageClass": ("allowVolumeExpansion", "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"),
}
# The real provider replaces these on a change of their data, unless it is configured to change them.
_DATA: Final = {
    "ConfigMap": ("enableConfigMapMutable", ("binaryData", "data", "immutable")),
    "Secret": ("enableSecretMutable", ("data", "immutable", "stringData")),
}


def kind_of(token: str) -> tuple[str, str]:
    """Split ``kubernetes:apps/v1:Deployment`` into API version and kind. Raises :class:`StandInError` for others."""
    _, api_version, kind = token.split(":")
    group = api_version.partition("/")[0]
    if group in _NO_RESOURCES or "/" not in api_version:
        raise StandInError(f"the sandbox's kubernetes stand-in has no {token}; it takes objects and {RELEASE}")
    return api_version.removeprefix("core/"), kind


def completed(token: str, urn: str, logical: str, generation: int, inputs: Record) -> Record:
    """Return the object with API version, kind and a name; the name depends on the URN where the program gives none."""
    metadata = dict(inputs.get("metadata") or {})
    if not metadata.get("name") and not metadata.get("generateName"):
        metadata["name"] = auto_name(f"{logical}-", urn, generation, _NAME_LIMIT)
    api_version, kind = kind_of(token)
    return {**inputs, "apiVersion": api_version, "kind": kind, "metadata": metadata}


def identifier(obj: Record) -> str:
    """Return ``NAMESPACE/NAME``, or the name alone, as the real provider has it."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def replaces(kind: str, settings: Record, path: str) -> bool:
    """Return whether a change at a path replaces the object."""
    fixed = [*_ALWAYS, *_FIXED.get(kind, ())]
    setting, data = _DATA.get(kind, ("", ()))
    if data and settings.get(setting) not in (True, "true"):
        fixed.extend(data)
    return any(path == item or path.startswith((f"{item}.", f"{item}[")) for item in fixed)


def ordered(value: Value) -> Value:
    """Return the same value with every map sorted by key, and nothing that Pulumi added."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value) if not key.startswith("__")}
    if isinstance(value, list):
        return [ordered(item) for item in value]
    if value == UNKNOWN:
        raise StandInError("a value is still unknown when the object is written")
    return value
