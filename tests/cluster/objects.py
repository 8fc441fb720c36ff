"""Manifests that the cluster tests write themselves: pods, node pools, a node class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.cluster.kube import Object
from tests.cluster.aws import DISCOVERY

NODE_CLASS = "default"
ARM64_TAINT = {"key": "arch", "value": "arm64", "effect": "NoSchedule"}
ARM64_TOLERATION = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


def node_class(cluster: str, role: str, *, name: str = NODE_CLASS, alias: str = "al2023@latest") -> Object:
    """An EC2NodeClass that finds what the test's AWS has tagged for ``cluster``."""
    selector = [{"tags": {DISCOVERY: cluster}}]
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": name},
        "spec": {
            "amiSelectorTerms": [{"alias": alias}],
            "role": role,
            "subnetSelectorTerms": selector,
            "securityGroupSelectorTerms": selector,
        },
    }


def requirement(key: str, *values: str, operator: str = "In") -> Object:
    """A node selector requirement."""
    return {"key": key, "operator": operator, "values": list(values)}


def node_pool(
    name: str,
    architecture: str,
    capacity_type: str,
    weight: int,
    *,
    taints: Sequence[Mapping[str, str]] = (),
    sizes: Sequence[str] = ("large", "xlarge"),
) -> Object:
    """A NodePool of general-purpose instances of one architecture and capacity type, which nothing disrupts."""
    spec: Object = {
        "weight": weight,
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": NODE_CLASS},
                "taints": [dict(taint) for taint in taints],
                "requirements": [
                    requirement("kubernetes.io/arch", architecture),
                    requirement("kubernetes.io/os", "linux"),
                    requirement("karpenter.sh/capacity-type", capacity_type),
                    requirement("karpenter.k8s.aws/instance-category", "m"),
                    requirement("karpenter.k8s.aws/instance-generation", "6", operator="Gt"),
                    requirement("karpenter.k8s.aws/instance-size", *sizes),
                ],
            }
        },
    }
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def pod(name: str, *, cpu: str = "500m", memory: str = "512Mi", tolerates_arm64: bool = False, **spec: Any) -> Object:
    """A pod of one container; ``spec`` is added to its specification."""
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    full: Object = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    if tolerates_arm64:
        full["tolerations"] = [*full.get("tolerations", []), ARM64_TOLERATION]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": full,
    }


def replica_set(name: str, replicas: int, template: Mapping[str, Any]) -> Object:
    """A ReplicaSet that keeps ``replicas`` copies of a pod."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }


def workload_of(kind: str, name: str, space: str, *, replicas: int = 0, image: str = "app", **spec: Any) -> Object:
    """A Deployment, DaemonSet or CronJob with a pod of one container; ``spec`` is added to the pod's specification."""
    labels = {"app": name}
    pods = {"containers": [{"name": "main", "image": image}], **spec}
    template = {"metadata": {"labels": labels}, "spec": pods}
    selected = {"selector": {"matchLabels": labels}, "template": template}
    job = {"template": {**template, "spec": {**pods, "restartPolicy": "Never"}}}
    parts: Mapping[str, Object] = {
        "Deployment": {"replicas": replicas, **selected},
        "DaemonSet": selected,
        "CronJob": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}},
    }
    group = "batch" if kind == "CronJob" else "apps"
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": parts[kind]}


def stand_in_definition(api_version: str, kind: str, *, plural: str = "", scope: str = "Namespaced") -> Object:
    """A CustomResourceDefinition in place of one that is not to be had: any object of the kind is accepted."""
    group, version = api_version.split("/")
    plural = plural or f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
