"""What is declared inside the cluster: objects and Helm releases, without the SDK's typed classes.

The SDK's classes load the types of whole API groups, several megabytes for a handful of properties; the engine is sent
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
# Seconds: images are pulled onto nodes that may have just started.
_TIMEOUT = 600
# Helm keeps every revision as a Secret; ten are enough to go back.
_HISTORY = 10

Manifest = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Chart:
    """A pinned chart. ``location`` is an ``oci://`` address, or a name in ``repository``, an ``https://`` address.

    ``skip_crds`` leaves out what the chart has in its folder ``crds``, which Helm installs and never updates.
    """

    location: str
    version: str
    repository: str | None = None
    skip_crds: bool = False


def declare_object(name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Declare one object; ``manifest`` says ``apiVersion`` and ``kind``, its values may be outputs."""
    token = f"kubernetes:{manifest['apiVersion']}:{manifest['kind']}"
    return pulumi.CustomResource(token, name, props=dict(manifest), opts=opts)


def declare_release(name: str, chart: Chart, values: Manifest, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Declare a Helm release in ``kube-system``; the engine waits until what it installs is ready.

    ``name`` is the release's too: nothing is replaced because a suffix changed.
    """
    props: dict[str, object] = {
        # The provider tells by it that properties have the shape of its current release.
        "compat": "true",
        "chart": chart.location,
        "version": chart.version,
        "name": name,
        "namespace": NAMESPACE,
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
    """What a controller tolerates that a cluster can't do without: nodes kept for such, and ``taints``, each once."""
    wanted = [CRITICAL_ADDONS, *(toleration_for(taint) for taint in taints)]
    return [each.as_dict() for each in dict.fromkeys(wanted)]
