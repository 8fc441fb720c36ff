"""The webhook's pods: Deployment, ConfigMap, HorizontalPodAutoscaler, PodDisruptionBudget."""

from __future__ import annotations

from pathlib import PurePosixPath

from multiarch.facts import labels
from multiarch.webhook.install import model, parts
from multiarch.webhook.install.model import Installation, Object
from multiarch.yaml_text.dump import dump

# Seconds: the server answers for 5 s after SIGTERM, until all API servers know, and then finishes what is under way.
_GRACE = 30


def config_map(installation: Installation) -> Object:
    """The configuration file."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": parts.metadata(installation),
        "data": {model.CONFIGURATION_FILE: dump(installation.configuration_data, sort_keys=True)},
    }


def deployment(installation: Installation) -> Object:
    """The Deployment. A HorizontalPodAutoscaler sets its replicas, if there is one."""
    selected = parts.selector(installation, parts.SERVER)
    template: Object = {
        "metadata": {
            "labels": selected,
            # The pods read the configuration when they start.
            "annotations": {"checksum/configuration": parts.digest(installation.configuration_data)},
        },
        "spec": _pod_spec(installation, selected),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": parts.metadata(installation),
        "spec": {
            **({} if _scales(installation) else {"replicas": installation.replicas}),
            "selector": {"matchLabels": selected},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": template,
        },
    }


def _pod_spec(installation: Installation, selected: Object) -> Object:
    spread = {
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selected},
        # Pods of the old version do not count during an update.
        "matchLabelKeys": ["pod-template-hash"],
    }
    shared = parts.pod_spec(installation, service_account=installation.name, uses_api=installation.uses_api)
    return {
        **shared,
        "terminationGracePeriodSeconds": _GRACE,
        "topologySpreadConstraints": [{**spread, "topologyKey": key} for key in (labels.ZONE, labels.HOSTNAME)],
        "containers": [_container(installation)],
        "volumes": _volumes(installation),
    }


def _container(installation: Installation) -> Object:
    memory = f"{installation.memory_mib}Mi"
    arguments = [
        *("webhook", "serve"),
        f"--config={model.CONFIGURATION_FOLDER}/{model.CONFIGURATION_FILE}",
        f"--certificate-dir={model.CERTIFICATE_FOLDER}",
        f"--port={model.HTTPS_PORT}",
        f"--metrics-port={model.METRICS_PORT}",
    ]
    # The limit equals the request, so that a full node does not evict the pod.
    resources = {"requests": {"cpu": installation.resources.cpu, "memory": memory}, "limits": {"memory": memory}}
    return {
        **parts.container("webhook", installation, arguments, resources),
        "ports": [
            {"name": "https", "containerPort": model.HTTPS_PORT},
            {"name": "metrics", "containerPort": model.METRICS_PORT},
        ],
        "startupProbe": _probe("/livez", seconds=1, failures=60),
        "livenessProbe": _probe("/livez", seconds=10, failures=3),
        "readinessProbe": _probe("/readyz", seconds=5, failures=2),
        "volumeMounts": _mounts(installation),
    }


def _probe(path: str, *, seconds: int, failures: int) -> Object:
    return {
        "httpGet": {"path": path, "port": "metrics"},
        "periodSeconds": seconds,
        "timeoutSeconds": 2,
        "failureThreshold": failures,
    }


def _mounts(installation: Installation) -> list[Object]:
    mounts: list[Object] = [
        {"name": "configuration", "mountPath": model.CONFIGURATION_FOLDER, "readOnly": True},
        # Never with subPath: the kubelet would not put a new certificate there.
        {"name": "certificate", "mountPath": model.CERTIFICATE_FOLDER, "readOnly": True},
    ]
    if installation.shared_cache:
        mounts.append({"name": "shared-cache", "mountPath": model.SHARED_CACHE_FOLDER, "readOnly": True})
    if file := installation.configuration.cache.file:
        mounts.append({"name": "cache", "mountPath": str(PurePosixPath(file).parent)})
    return [*mounts, *installation.extra_volume_mounts]


def _volumes(installation: Installation) -> list[Object]:
    # While a key is missing, the kubelet waits with the containers.
    keys = [{"key": key, "path": key} for key in ("tls.crt", "tls.key")]
    volumes: list[Object] = [
        {"name": "configuration", "configMap": {"name": installation.name}},
        {"name": "certificate", "secret": {"secretName": installation.secret_name, "items": keys}},
    ]
    if shared := installation.shared_cache:
        items = [{"key": shared.key, "path": model.SHARED_CACHE_FILE}]
        volumes.append({"name": "shared-cache", "secret": {"secretName": shared.secret, "items": items}})
    if installation.configuration.cache.file:
        volumes.append({"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}})
    return [*volumes, *installation.extra_volumes]


def _scales(installation: Installation) -> bool:
    return installation.max_replicas > installation.replicas


def autoscaler(installation: Installation) -> list[Object]:
    """The HorizontalPodAutoscaler, if there may be more replicas than the least."""
    if not _scales(installation):
        return []
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": installation.cpu_percent}}
    return [
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": parts.metadata(installation),
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": installation.name},
                "minReplicas": installation.replicas,
                "maxReplicas": installation.max_replicas,
                "metrics": [{"type": "Resource", "resource": cpu}],
            },
        }
    ]


def disruption_budget(installation: Installation) -> Object:
    """The PodDisruptionBudget: a drain waits until another replica is ready, except where there is only one."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": parts.metadata(installation),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": parts.selector(installation, parts.SERVER)},
        },
    }
