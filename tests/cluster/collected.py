"""Every Kubernetes object that a stack comes to: what components declare, and what is in the charts they install."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from components.rendering.files import contents
from components.rendering.recording import Recorded
from multiarch.facts.addon_daemon_sets import DEVICE_PLUGIN
from sandbox.cluster import helm
from sandbox.cluster.kube import Object
from tests.cluster import charts
from tests.cluster.karpenter import NAMESPACE

RELEASE = "kubernetes:helm.sh/v3:Release"
CLUSTER_AUTOSCALER = "cluster-autoscaler"


class NotCollectedError(Exception):
    """A component declares something in the cluster that this module can't turn into objects: teach it."""


def collected(resources: Iterable[Recorded]) -> list[Object]:
    """Return the objects in an order in which they can be applied: CRDs and node classes before what needs them.

    The cluster autoscaler's chart is in no registry that a test can reach; :func:`stand_in` is in its place.

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


def _manifest(resource: Recorded) -> Object:
    found = dict(resource.inputs)
    # Pulumi calls the group without a name "core".
    if resource.type.replace(":core/", ":") != f"kubernetes:{found.get('apiVersion')}:{found.get('kind')}":
        raise NotCollectedError(resource.urn)
    return found


def _released(release: Recorded) -> list[Object]:
    chart = str(release.inputs["chart"]).rpartition("/")[2]
    if chart == CLUSTER_AUTOSCALER:
        return stand_in(_values(release))
    if chart == DEVICE_PLUGIN.name:
        return device_plugin(_values(release))
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


def _values(release: Recorded) -> Mapping[str, Any]:
    values = release.inputs["values"]
    if not isinstance(values, Mapping):
        raise NotCollectedError(release.urn)
    return values


def device_plugin(values: Mapping[str, Any]) -> list[Object]:
    """Stand-in for NVIDIA's chart, which the Go module proxy does not have: its values at their places."""
    labels = {"app.kubernetes.io/name": values["fullnameOverride"]}
    pod = {
        "priorityClassName": "system-node-critical",
        "containers": [{"name": "nvidia-device-plugin-ctr", "image": "k8s-device-plugin"}],
        **{key: values[key] for key in ("affinity", "tolerations")},
    }
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": values["fullnameOverride"], "namespace": NAMESPACE},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
    ]


def stand_in(values: Mapping[str, Any]) -> list[Object]:
    """Stand-in for the cluster autoscaler's chart: its values at the places that the chart's documentation names.

    So the API server judges tolerations, spread, security contexts, resources, budget and the priorities' map. It
    does not show the chart's own templates, arguments and rights.
    """
    meta = {"name": CLUSTER_AUTOSCALER, "namespace": NAMESPACE}
    labels = {"app.kubernetes.io/instance": CLUSTER_AUTOSCALER}
    selector = {"matchLabels": labels}
    container = {
        "name": CLUSTER_AUTOSCALER,
        "image": f"cluster-autoscaler:{values['image']['tag']}",
        "args": [f"--{key}={value}" for key, value in sorted(values["extraArgs"].items())],
        "resources": values["resources"],
        "securityContext": values["containerSecurityContext"],
    }
    pod = {
        "containers": [container],
        "serviceAccountName": values["rbac"]["serviceAccount"]["name"],
        "priorityClassName": values["priorityClassName"],
        "securityContext": values["securityContext"],
        **{key: values[key] for key in ("dnsPolicy", "tolerations", "topologySpreadConstraints")},
    }
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**meta, "name": "cluster-autoscaler-priority-expander"},
            "data": {"priorities": values["expanderPriorities"]},
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": meta,
            "spec": {**values["podDisruptionBudget"], "selector": selector},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {
                "replicas": values["replicaCount"],
                "selector": selector,
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]
