"""Objects and Helm releases in the cluster, declared without the SDK's typed classes.

The SDK's classes load the types of whole API groups, several megabytes for a handful of properties; the engine gets
the same type and properties either way (a test compares them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pulumi

from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import CRITICAL_ADDONS, toleration_for

NAMESPACE = "kube-system"
_RELEASE = "kubernetes:helm.sh/v3:Release"
# Seconds: nodes that just started pull images first.
_TIMEOUT = 600
# Helm keeps every revision as a Secret; ten are enough for a rollback.
_HISTORY = 10

Manifest = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Chart:
    """A pinned chart. ``location`` is an ``oci://`` address, a folder, or a name in ``repository`` (``https://``).

    ``skip_crds`` omits the chart's folder ``crds``, which Helm installs and never updates.
    """

    location: str
    version: str
    repository: str | None = None
    skip_crds: bool = False


def declare_object(name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Declare one object; ``manifest`` has ``apiVersion`` and ``kind``, and its values may be outputs."""
    version = str(manifest["apiVersion"])
    token = f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"
    return pulumi.CustomResource(token, name, props=dict(manifest), opts=opts)


def declare_release(
    name: str, chart: Chart, values: Manifest, opts: pulumi.ResourceOptions, namespace: str = NAMESPACE
) -> pulumi.CustomResource:
    """Declare a Helm release; the engine waits until its objects are ready.

    ``name`` is also the release's name, without a suffix that could change.
    """
    props: dict[str, object] = {
        # Tells the provider that the properties have the form of its current version.
        "compat": "true",
        "chart": chart.location,
        "version": chart.version,
        "name": name,
        "namespace": namespace,
        "values": values,
        "maxHistory": _HISTORY,
        "timeout": _TIMEOUT,
    }
    if chart.repository:
        props["repositoryOpts"] = {"repo": chart.repository}
    if chart.skip_crds:
        props["skipCrds"] = True
    return pulumi.CustomResource(_RELEASE, name, props=props, opts=opts)


def system_tolerations(taints: Iterable[Taint]) -> list[Mapping[str, str | int]]:
    """Tolerations of a critical controller: ``CriticalAddonsOnly`` and ``taints``, each once."""
    wanted = [CRITICAL_ADDONS, *(toleration_for(taint) for taint in taints)]
    return [each.as_dict() for each in dict.fromkeys(wanted)]
