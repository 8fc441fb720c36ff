"""Objects and Helm releases in the cluster, declared without the SDK's typed classes.

The SDK's classes load the types of whole API groups, several megabytes for a handful of properties; the engine gets
the same type and properties either way (a test compares them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pulumi

from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import CRITICAL_ADDONS, make_toleration

from .component import Child, Component

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


@dataclass(frozen=True, slots=True)
class InCluster:
    """What every component in the cluster needs.

    ``provider`` reaches the Kubernetes API; ``ready`` are the nodes and add-ons that its pods run on.
    """

    cluster_name: pulumi.Input[str]
    provider: pulumi.ProviderResource
    ready: Sequence[pulumi.Resource]


class ChildInCluster(Child):
    """Base of the components in the cluster. What they declare comes after ``after``, the nodes by default."""

    def __init__(self, name: str, owner: Component, cluster: InCluster) -> None:
        """Register the component as a child of its owner."""
        super().__init__(name, owner)
        self.cluster = cluster

    def declare_object(
        self,
        name: str,
        manifest: Manifest,
        after: Sequence[pulumi.Resource] | None = None,
        delete_within: str | None = None,
    ) -> pulumi.CustomResource:
        """Declare an object, as :func:`declare_object` does."""
        return declare_object(name, manifest, self._after(after, delete_within))

    def declare_release(
        self,
        name: str,
        chart: Chart,
        values: Manifest,
        after: Sequence[pulumi.Resource] | None = None,
        namespace: str = NAMESPACE,
    ) -> pulumi.CustomResource:
        """Declare a Helm release, as :func:`declare_release` does."""
        return declare_release(name, chart, values, self._after(after, None), namespace)

    def _after(self, after: Sequence[pulumi.Resource] | None, delete_within: str | None) -> pulumi.ResourceOptions:
        depends_on = self.cluster.ready if after is None else after
        return self.child(depends_on=depends_on, provider=self.cluster.provider, delete_within=delete_within)


def system_tolerations(taints: Iterable[Taint]) -> list[Mapping[str, str | int]]:
    """Return tolerations of a critical controller: ``CriticalAddonsOnly`` and ``taints``, each once."""
    wanted = [CRITICAL_ADDONS, *(make_toleration(taint) for taint in taints)]
    return [each.as_dict() for each in dict.fromkeys(wanted)]
