"""Helm releases as the provider and Helm keep them, without Helm: chart, values and status of the last revision.

A release is a file: ``spec`` has what was installed, ``status`` what Helm says of it. Editing ``status.status`` leaves
what a killed run leaves (``pending-upgrade``), or does what ``helm rollback`` does (``deployed``).
Sources: pulumi-kubernetes, provider/pkg/provider/helm_release.go; Helm 3, pkg/action/install.go and upgrade.go.
"""

from __future__ import annotations

import sys
from typing import Final

from sandbox.providers import StandInError
from sandbox.providers.kubernetes.faults import is_late
from sandbox.providers.kubernetes.manifests import Manifests
from sandbox.providers.values import Record, merged

FIXED: Final = ("name", "namespace")  # Diff: forceNewFields
_PENDING: Final = frozenset({"pending-install", "pending-upgrade", "pending-rollback"})


def identifier(inputs: Record) -> str:
    """Return ``NAMESPACE/NAME``. helm_release.go, fqName."""
    return f"{inputs['namespace']}/{inputs['name']}"


def install(store: Manifests, inputs: Record) -> tuple[Record, str]:
    """Install a release; return its status, and what failed after Helm had stored it. helm_release.go, Create."""
    if store.get(_record(inputs)):
        raise StandInError("cannot re-use a name that is still in use")  # install.go, availableName
    late = is_late(inputs)
    status = _put(store, inputs, 1, "failed" if late else "deployed")
    said = f'Helm release "{identifier(inputs)}" was created, but failed to initialize completely.'
    return status, _explain(said, inputs) if late else ""


def upgrade(store: Manifests, inputs: Record) -> tuple[Record, str]:
    """Install another revision; return as :func:`install` does. helm_release.go, Update; upgrade.go."""
    live = store.get(_record(inputs))
    if live is None:
        raise StandInError(f'"{inputs["name"]}" has no deployed releases')
    if live["status"]["status"] in _PENDING:
        raise StandInError("another operation (install/upgrade/rollback) is in progress")
    revision, late = int(live["status"]["revision"]) + 1, is_late(inputs)
    status = _put(store, inputs, revision, "failed" if late else "deployed")
    said = f'Helm release "{identifier(inputs)}" failed to initialize completely.'
    return status, _explain(said, inputs) if late else ""


def read(store: Manifests, state: Record) -> Record | None:
    """Return the outputs as they are live: values, version and status. helm_release.go, Read, setReleaseAttributes."""
    live = store.get(_record(state))
    if live is None:
        return None
    spec = live["spec"] if state.get("chart") else {**live["spec"], **live["metadata"]}  # an import has the name alone
    values = merged(state.get("values") or {}, spec.get("values") or {})
    found = {**spec, **state, "status": live["status"], **({"values": values} if values else {})}
    return {**found, "version": spec["version"]} if "version" in spec else found


def uninstall(store: Manifests, state: Record) -> None:
    """Remove a release. helm_release.go, Delete; Helm 3, pkg/action/uninstall.go."""
    if not store.get(_record(state)):
        raise StandInError(f"uninstall: Release not loaded: {state['name']}: release: not found")
    store.delete(_record(state))


def _put(store: Manifests, inputs: Record, revision: int, state: str) -> Record:
    what = "the sandbox writes chart, version and values to a file and installs nothing"
    sys.stderr.write(f"Helm release {identifier(inputs)}: {what}.\n")
    status = {
        "chart": str(inputs["chart"]).rstrip("/").rpartition("/")[2],
        "name": inputs["name"],
        "namespace": inputs["namespace"],
        "revision": revision,
        "status": state,
        **({"version": inputs["version"]} if "version" in inputs else {}),
    }
    store.put({**_record(inputs), "status": status})
    return status


def _explain(said: str, inputs: Record) -> str:
    """Return the provider's message. helm_release.go, releaseFailedError."""
    return (
        f"{said} Use Helm CLI to investigate: failed to become available within allocated timeout. "
        f"Error: Helm Release {identifier(inputs)}: context deadline exceeded"
    )


def _record(inputs: Record) -> Record:
    spec = {key: value for key, value in inputs.items() if not key.startswith("__") and key not in (*FIXED, "status")}
    metadata = {key: inputs[key] for key in FIXED}
    return {"apiVersion": "multiarch-sandbox/v1", "kind": "HelmRelease", "metadata": metadata, "spec": spec}
