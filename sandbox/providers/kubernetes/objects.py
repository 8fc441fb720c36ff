"""Kubernetes objects as Pulumi sends them: type token to API version, names, and what cannot change in place."""

from __future__ import annotations

import json
from typing import Final

from sandbox.providers import StandInError, auto_name
from sandbox.providers.values import UNKNOWN, Record, Value

RELEASE: Final = "kubernetes:helm.sh/v3:Release"
_NAME_LIMIT: Final = 63
_AUTONAMED: Final = "pulumi.com/autonamed"
_NO_RESOURCES: Final = frozenset({"helm.sh", "kustomize", "yaml"})

# Paths whose change replaces the object; below a path too. pulumi-kubernetes, provider/pkg/provider/diff.go: forceNew.
# Its long rows of Pod and PersistentVolume are omitted.
_ALWAYS: Final = ("metadata.name", "metadata.namespace")
_FIXED: Final = {
    "DaemonSet": ("spec.selector",),
    "Deployment": ("spec.selector",),
    "Job": ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    "PersistentVolumeClaim": ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
    "ResourceQuota": ("spec.scopes",),
    "RoleBinding": ("roleRef",),
    "ClusterRoleBinding": ("roleRef",),
    "Secret": ("type",),
    "Service": ("spec.clusterIP",),
    "StatefulSet": (
        "spec.podManagementPolicy",
        "spec.revisionHistoryLimit",
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    "StorageClass": ("parameters", "provisioner"),
}
# Replaced with their data unless the provider is told to change them. diff.go: forceNewProperties.
_DATA: Final = {
    "ConfigMap": ("enableConfigMapMutable", ("binaryData", "data")),
    "Secret": ("enableSecretMutable", ("data", "stringData")),
}
# What the API server rejects in an update, beside what is replaced. kubernetes v1.36.2,
# pkg/apis/storage/validation/validation.go: ValidateStorageClassUpdate.
_IMMUTABLE: Final = {"StorageClass": ("reclaimPolicy", "volumeBindingMode")}


def kind_of(token: str) -> tuple[str, str]:
    """Split ``kubernetes:apps/v1:Deployment`` into API version and kind. Raises :class:`StandInError` for others."""
    _, api_version, kind = token.split(":")
    group = api_version.partition("/")[0]
    if group in _NO_RESOURCES or "/" not in api_version:
        raise StandInError(f"the sandbox's kubernetes stand-in has no {token}; it takes objects and {RELEASE}")
    return api_version.removeprefix("core/"), kind


def completed(token: str, urn: str, logical: str, generation: int, inputs: Record) -> Record:
    """Return the object with API version, kind and a name; the name depends on the URN where the program gives none.

    Source: pulumi-kubernetes, provider/pkg/metadata/naming.go, AssignNameIfAutonamable.
    """
    metadata = dict(inputs.get("metadata") or {})
    if not metadata.get("name") and not metadata.get("generateName"):
        metadata["name"] = auto_name(f"{logical}-", urn, generation, _NAME_LIMIT)
        metadata["annotations"] = {**metadata.get("annotations", {}), _AUTONAMED: "true"}
    api_version, kind = kind_of(token)
    return {**inputs, "apiVersion": api_version, "kind": kind, "metadata": metadata}


def identified(token: str, identifier: str) -> Record:
    """Return an object of which only type and :func:`identifier` are known."""
    api_version, kind = kind_of(token)
    namespace, _, name = identifier.rpartition("/")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def keeps_name(old: Record, new: Record) -> bool:
    """Return whether a replacement has the old one's place, so that the old one is deleted first.

    Source: pulumi-kubernetes, provider/pkg/provider/provider.go, Diff (deleteBeforeReplace).
    """
    named = new["metadata"].get("annotations", {}).get(_AUTONAMED) != "true"
    return named and all(old["metadata"].get(key) == new["metadata"].get(key) for key in ("name", "namespace"))


def resource_of(obj: Record) -> str:
    """Return the resource as the API server's messages name it: ``storageclasses.storage.k8s.io``."""
    kind, group = obj["kind"].lower(), obj["apiVersion"].rpartition("/")[0]
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}{'es' if kind.endswith('s') else 's'}"
    return f"{plural}.{group}" if group else plural


def find_rejection(live: Record, new: Record) -> str:
    """Return the API server's message about a field that can't change, or nothing."""
    fields = [
        f"{path}: Invalid value: {json.dumps(new.get(path))}: field is immutable"
        for path in _IMMUTABLE.get(new["kind"], ())
        if path in new and live.get(path) != new[path]
    ]
    group = new["apiVersion"].rpartition("/")[0]
    said = fields[0] if len(fields) == 1 else f"[{', '.join(fields)}]"
    return f'{new["kind"]}.{group} "{new["metadata"]["name"]}" is invalid: {said}' if fields else ""


def identifier(obj: Record) -> str:
    """Return ``NAMESPACE/NAME``, or the name alone, as the real provider has it."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def replaces(new: Record, settings: Record, path: str) -> bool:
    """Return whether a change at a path replaces the object."""
    kind = str(new.get("kind", ""))
    fixed = [*_ALWAYS, *_FIXED.get(kind, ())]
    setting, data = _DATA.get(kind, ("", ()))
    if new.get("immutable") is True or settings.get(setting) not in (True, "true"):
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
