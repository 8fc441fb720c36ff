"""Objects and Helm releases in the cluster, declared without the SDK's typed classes.

The SDK's classes load the types of whole API groups, several megabytes for a handful of properties; the engine gets
the same type and properties either way (a test compares them).
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pulumi

from multiarch.doctor.in_cluster import AccessError, list_obstacles
from multiarch.doctor.reach import explain_release
from multiarch.errors import MultiarchError, OutsideError
from multiarch.facts.autoscalers import Publisher, find_copied_image
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import CRITICAL_ADDONS, make_toleration
from multiarch.kubernetes.cluster import open_described_cluster
from multiarch.probe import find_silence
from multiarch.stack.model import Plan

from .component import After, Child, Component, require_healthy

NAMESPACE = "kube-system"
DRAIN_WITHIN = "30m"
"""For the deletion of NodePools: a node goes once its pods are evicted, and they may have disruption budgets."""
_RELEASE = "kubernetes:helm.sh/v3:Release"
# Seconds: nodes that just started pull images first.
_TIMEOUT = 600
# Helm keeps every revision as a Secret; ten are enough for a rollback.
_HISTORY = 10
# Seconds for a new API server to answer, as in pulumi-eks, and between two requests.
_ANSWERS_WITHIN = 300
_PAUSE = 5

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

    def copied_to(self, registry: str | None) -> Chart:
        """Return the copy of a publisher's chart in ``registry``, if there is one; a chart in a folder stays there."""
        if registry is None or not (self.repository or self.location.startswith("oci://")):
            return self
        return replace(self, location=f"{registry}/{self.location.rpartition('/')[2]}", repository=None)


def _find_problem(status: Mapping[str, Any] | None) -> str | None:
    """Return what is wrong with a release, from what Helm stores of it."""
    if not status or status["status"] == "deployed":
        return None
    text, fix = explain_release(status["name"], status["namespace"], status["status"], int(status["revision"]))
    return f"Helm release {text}. {fix}"


async def wait_for_api(hook: pulumi.ResourceHookArgs) -> None:
    """Wait until the API server of a Kubernetes provider answers; a hook for the provider's creation.

    EKS reports a cluster as active before its endpoint answers everywhere, and the provider connects once: what it
    can't reach then, it doesn't reach for the rest of the run. Sources: pulumi-eks, nodejs/eks/cluster/cluster.ts;
    pulumi-kubernetes, provider/pkg/provider/provider.go, Configure. Raises OutsideError.
    """
    cluster = json.loads((hook.new_inputs or {})["kubeconfig"])["clusters"][0]["cluster"]
    server, authority = cluster["server"], base64.b64decode(cluster["certificate-authority-data"]).decode()
    end = time.monotonic() + _ANSWERS_WITHIN
    while reason := await asyncio.to_thread(find_silence, f"{server}/readyz", authority):
        if time.monotonic() > end:
            raise OutsideError(
                f"The Kubernetes API at {server} did not answer within {_ANSWERS_WITHIN} s: {reason}.",
                hint="A private endpoint answers only in networks that reach the VPC: run `pulumi up` there.",
            )
        await asyncio.sleep(_PAUSE)


def make_look_ahead(plan: Plan) -> pulumi.ResourceHook:
    """Return a hook for the creation of an existing cluster's provider, in previews too: nothing in it is the stack's.

    It rejects the run if something in the cluster would stop it half-way, and warns if the cluster can't be read. A
    preview warns of missing rights too: another role may run the update.
    """
    preview = pulumi.runtime.is_dry_run()

    async def look(hook: pulumi.ResourceHookArgs) -> None:
        try:
            found = await asyncio.to_thread(_look, str((hook.new_inputs or {})["kubeconfig"]), plan)
        except MultiarchError as error:
            if isinstance(error, AccessError) and not preview:
                raise
            pulumi.log.warn(f"what exists in the cluster {plan.cluster.name} could not be read: {error}")
        else:
            if found:
                raise MultiarchError(" ".join(found))

    return pulumi.ResourceHook("look-ahead", look, pulumi.ResourceHookOptions(on_dry_run=True))


def _look(kubeconfig: str, plan: Plan) -> list[str]:
    with open_described_cluster(kubeconfig) as cluster:
        return list_obstacles(cluster, plan)


@dataclass(frozen=True, slots=True)
class InCluster:
    """What every component in the cluster needs.

    ``provider`` reaches the Kubernetes API; ``ready`` are the nodes and add-ons that its pods run on; charts are loaded
    from ``chart_registry`` if there is one, and their images from ``image_registries`` by the publisher's registry.
    """

    cluster_name: pulumi.Input[str]
    provider: pulumi.ProviderResource
    ready: After
    chart_registry: str | None = None
    image_registries: Mapping[Publisher, str] = field(default_factory=dict)

    def choose_image(self, chart: str) -> dict[str, str]:
        """Return the value of ``image.repository`` where a chart's image does not come from its publisher."""
        copied = find_copied_image(chart, self.image_registries)
        return {"repository": copied} if copied else {}


class ChildInCluster(Child):
    """Base of the components in the cluster. What they declare comes after ``after``, the nodes by default."""

    def __init__(self, name: str, owner: Component, cluster: InCluster) -> None:
        """Register the component as a child of its owner."""
        super().__init__(name, owner)
        self.cluster = cluster

    def declare_object(
        self, name: str, manifest: Manifest, after: After | None = None, delete_within: str | None = None
    ) -> pulumi.CustomResource:
        """Declare one object; ``manifest`` has ``apiVersion`` and ``kind``, and its values may be outputs."""
        version = str(manifest["apiVersion"])
        token = f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"
        return pulumi.CustomResource(token, name, props=dict(manifest), opts=self.place(after, delete_within))

    def declare_release(
        self, name: str, chart: Chart, values: Manifest, after: After | None = None, namespace: str = NAMESPACE
    ) -> pulumi.Output[pulumi.Resource]:
        """Declare a Helm release, and return it for others to depend on; the engine waits until its objects are ready.

        ``name`` is also the release's name, without a suffix that could change. The run ends if Helm has not deployed
        the release: the engine's refresh forgets that it failed, and an unchanged release is not sent again.
        """
        chart = chart.copied_to(self.cluster.chart_registry)
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
            # The provider's answer.
            "status": None,
        }
        if chart.repository:
            props["repositoryOpts"] = {"repo": chart.repository}
        if chart.skip_crds:
            props["skipCrds"] = True
        release = pulumi.CustomResource(_RELEASE, name, props=props, opts=self.place(after))
        return require_healthy(release, pulumi.get(release, "status"), _find_problem)

    def place(self, after: After | None = None, delete_within: str | None = None) -> pulumi.ResourceOptions:
        """Return options of a child in the cluster, which comes after ``after``."""
        depends_on = self.cluster.ready if after is None else after
        return self.child(depends_on=depends_on, provider=self.cluster.provider, delete_within=delete_within)


def system_tolerations(taints: Iterable[Taint]) -> list[Mapping[str, str | int]]:
    """Return tolerations of a critical controller: ``CriticalAddonsOnly`` and ``taints``, each once."""
    wanted = [CRITICAL_ADDONS, *(make_toleration(taint) for taint in taints)]
    return [each.as_dict() for each in dict.fromkeys(wanted)]
