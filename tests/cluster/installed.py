"""Autoscalers that a cluster had before any stack: the objects of their own charts, in the values of their owners."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sandbox.cluster.kube import Kube, Object
from tests.cluster import charts
from tests.cluster.objects import node_class, requirement
from tests.cluster.temporary import find

POOL = "default"
_SYSTEM = {"namespace": charts.NAMESPACE}


def karpenter(cluster: str) -> list[Object]:
    """Karpenter by Helm, and a node class and NodePool of its own: the getting-started page.

    Source: https://karpenter.sh/v1.14/getting-started/getting-started-with-karpenter/ (values, "Create NodePool"); the
    role's name is also that of terraform-aws-eks' example.
    """
    resources = {"cpu": "1", "memory": "1Gi"}
    values = {
        "settings": {"clusterName": cluster, "interruptionQueue": cluster},
        "controller": {"resources": {"requests": resources, "limits": resources}},
    }
    pool: Object = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": POOL},
        "spec": {
            "template": {
                "spec": {
                    "requirements": [
                        requirement("kubernetes.io/arch", "amd64"),
                        requirement("kubernetes.io/os", "linux"),
                        requirement("karpenter.sh/capacity-type", "on-demand"),
                        requirement("karpenter.k8s.aws/instance-category", "c", "m", "r"),
                        requirement("karpenter.k8s.aws/instance-generation", "2", operator="Gt"),
                    ],
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": POOL},
                    "expireAfter": "720h",
                }
            },
            "limits": {"cpu": 1000},
            "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m"},
        },
    }
    own = node_class(cluster, f"KarpenterNodeRole-{cluster}", name=POOL)
    return [*charts.template("karpenter-crd", ""), *charts.template("karpenter", json.dumps(values)), own, pool]


def cluster_autoscaler(cluster: str) -> list[Object]:
    """Stand-in for the chart 9.59.0 of a release ``ca`` with the priority expander: what `helm template` gives.

    No test can reach the chart's repository. Its roles are omitted: nothing here reads them.
    """
    name, labels = "ca-aws-cluster-autoscaler", {"app.kubernetes.io/instance": "ca"}
    command = [
        "./cluster-autoscaler",
        "--cloud-provider=aws",
        "--namespace=kube-system",
        f"--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/{cluster}",
        "--expander=priority",
        "--logtostderr=true",
    ]
    container = {"name": "aws-cluster-autoscaler", "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"}
    pod = {"serviceAccountName": name, "containers": [{**container, "command": command}]}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    meta = {**_SYSTEM, "name": name, "labels": labels}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec},
    ]


def describe(kube: Kube, items: Iterable[Object]) -> dict[str, str]:
    """Return what the API server has of objects, as JSON, without what controllers report in the status."""
    found = {}
    for item in items:
        stored = find(kube, item) or {}
        stored.pop("status", None)
        meta = stored.get("metadata", {})
        meta.pop("resourceVersion", None)  # counts changes of the status, too
        meta["managedFields"] = [each for each in meta.get("managedFields", ()) if each.get("subresource") != "status"]
        found[f"{item['kind']} {item['metadata']['name']}"] = json.dumps(stored, sort_keys=True)
    return found
