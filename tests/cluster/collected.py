"""Every Kubernetes object that a stack comes to: what components declare, and what is in the charts they install."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from components.rendering.files import contents
from multiarch.facts.addon_daemon_sets import DEVICE_PLUGIN
from multiarch.observed.resources.declared import DeclaredResource
from sandbox.cluster import helm
from sandbox.cluster.kube import Object
from tests.cluster import charts
from tests.cluster.karpenter import NAMESPACE

RELEASE = "kubernetes:helm.sh/v3:Release"
_UNREACHABLE = ("cluster-autoscaler", DEVICE_PLUGIN.name)
"""Charts that are in no registry that a test can reach."""
_OF_PODS = ("affinity", "dnsPolicy", "priorityClassName", "securityContext", "tolerations", "topologySpreadConstraints")


class NotCollectedError(Exception):
    """A component declares something in the cluster that this module can't turn into objects: teach it."""


def collected(resources: Iterable[DeclaredResource]) -> list[Object]:
    """Return the objects in an order in which they can be applied: CRDs and node classes before what needs them.

    Raises:
        NotCollectedError: a resource is neither an object with apiVersion and kind, nor a release known here.
    """
    objects = []
    for resource in resources:
        if resource.type == RELEASE:
            objects += _released(resource)
        elif resource.type.startswith("kubernetes:"):
            objects.append(_manifest(resource))
    return sorted(objects, key=lambda each: each["kind"] not in ("CustomResourceDefinition", "EC2NodeClass"))


def _manifest(resource: DeclaredResource) -> Object:
    found = dict(resource.inputs)
    # Pulumi calls the group without a name "core".
    if resource.type.replace(":core/", ":") != f"kubernetes:{found.get('apiVersion')}:{found.get('kind')}":
        raise NotCollectedError(resource.urn)
    return found


def _released(release: DeclaredResource) -> list[Object]:
    chart = str(release.inputs["chart"]).rpartition("/")[2]
    if chart in _UNREACHABLE:
        return stand_in(chart, _values(release))
    if chart == helm.WEBHOOK.name:
        return helm.render_chart(helm.WEBHOOK, _values(release), namespace=str(release.inputs["namespace"]))
    if chart not in charts.KNOWN:
        raise NotCollectedError(release.urn)
    text = contents([release], {"kubeconfig": ""})[f"helm/{release.name}.yaml"]
    # Without a namespace in its metadata, an object goes where the release does.
    return [_placed(each) for each in charts.template(chart, text)]


def _placed(item: Object) -> Object:
    cluster_wide = item["kind"] in ("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition")
    return item if cluster_wide else {**item, "metadata": {"namespace": NAMESPACE, **item["metadata"]}}


def _values(release: DeclaredResource) -> Mapping[str, Any]:
    values = release.inputs["values"]
    if not isinstance(values, Mapping):
        raise NotCollectedError(release.urn)
    return values


def stand_in(name: str, values: Mapping[str, Any]) -> list[Object]:
    """Stand-in for a chart that no test can reach: a Deployment whose pods have the values that charts copy into pods.

    So the API server judges tolerations, affinity, spread, security contexts and resources. It does not show the
    chart's own templates, arguments and rights.
    """
    labels = {"app.kubernetes.io/name": name}
    container = {
        "resources": values.get("resources", {}),
        "securityContext": values.get("containerSecurityContext", {}),
    }
    pod = {
        "containers": [{"name": name, "image": name, **container}],
        **{key: values[key] for key in _OF_PODS if key in values},
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        }
    ]
